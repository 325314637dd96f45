"""Report files to measure with: whole, of the size asked for, the same each time."""

import random

import pytest

from bench.report_text import KINDS, build_text
from bench.reports import EMPTY_SECTIONS, build_members, pack
from gpureport.report.judge import Judge


@pytest.mark.parametrize("raw_bytes", [10_000, 123_457, 1_000_000])
def test_report_is_whole_and_as_long_as_asked(raw_bytes):
    judge = Judge()
    for member in build_members(raw_bytes):
        judge.feed(member)
    judgement = judge.finish()

    assert judgement.verdict.outcome == "complete"
    assert judgement.raw_bytes == raw_bytes
    assert judgement.members > 150
    assert list(build_members(raw_bytes)).count(pack(b"")) >= EMPTY_SECTIONS


def test_same_size_gives_the_same_bytes():
    assert b"".join(build_members(50_000)) == b"".join(build_members(50_000))


def test_report_deflates_as_logs_do():
    packed_bytes = sum(map(len, build_members(3_000_000)))

    assert 3.0 <= 3_000_000 / packed_bytes <= 4.2


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_text_of_a_kind_is_as_long_as_asked(kind):
    assert len(build_text(random.Random(1), kind, 12_345)) == 12_345


def test_kinds_share_the_whole():
    assert sum(kind.share for kind in KINDS) == pytest.approx(1)
