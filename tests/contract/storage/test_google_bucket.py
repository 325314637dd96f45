"""What GoogleBucket makes of a service that fails, breaks off, or loses an answer: ordered failures of the proxy."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from gpureport.adapters.google_storage import RANGE_BYTES, GoogleBucket
from gpureport.ports import Refused, Unavailable

REPOSITORY = Path(__file__).resolve().parents[3]

LARGE = bytes(range(256)) * (9 * 4096)

SHORT_DEADLINE_S = 1.0


def upload(bucket, name, data):
    return bucket.upload(name, io.BytesIO(data), len(data), "application/gzip")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_call_is_repeated_after_a_passing_failure(requester, open_bucket, status):
    requester.fail(method="POST", path_prefix=f"/upload/storage/v1/b/{requester.bucket}", status=status, times=2)
    assert open_bucket(requester).create("a", b"bytes", "text/plain").size_bytes == 5


@pytest.mark.parametrize("status", [429, 503])
def test_a_lasting_failure_is_unavailable(requester, open_bucket, status):
    requester.fail(method="GET", path_prefix=f"/storage/v1/b/{requester.bucket}", status=status, times=50)
    with pytest.raises(Unavailable):
        open_bucket(requester, retry_deadline_s=SHORT_DEADLINE_S).stat("a")


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_not_repeated(requester, open_bucket, status):
    prefix = f"/upload/storage/v1/b/{requester.bucket}"
    requester.fail(method="POST", path_prefix=prefix, status=status)
    with pytest.raises(Refused):
        open_bucket(requester).create("a", b"bytes", "text/plain")
    assert [line for line in requester.served() if prefix in line] == [f"POST {prefix}/o"]


@pytest.mark.parametrize("data", [b"bytes", LARGE], ids=["small", "large"])
def test_an_upload_to_an_absent_bucket_is_refused(requester, open_bucket, data):
    with pytest.raises(Refused):
        upload(open_bucket(requester, name="absent-bucket"), "a", data)


def test_a_service_that_is_away_is_unavailable(monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        GoogleBucket("any", project="test", retry_deadline_s=SHORT_DEADLINE_S).stat("a")


@pytest.mark.parametrize("after_bytes", [0, 1, 300_000])
def test_a_broken_read_goes_on_where_it_broke(requester, open_bucket, after_bytes):
    bucket = open_bucket(requester)
    stored = upload(bucket, "a", LARGE)
    prefix = f"/download/storage/v1/b/{requester.bucket}"
    requester.fail(method="GET", path_prefix=prefix, times=3, point="body", after_bytes=after_bytes)
    assert b"".join(bucket.read(stored)) == LARGE


def test_a_read_asks_once_per_range(requester, open_bucket):
    bucket = open_bucket(requester)
    list(bucket.read(upload(bucket, "a", LARGE)))
    reads = [line for line in requester.served() if f"/download/storage/v1/b/{requester.bucket}" in line]
    assert len(reads) == -(-len(LARGE) // RANGE_BYTES)


def test_a_read_with_a_wrong_sum_is_unavailable_at_its_end(requester, open_bucket):
    bucket = open_bucket(requester)
    stored = bucket.create("a", b"bytes", "text/plain")
    with pytest.raises(Unavailable):
        list(bucket.read(stored._replace(crc32c="AAAAAA==")))


def test_a_lost_answer_leaves_the_object_to_be_compared(requester, open_bucket):
    bucket = open_bucket(requester)
    requester.fail(method="POST", path_prefix="/upload/", status=503, point="after")
    assert bucket.create("a", b"123456789", "text/plain") is None
    assert bucket.stat("a").crc32c == "4waSgw=="


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_large_upload_survives_a_failed_part(requester, open_bucket, point):
    bucket = open_bucket(requester)
    requester.fail(method="PUT", path_prefix=f"/upload/storage/v1/b/{requester.bucket}", point=point, times=2)
    assert b"".join(bucket.read(upload(bucket, "a", LARGE))) == LARGE


def test_a_large_upload_survives_the_loss_of_its_last_answer(requester, open_bucket):
    bucket = open_bucket(requester)
    prefix = f"/upload/storage/v1/b/{requester.bucket}"
    parts = -(-len(LARGE) // (2 * 1024 * 1024))
    requester.fail(method="PUT", path_prefix=prefix, times=1, status=503, point="after", skip=parts - 1)
    assert upload(bucket, "a", LARGE) == bucket.stat("a")


def test_a_large_upload_whose_session_is_gone_is_unavailable(requester, open_bucket):
    requester.fail(method="PUT", path_prefix=f"/upload/storage/v1/b/{requester.bucket}", status=410)
    with pytest.raises(Unavailable):
        upload(open_bucket(requester), "a", LARGE)


def test_a_copy_goes_on_call_by_call(start_proxy, connect, open_bucket):
    requester = connect(start_proxy("--rewrite-bytes-max", str(4 * 1024 * 1024)).url)
    bucket = open_bucket(requester)
    copied = bucket.copy_from(upload(bucket, "a", LARGE), "b", "application/gzip")
    assert (copied.size_bytes, copied) == (len(LARGE), bucket.stat("b"))
    assert sum("/rewriteTo/" in line for line in requester.served()) == 3


def test_a_lost_answer_to_a_copy_leaves_the_object_to_be_compared(requester, open_bucket):
    bucket = open_bucket(requester)
    source = bucket.create("a", b"123456789", "text/plain")
    requester.fail(method="POST", path_prefix="/storage/", status=503, point="after")
    assert bucket.copy_from(source, "b", "text/plain") is None
    assert bucket.stat("b").crc32c == source.crc32c


def test_create_asks_for_nothing_but_the_upload(requester, open_bucket):
    open_bucket(requester).create("a", b"bytes", "text/plain")
    ours = [line for line in requester.served() if requester.bucket in line]
    assert ours == [f"POST /upload/storage/v1/b/{requester.bucket}/o"]


MEASURE = """
import sys
from gpureport.adapters.google_storage import GoogleBucket
from gpureport.ports import StoredObject

def peak_kib():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

bucket = GoogleBucket(sys.argv[1], project="test")
with open(sys.argv[2], "rb") as file:
    small = bucket.create("small", bytes(1024 * 1024), "text/plain")
    list(bucket.read(small))
    before_kib = peak_kib()
    stored = bucket.upload("large", file, int(sys.argv[3]), "application/gzip")
read_bytes = sum(map(len, bucket.read(stored)))
assert read_bytes == stored.size_bytes
print(peak_kib() - before_kib)
"""


def test_memory_stays_bounded_while_a_large_object_goes_up_and_down(requester, tmp_path):
    size_bytes, want_kib = 48 * 1024 * 1024, 16 * 1024
    file = tmp_path / "report"
    with file.open("wb") as out:
        out.truncate(size_bytes)
    command = [sys.executable, "-c", MEASURE, requester.bucket, str(file), str(size_bytes)]
    environment = {"STORAGE_EMULATOR_HOST": requester.url, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < want_kib


def test_the_library_is_not_imported_before_the_first_call():
    program = (
        "import sys, gpureport.adapters.google_storage as g; g.GoogleBucket('b');"
        "print('google.cloud.storage' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_bucket_beside_is_another_bucket_of_the_same_service(connect, storage_proxy, open_bucket):
    first, second = connect(storage_proxy.url), connect(storage_proxy.url)
    beside = open_bucket(first).open_beside(second.bucket)
    stored = beside.create("a", b"bytes", "text/plain")
    assert (stored.bucket, second.content("a"), first.content("a")) == (second.bucket, b"bytes", None)
