"""Every fixture is judged as its table says."""

import json
from pathlib import Path

import pytest

from gpureport.contract.endings import Verdict

CASES = Path(__file__).parent / "cases"
LISTED = {case["file"]: case["right"] for case in json.loads((CASES / "verdicts.json").read_text())}

COMPLETE = Verdict("complete")
INCOMPLETE = Verdict("partial", "incomplete")
CORRUPT = Verdict("corrupt", "corrupt")
NO_REPORT = Verdict("none", "no-report")

WANTED = {
    "good-multi-member.log.gz": COMPLETE,
    "good-single-member.log.gz": COMPLETE,
    "cut-at-member-boundary.log.gz": INCOMPLETE,
    "cut-inside-member.log.gz": INCOMPLETE,
    "empty.log.gz": NO_REPORT,
    "double-gz.log.gz": NO_REPORT,
    "plain-text-named-gz.log.gz": NO_REPORT,
    "trailing-nul-padding.log.gz": COMPLETE,
    "crc-flipped.log.gz": CORRUPT,
    "footer-in-the-middle-only.log.gz": INCOMPLETE,
    "footer-then-blank-lines.log.gz": COMPLETE,
    "non-utf8-bytes.log.gz": COMPLETE,
    "complete-plain.log": NO_REPORT,
    "zero-bomb-64MiB.log.gz": NO_REPORT,
}


def test_table_of_verdicts_covers_every_fixture():
    assert WANTED.keys() == LISTED.keys()


@pytest.mark.parametrize("name", WANTED)
def test_fixture_is_judged_as_listed(name, judge_bytes):
    judgement = judge_bytes((CASES / name).read_bytes())
    assert judgement.verdict == WANTED[name]
    assert LISTED[name].startswith("complete") == (judgement.verdict == COMPLETE or name == "complete-plain.log")


@pytest.mark.parametrize("name", ["complete-plain.log", "plain-text-named-gz.log.gz"])
def test_plain_text_is_complete_where_it_is_taken(name, judge_bytes):
    judgement = judge_bytes((CASES / name).read_bytes(), takes_plain=True)
    assert judgement.verdict == COMPLETE
    assert judgement.is_plain
    assert judgement.facts["form"] == "plain-text"


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("double-gz.log.gz", "gzip-in-gzip"),
        ("empty.log.gz", "empty"),
        ("plain-text-named-gz.log.gz", "plain-text"),
        ("good-multi-member.log.gz", None),
    ],
)
def test_form_is_named_where_it_is_not_plain_gzip(name, want, judge_bytes):
    assert judge_bytes((CASES / name).read_bytes()).facts.get("form") == want


def test_good_report_is_counted(judge_bytes):
    judgement = judge_bytes((CASES / "good-multi-member.log.gz").read_bytes())
    assert (judgement.members, judgement.raw_bytes) == (7, 6786)
