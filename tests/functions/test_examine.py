"""A report of any size is examined in one pass and in little memory."""

import hashlib
import tracemalloc
import zlib
from itertools import chain, repeat

import pytest

from functions.archiving import examine
from gpureport.ports import READ_CHUNK_BYTES
from gpureport.report.judge import Judge
from tests.functions.world import build_report

PEAK_BYTES_MAX = 2 * 1024 * 1024


def _pack(data: bytes, level: int) -> bytes:
    packer = zlib.compressobj(level, wbits=31)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("member", "times"),
    [(_pack(bytes(range(256)) * 1000, 0), 300), (_pack(bytes(10_000_000), 9), 60)],
    ids=["75 MB stored", "600 MB of text in 600 KB"],
)
def test_large_report_is_examined_in_little_memory(member, times):
    whole = build_report(sections=0)
    last = whole.rindex(b"\x1f\x8b\x08")
    chunks = chain([whole[:last]], repeat(member, times), [whole[last:]])

    tracemalloc.start()
    try:
        examined = examine(chunks, Judge())
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert examined.judgement.verdict.outcome == "complete"
    assert examined.judgement.members == times + 2
    assert examined.size_bytes == len(whole) + times * len(member)
    assert peak_bytes < PEAK_BYTES_MAX


def test_hash_is_that_of_the_bytes_however_they_come():
    report = build_report()
    for size in (1, 7, READ_CHUNK_BYTES):
        chunks = (report[start : start + size] for start in range(0, len(report), size))

        assert examine(chunks, Judge()).sha256 == hashlib.sha256(report).hexdigest()
