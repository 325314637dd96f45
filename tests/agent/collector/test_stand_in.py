"""The stand-in script writes what NVIDIA's does, and can be made sick."""

import gzip
import os

import pytest

from agent.collector.processes import list_session
from gpureport.contract.endings import Verdict
from gpureport.report.judge import Judge


def judge(path):
    judged = Judge(takes_plain=True)
    judged.feed(path.read_bytes())
    return judged.finish()


def count_empty_members(path):
    from zlib import decompressobj

    data, empty = path.read_bytes(), 0
    while data:
        member = decompressobj(31)
        empty += member.decompress(data) == b""
        data = member.unused_data
    return empty


def test_report_has_the_structure_of_a_real_one(run_stand_in):
    end, work = run_stand_in()
    assert end.exit_code == 0
    assert os.listdir(work) == ["r.log.gz"]
    judgement = judge(work / "r.log.gz")
    assert judgement.verdict == Verdict("complete")
    assert judgement.members >= 100
    assert judgement.facts["flags"] == "--output-file r.log"
    assert count_empty_members(work / "r.log.gz") >= 50
    lines = gzip.decompress((work / "r.log.gz").read_bytes()).splitlines()
    assert sum(line == b"_" * 44 for line in lines) >= 40
    assert lines.index(b"Sections left out") < lines.index(b"Errors") < len(lines) - 1


def test_safe_mode_leaves_out_what_may_hang(run_stand_in):
    end, work = run_stand_in("--safe-mode", HANG="normal")
    assert end.exit_code == 0
    text = gzip.decompress((work / "r.log.gz").read_bytes())
    assert b"command line flags: --output-file r.log --safe-mode\n" in text
    assert b"nvidia-smi --query" not in text


@pytest.mark.parametrize(
    ("settings", "name", "want"),
    [
        ({"STOP_BEFORE_FOOTER": "yes"}, "r.log.gz", Verdict("partial", "incomplete")),
        ({"PLAIN_TEXT": "yes"}, "r.log", Verdict("complete")),
        ({"EXIT_CODE": "1"}, "r.log.gz", Verdict("complete")),
        ({"EXTRA_TEXT_KIB": "2000"}, "r.log.gz", Verdict("complete")),
        ({"STDERR_KIB": "5000"}, "r.log.gz", Verdict("complete")),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_setting_changes_the_report(settings, name, want, run_stand_in):
    end, work = run_stand_in(**settings)
    assert end.exit_code == int(settings.get("EXIT_CODE", 0))
    assert judge(work / name).verdict == want


def test_script_that_writes_nothing_ends_well_all_the_same(run_stand_in):
    end, work = run_stand_in(NO_OUTPUT="yes")
    assert (end.exit_code, os.listdir(work)) == (0, [])


@pytest.mark.parametrize("settings", [{"HANG": "yes"}, {"HANG": "yes", "IGNORE_TERM": "yes"}], ids=["hang", "no TERM"])
def test_hanging_script_is_ended_and_leaves_a_partial_report(settings, run_stand_in):
    end, work = run_stand_in(timeout_s=2.0, grace_s=0.5, **settings)
    assert end.timed_out
    assert judge(work / "r.log.gz").verdict == Verdict("partial", "incomplete")


@pytest.mark.parametrize("kind", ["yes", "moved"])
def test_child_left_behind_by_the_script_is_ended(kind, run_stand_in, runner):
    end, work = run_stand_in(BACKGROUND_CHILD=kind)
    assert (end.exit_code, end.timed_out) == (0, False)
    assert all(process.has_ended for process in list_session(runner.children[0].session_id))
    assert judge(work / "r.log.gz").verdict == Verdict("complete")


@pytest.mark.parametrize("flags", [["--no-such-option"], ["--output-file"]])
def test_wrong_options_end_with_one(flags, run_stand_in):
    assert run_stand_in(*flags)[0].exit_code == 1


def test_help_is_printed(run_stand_in):
    end, work = run_stand_in("--help")
    assert (end.exit_code, os.listdir(work)) == (0, [])
