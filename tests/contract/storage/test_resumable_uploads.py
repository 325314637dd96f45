"""A resumable upload step by step, on the proxy with each server behind."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

QUANTUM_BYTES = 256 * 1024
DATA = bytes(range(256)) * 2560
"""640 KiB: two whole quanta, and a half."""


class Upload:
    """One session; its address is used as the server gave it."""

    def __init__(self, requester, name="a", **metadata) -> None:
        query = {"uploadType": "resumable", "name": name, "ifGenerationMatch": "0"}
        path = f"/upload/storage/v1/b/{requester.bucket}/o"
        body = json.dumps({"contentType": "text/x", **metadata}).encode()
        answer = requester.ask("POST", path, query, body, {"Content-Type": "application/json"})
        location = urlsplit(answer.headers["Location"])
        self._requester, self._path, self._query = requester, location.path, dict(parse_qsl(location.query))

    def send(self, content_range: str | None, body: bytes = b"", method="PUT", **headers):
        if content_range is not None:
            headers["Content-Range"] = content_range
        return self._requester.ask(method, self._path, self._query, body, headers)


def test_an_upload_in_one_request_is_stored(judged):
    answer = Upload(judged).send(None, DATA)
    assert (answer.status, answer.json["size"]) == (200, str(len(DATA)))
    assert judged.content("a") == DATA


def test_an_upload_in_parts_is_stored_whole(judged):
    upload = Upload(judged)
    first = upload.send(f"bytes 0-{QUANTUM_BYTES - 1}/*", DATA[:QUANTUM_BYTES])
    assert (first.status, first.headers["Range"]) == (308, f"bytes=0-{QUANTUM_BYTES - 1}")
    last = upload.send(f"bytes {QUANTUM_BYTES}-{len(DATA) - 1}/{len(DATA)}", DATA[QUANTUM_BYTES:])
    assert (last.status, last.json["contentType"]) == (200, "text/x")
    assert judged.content("a") == DATA


def test_a_status_query_ends_nothing_and_the_upload_goes_on(judged):
    upload = Upload(judged)
    before = upload.send(f"bytes */{len(DATA)}")
    assert (before.status, before.headers.get("Range")) == (308, None)
    upload.send(f"bytes 0-{QUANTUM_BYTES - 1}/{len(DATA)}", DATA[:QUANTUM_BYTES])
    for query in (f"bytes */{len(DATA)}", "bytes */*"):
        between = upload.send(query)
        assert (between.status, between.headers["Range"]) == (308, f"bytes=0-{QUANTUM_BYTES - 1}")
    assert judged.content("a") is None
    last = upload.send(f"bytes {QUANTUM_BYTES}-{len(DATA) - 1}/{len(DATA)}", DATA[QUANTUM_BYTES:])
    assert last.status == 200
    assert judged.content("a") == DATA


def test_a_status_query_after_the_end_tells_of_the_object(judged):
    upload = Upload(judged)
    stored = upload.send(None, DATA)
    again = upload.send(f"bytes */{len(DATA)}")
    assert (again.status, again.json["generation"]) == (200, stored.json["generation"])


def test_an_unfinished_part_keeps_whole_quanta(judged):
    answer = Upload(judged).send(f"bytes 0-{QUANTUM_BYTES + 99}/{len(DATA)}", DATA[: QUANTUM_BYTES + 100])
    assert (answer.status, answer.headers["Range"]) == (308, f"bytes=0-{QUANTUM_BYTES - 1}")


def test_a_part_sent_again_is_not_stored_twice(judged):
    upload = Upload(judged)
    for _ in range(2):
        upload.send(f"bytes 0-{QUANTUM_BYTES - 1}/{len(DATA)}", DATA[:QUANTUM_BYTES])
    assert upload.send(f"bytes 0-{len(DATA) - 1}/{len(DATA)}", DATA).status == 200
    assert judged.content("a") == DATA


def test_a_part_that_leaves_a_gap_is_not_taken(judged):
    answer = Upload(judged).send(f"bytes {QUANTUM_BYTES}-{len(DATA) - 1}/{len(DATA)}", DATA[QUANTUM_BYTES:])
    assert answer.status >= 400
    assert judged.content("a") is None


def test_an_object_that_appears_during_the_upload_is_kept(judged):
    upload = Upload(judged)
    upload.send(f"bytes 0-{QUANTUM_BYTES - 1}/{len(DATA)}", DATA[:QUANTUM_BYTES])
    judged.put("a", b"somebody else's")
    last = upload.send(f"bytes {QUANTUM_BYTES}-{len(DATA) - 1}/{len(DATA)}", DATA[QUANTUM_BYTES:])
    assert last.status == 412
    assert judged.content("a") == b"somebody else's"


@pytest.mark.parametrize("claimed", [{"crc32c": "AAAAAA=="}, {"md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="}])
def test_an_upload_with_a_wrong_sum_is_not_stored(judged, claimed):
    assert Upload(judged, **claimed).send(None, DATA).status == 400
    assert judged.content("a") is None


def test_a_sum_sent_with_the_last_part_is_checked(judged):
    answer = Upload(judged).send(f"bytes 0-{len(DATA) - 1}/{len(DATA)}", DATA, **{"x-goog-hash": "crc32c=AAAAAA=="})
    assert answer.status == 400
    assert judged.content("a") is None


def test_an_upload_of_nothing_is_stored(judged):
    assert Upload(judged).send("bytes */0").status == 200
    assert judged.content("a") == b""


def test_a_cancelled_upload_is_gone(judged):
    upload = Upload(judged)
    assert upload.send(None, method="DELETE").status == 499
    assert upload.send(f"bytes */{len(DATA)}").status in (404, 410, 499)
