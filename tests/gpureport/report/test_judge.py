"""The judge's bounds, the ends it tells apart, and two laws."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.endings import Verdict
from gpureport.report.judge import Judge, Limits

COMPLETE = Verdict("complete")
INCOMPLETE = Verdict("partial", "incomplete")
TOO_LARGE = Verdict("partial", "too-large")
CORRUPT = Verdict("corrupt", "corrupt")
NO_REPORT = Verdict("none", "no-report")


@given(data=st.data())
def test_any_cut_of_a_good_report_is_not_complete(data, good_report, judge_bytes):
    size = data.draw(st.integers(0, len(good_report) - 1))
    assert judge_bytes(good_report[:size]).verdict in (INCOMPLETE, NO_REPORT)


@given(data=st.data())
def test_any_flipped_bit_of_a_good_report_is_found_or_harmless(data, good_report, judge_bytes):
    place = data.draw(st.integers(0, len(good_report) - 1))
    mask = 1 << data.draw(st.integers(0, 7))
    damaged = bytearray(good_report)
    damaged[place] ^= mask
    verdict = judge_bytes(bytes(damaged)).verdict
    if verdict == COMPLETE:  # the member headers hold a time, a system and flags, which carry no text
        assert gzip.decompress(bytes(damaged)) == gzip.decompress(good_report)
    else:
        assert verdict in (CORRUPT, INCOMPLETE, NO_REPORT)


@given(data=st.data())
def test_pieces_never_change_the_verdict(data, good_report, judge_bytes):
    kind = data.draw(st.sampled_from(["whole", "cut", "plain", "padded", "garbage", "odd first byte"]))
    cut = data.draw(st.integers(0, len(good_report)))
    subject = {
        "whole": good_report,
        "cut": good_report[:cut],
        "plain": gzip.decompress(good_report),
        "padded": good_report + bytes(50),
        "garbage": good_report + b"\0\0x",
        "odd first byte": b"\x1f" + gzip.decompress(good_report),
    }[kind]
    step = data.draw(st.integers(1, 700))
    whole = judge_bytes(subject, takes_plain=True)
    assert judge_bytes(subject, step, takes_plain=True) == whole


@given(st.lists(st.sampled_from([b"\n", b" ", b"\r\n", b"x", b"\n" * 300, b" " * 700, b"End of NVIDIA", b"y\n"])))
def test_footer_is_found_exactly_where_it_is_the_last_line(ends):
    from gpureport.report.text import TextEdges

    pieces = [b"text\n", b"End of NVIDIA bug report log file.", *ends]
    edges = TextEdges()
    for piece in pieces:
        edges.add(piece)
    lines = [line.rstrip() for line in b"".join(pieces).split(b"\n") if line.strip()]
    assert edges.has_footer == (lines[-1] == b"End of NVIDIA bug report log file.")


def test_footer_without_its_full_stop_counts(pack, head, judge_bytes):
    report = pack(head, b"\nEnd of NVIDIA bug report log file\n")
    assert judge_bytes(report).verdict == COMPLETE


def test_footer_inside_a_line_does_not_count(pack, head, judge_bytes):
    report = pack(head, b"agent: saw End of NVIDIA bug report log file.\n")
    assert judge_bytes(report).verdict == INCOMPLETE


def test_footer_split_between_members_counts(pack, head, judge_bytes):
    report = pack(head, b"\nEnd of NVIDIA bug", b" report log file.\n")
    assert judge_bytes(report).verdict == COMPLETE


def test_text_that_is_no_report_is_none(pack, judge_bytes):
    assert judge_bytes(pack(b"an access log\n" * 100)).verdict == NO_REPORT


@pytest.mark.parametrize("rest", [b"x", b"garbage", b"\0\0\0x", b"\x1f\x8b\x07wrong method"])
def test_bytes_after_the_last_member_are_corrupt(rest, good_report, judge_bytes):
    assert judge_bytes(good_report + rest).verdict == CORRUPT


def test_start_of_another_member_is_incomplete(good_report, judge_bytes):
    assert judge_bytes(good_report + b"\x1f\x8b\x08\0\0").verdict == INCOMPLETE


def test_member_spliced_into_another_is_corrupt(pack, head, footer, judge_bytes):
    outer = pack(head * 50)
    report = outer[: len(outer) // 2] + pack(b"inner\n") + outer[len(outer) // 2 :] + pack(footer)
    assert judge_bytes(report).verdict == CORRUPT


@pytest.mark.parametrize(
    "limits",
    [Limits(compressed_bytes=500), Limits(raw_bytes=1000), Limits(members=7)],
    ids=["packed", "raw", "members"],
)
@pytest.mark.parametrize("step", [1, 17, 1 << 20])
def test_report_beyond_a_limit_is_too_large(limits, step, good_report, judge_bytes):
    assert judge_bytes(good_report, step, limits=limits).verdict == TOO_LARGE


def test_report_at_its_limits_is_complete(good_report, judge_bytes):
    raw_bytes = len(gzip.decompress(good_report))
    limits = Limits(compressed_bytes=len(good_report), raw_bytes=raw_bytes, members=8)
    assert judge_bytes(good_report, limits=limits).verdict == COMPLETE


def test_cpu_time_is_bounded_by_the_clock_passed_in(good_report):
    ticks = iter([0.0, 59.0, 61.0])
    judge = Judge(cpu_clock=lambda: next(ticks))
    judge.feed(good_report[:100])
    assert not judge.is_settled
    judge.feed(good_report[100:])
    assert judge.is_settled
    assert judge.finish().verdict == TOO_LARGE


def test_settled_judge_takes_no_more(good_report):
    judge = Judge(limits=Limits(members=1))
    judge.feed(good_report)
    want = judge.finish()
    judge.feed(b"more" * 1000)
    assert judge.finish() == want


def test_memory_stays_small_for_a_bomb():
    deflater = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(deflater.compress(bytes(1 << 20)) for _ in range(64)) + deflater.flush()
    judge = Judge()
    tracemalloc.start()
    try:
        judge.feed(packed)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert judge.finish().raw_bytes == 64 << 20
    assert peak_bytes < 1 << 20


def test_line_of_a_hundred_megabytes_is_judged_by_its_end(head, footer, judge_bytes):
    deflater = zlib.compressobj(1, zlib.DEFLATED, 31)
    texts = [head, *[b"z" * (1 << 20)] * 100, b"\n" + footer]
    packed = b"".join(deflater.compress(text) for text in texts) + deflater.flush()
    assert judge_bytes(packed).verdict == COMPLETE


def test_facts_are_read_from_the_head(good_report, judge_bytes):
    want = {"scriptVersion": "37062940", "date": "Mon Nov 30 09:15:00 UTC 2026", "flags": "--safe-mode"}
    assert judge_bytes(good_report).facts == want


def test_facts_are_bounded_and_printable(pack, footer, judge_bytes):
    head = b"Start of NVIDIA bug report log file\nDate: \x1b[31m\xff" + b"x" * 2000 + b"\ncommand line flags: \n"
    facts = judge_bytes(pack(head, footer)).facts
    assert set(facts) == {"date"}
    assert facts["date"].startswith("?[31m\N{REPLACEMENT CHARACTER}xxx")
    assert len(facts["date"]) == 200
