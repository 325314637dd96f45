"""Which Event on the Node tells that a run has ended. Pure: the Node as seen before and now in, the Event out.

How it reaches the cluster stands in `agent.apiserver.node_events`.
"""

from typing import NamedTuple

from gpureport.contract.nodes import NodeState
from gpureport.contract.outputs import Output, find_output
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import COMPLETED, find_status

NORMAL = "Normal"
WARNING = "Warning"
REASON_COMPLETED = "GPUReportCompleted"
REASON_FAILED = "GPUReportFailed"


class Announcement(NamedTuple):
    """One Event about the end of one run: `reason` is the word that Kubernetes shows, `message` a sentence."""

    run_id: str
    node_uid: str
    type: str
    reason: str
    message: str


def decide_announcement(before: NodeState | None, now: NodeState) -> Announcement | None:
    """Return the Event that is due when `now` follows `before`; None for what stood there already.

    Nothing is said of what stands on a Node that is seen for the first time: whoever ended that run has said it.
    """
    if before is None or before.uid != now.uid:
        return None
    ended = _find_ended(now)
    if ended is None or ended.run_id is None or _describe(_find_ended(before)) == _describe(ended):
        return None
    if ended.status == COMPLETED:
        return Announcement(ended.run_id, now.uid, NORMAL, REASON_COMPLETED, _say_completed(ended))
    return Announcement(ended.run_id, now.uid, WARNING, REASON_FAILED, _say_failed(ended))


def _find_ended(node: NodeState) -> Output | None:
    """Return the output when the status is terminal and says the same."""
    status, output = find_status(node.status), find_output(node.output)
    if status is None or not status.is_terminal or output is None:
        return None
    return output if (status.word, status.reason) == (output.status, output.reason) else None


def _describe(output: Output | None) -> tuple[str | None, str, str | None] | None:
    return None if output is None else (output.run_id, output.status, output.reason)


def _say_completed(output: Output) -> str:
    where = output.file_path if output.archived is None else output.archived.archive_uri
    return f"NVIDIA bug report of {output.file_size_bytes} bytes is archived: {where} (run {output.run_id})"


def _say_failed(output: Output) -> str:
    reason = REASONS.get(output.reason or "")
    meaning = "" if reason is None else f" {reason.sentence} {reason.remedy}"
    return f"NVIDIA bug report failed: {output.reason}.{meaning} (run {output.run_id})"
