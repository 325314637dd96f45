"""What fake-gcs-server keeps without the proxy: why the proxy judges every condition and every sum itself."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.contract.storage.servers import SERVERS, run_server

QUANTUM_BYTES = 256 * 1024


@pytest.fixture(scope="module", params=SERVERS)
def behind(request, tmp_path_factory):
    """Each server's URL, and its promises."""
    with run_server(request.param, tmp_path_factory.mktemp("behind")) as url:
        yield url, SERVERS[request.param]


@pytest.fixture
def bare(behind, connect):
    """Requests to the server, past the proxy."""
    return connect(behind[0])


@pytest.fixture
def promises(behind):
    return behind[1]


def start_upload(bare, **metadata) -> tuple[str, dict[str, str]]:
    query = {"uploadType": "resumable", "name": "a", "ifGenerationMatch": "0"}
    body = json.dumps(metadata).encode()
    headers = {"Content-Type": "application/json"}
    answer = bare.ask("POST", f"/upload/storage/v1/b/{bare.bucket}/o", query, body, headers)
    location = urlsplit(answer.headers["Location"])
    return location.path, dict(parse_qsl(location.query))


def test_conditions_of_an_upload_in_one_request(bare, promises):
    bare.put("a", b"first")
    assert bare.put("a", b"second", ifGenerationMatch="0").status == (
        412 if promises.keeps_conditions_of_media else 200
    )
    assert bare.content("a") == (b"first" if promises.keeps_conditions_of_media else b"second")


def test_an_object_that_appears_during_a_resumable_upload(bare, promises):
    path, query = start_upload(bare)
    data = bytes(2 * QUANTUM_BYTES)
    for start in (0, QUANTUM_BYTES):
        headers = {"Content-Range": f"bytes {start}-{start + QUANTUM_BYTES - 1}/{len(data)}"}
        bare.ask("PUT", path, query, data[:QUANTUM_BYTES], headers)
        if start == 0:
            bare.put("a", b"somebody else's")
    assert (bare.content("a") == b"somebody else's") == promises.keeps_what_appeared


def test_a_wrong_sum_of_a_resumable_upload(bare, promises):
    path, query = start_upload(bare, crc32c="AAAAAA==")
    bare.ask("PUT", path, query, b"123456789")
    assert (bare.content("a") is None) == promises.checks_sums


def test_a_deletion_of_a_replaced_generation(bare, promises):
    bare.put("a", b"old")
    old = bare.generation("a")
    bare.put("a", b"new")
    bare.ask("DELETE", f"/storage/v1/b/{bare.bucket}/o/a", {"generation": str(old)})
    assert (bare.content("a") == b"new") == promises.deletes_by_generation


def test_neither_keeps_conditions_of_reads_copies_and_deletions(bare):
    bare.put("a", b"bytes")
    path = f"/storage/v1/b/{bare.bucket}/o/a"
    assert bare.ask("GET", path, {"ifGenerationMatch": "1"}).status == 200
    bare.put("b", b"kept?")
    bare.ask("POST", f"{path}/rewriteTo/b/{bare.bucket}/o/b", {"ifGenerationMatch": "0"})
    assert bare.content("b") == b"bytes"
    bare.ask("DELETE", path, {"ifGenerationMatch": "1"})
    assert bare.content("a") is None
