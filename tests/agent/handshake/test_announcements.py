"""Which Event tells of a run's end, as a table of what was seen before and what is seen now."""

import pytest

from agent.handshake.announcements import NORMAL, WARNING, decide_announcement
from gpureport.contract.instants import parse_instant
from gpureport.contract.nodes import NodeState
from gpureport.contract.outputs import Archived, Output, format_output

RUN, OTHER_RUN = "a" * 32, "b" * 32
ARCHIVED = Archived(parse_instant("2026-11-30T09:15:09Z"), "gs://archive/v1/report.log.gz", "1")


def node(status: str | None = None, output: Output | None = None, uid: str = "u") -> NodeState:
    return NodeState("n1", uid, True, True, status=status, output=None if output is None else format_output(output))


def completed(run_id: str = RUN) -> NodeState:
    output = Output("completed", "manual", True, file_size_bytes=7, run_id=run_id, archived=ARCHIVED)
    return node("completed", output)


def failed(reason: str, run_id: str = RUN, archived: Archived | None = None) -> NodeState:
    output = Output("failed", "manual", False, reason=reason, run_id=run_id, archived=archived)
    return node(f"failed: {reason}", output)


QUIET = node("in-progress")

SAID = [
    ("completed", QUIET, completed(), NORMAL, "GPUReportCompleted", "gs://archive/v1/report.log.gz"),
    ("failed", QUIET, failed("timeout"), WARNING, "GPUReportFailed", "timeout. The script did not end in time"),
    ("refused", node("collect"), failed("disabled"), WARNING, "GPUReportFailed", "disabled."),
    ("the next run", completed(), completed(OTHER_RUN), NORMAL, "GPUReportCompleted", OTHER_RUN),
]

UNSAID = [
    ("seen for the first time", None, completed()),
    ("stood there already", completed(), completed()),
    ("put on record later", failed("timeout"), failed("timeout", archived=ARCHIVED)),
    ("another Node of that name", node("in-progress", uid="v"), completed()),
    ("status of somebody else", QUIET, node("completed", Output("failed", "manual", False, reason="busy", run_id=RUN))),
    ("still at work", QUIET, node("in-progress", Output("completed", "manual", True, run_id=RUN, archived=ARCHIVED))),
    ("another tool's output", QUIET, NodeState("n1", "u", True, True, status="completed", output='{"a":1}')),
]


@pytest.mark.parametrize(
    ("before", "now", "kind", "reason", "part"), [row[1:] for row in SAID], ids=[r[0] for r in SAID]
)
def test_end_of_a_run_is_announced(before, now, kind: str, reason: str, part: str) -> None:
    announcement = decide_announcement(before, now)

    assert announcement is not None
    assert (announcement.type, announcement.reason) == (kind, reason)
    assert part in announcement.message


@pytest.mark.parametrize(("before", "now"), [row[1:] for row in UNSAID], ids=[row[0] for row in UNSAID])
def test_what_is_no_end_of_a_run_is_not_announced(before, now) -> None:
    assert decide_announcement(before, now) is None
