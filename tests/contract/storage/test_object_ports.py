"""What every implementation of the object ports does: on the fake, and on the vendor's library through the proxy."""

import io
from concurrent.futures import ThreadPoolExecutor

import google_crc32c
import pytest

from gpureport.ports import READ_CHUNK_BYTES, Refused

SMALL = b"x" * 1000
LARGE = bytes(range(256)) * (9 * 4096)
"""9 MiB: above what goes up in one request."""

SIZES = pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
RACERS = 16


def upload(bucket, name, data):
    return bucket.upload(name, io.BytesIO(data), len(data), "application/gzip")


def whole(bucket, stored):
    return b"".join(bucket.read(stored))


def test_stat_of_an_absent_object_is_none(subject):
    assert subject.bucket.stat("absent") is None


def test_create_describes_what_stat_finds(subject):
    stored = subject.bucket.create("run/manifest.json", b"{}", "application/json")
    assert stored == subject.bucket.stat("run/manifest.json")
    assert (stored.name, stored.size_bytes) == ("run/manifest.json", 2)
    assert stored.created_at.utcoffset() is not None


def test_create_of_a_taken_name_is_none_and_keeps_the_bytes(subject):
    first = subject.bucket.create("a", b"first", "text/plain")
    assert subject.bucket.create("a", b"second", "text/plain") is None
    assert whole(subject.bucket, first) == b"first"


def test_create_refuses_what_is_no_small_object(subject):
    with pytest.raises(Refused):
        subject.bucket.create("a", bytes(1024 * 1024 + 1), "text/plain")


@SIZES
def test_upload_stores_the_very_bytes(subject, data):
    stored = upload(subject.bucket, "a", data)
    assert stored.size_bytes == len(data)
    assert whole(subject.bucket, stored) == data
    assert subject.content_type("a") == "application/gzip"


@SIZES
def test_upload_of_a_taken_name_is_none_and_keeps_the_bytes(subject, data):
    first = subject.bucket.create("a", b"first", "text/plain")
    assert upload(subject.bucket, "a", data) is None
    assert subject.bucket.stat("a") == first


@SIZES
def test_upload_race_has_one_winner(subject, data):
    def race(number):
        return upload(subject.bucket, "a", data[:-1] + bytes([number]))

    with ThreadPoolExecutor(RACERS) as threads:
        outcomes = list(threads.map(race, range(RACERS)))
    [(number, stored)] = [(number, stored) for number, stored in enumerate(outcomes) if stored]
    assert subject.bucket.stat("a") == stored
    assert whole(subject.bucket, stored)[-1] == number


def test_upload_refuses_a_file_that_ends_early(subject):
    with pytest.raises(Refused):
        subject.bucket.upload("a", io.BytesIO(b"short"), 6, "text/plain")
    assert subject.bucket.stat("a") is None


def test_upload_starts_where_the_file_stands(subject):
    file = io.BytesIO(b"0123456789")
    file.seek(4)
    assert whole(subject.bucket, subject.bucket.upload("a", file, 3, "text/plain")) == b"456"


def test_read_comes_in_small_pieces(subject):
    pieces = list(subject.bucket.read(upload(subject.bucket, "a", LARGE)))
    assert max(map(len, pieces)) == READ_CHUNK_BYTES
    assert b"".join(pieces) == LARGE


def test_read_of_an_empty_object_is_empty(subject):
    assert whole(subject.bucket, subject.bucket.create("a", b"", "text/plain")) == b""


def test_read_refuses_a_replaced_generation(subject):
    stored = subject.bucket.create("a", b"old", "text/plain")
    subject.replace("a", b"new")
    with pytest.raises(Refused):
        whole(subject.bucket, stored)


def test_read_refuses_a_deleted_generation(subject):
    stored = subject.bucket.create("a", b"old", "text/plain")
    subject.bucket.delete(stored)
    with pytest.raises(Refused):
        whole(subject.bucket, stored)


def test_copy_brings_bytes_sum_and_the_new_content_type(subject):
    source = upload(subject.other, "a", LARGE)
    copied = subject.bucket.copy_from(source, "b", "application/x-report")
    assert (copied.size_bytes, copied.crc32c) == (source.size_bytes, source.crc32c)
    assert copied == subject.bucket.stat("b")
    assert whole(subject.bucket, copied) == LARGE
    assert subject.content_type("b") == "application/x-report"


def test_copy_to_a_taken_name_is_none_and_keeps_the_bytes(subject):
    source = subject.other.create("a", b"new", "text/plain")
    first = subject.bucket.create("b", b"first", "text/plain")
    assert subject.bucket.copy_from(source, "b", "text/plain") is None
    assert subject.bucket.stat("b") == first


def test_copy_refuses_a_replaced_source(subject):
    source = subject.bucket.create("a", b"old", "text/plain")
    subject.replace("a", b"new")
    with pytest.raises(Refused):
        subject.other.copy_from(source, "b", "text/plain")
    assert subject.other.stat("b") is None


def test_copy_refuses_an_absent_source(subject):
    source = subject.bucket.create("a", b"old", "text/plain")
    subject.bucket.delete(source)
    with pytest.raises(Refused):
        subject.other.copy_from(source, "b", "text/plain")


def test_delete_removes_that_generation_once_and_again(subject):
    stored = subject.bucket.create("a", b"old", "text/plain")
    subject.bucket.delete(stored)
    assert subject.bucket.stat("a") is None
    subject.bucket.delete(stored)


def test_delete_spares_a_newer_generation(subject):
    stored = subject.bucket.create("a", b"old", "text/plain")
    subject.replace("a", b"newer")
    subject.bucket.delete(stored)
    assert subject.bucket.stat("a").size_bytes == len(b"newer")


def test_crc32c_is_the_big_endian_sum_in_base64(subject):
    stored = subject.bucket.create("a", b"123456789", "text/plain")
    assert google_crc32c.value(b"123456789") == 0xE3069283
    assert stored.crc32c == "4waSgw=="
