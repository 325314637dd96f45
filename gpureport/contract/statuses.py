"""The status annotation: `collect` → `in-progress` → `completed` or `failed: <reason>`."""

from typing import NamedTuple

from gpureport.contract.keys import STATUS_BYTES_MAX
from gpureport.contract.reasons import REASONS

COLLECT = "collect"
IN_PROGRESS = "in-progress"
COMPLETED = "completed"
FAILED = "failed"

_FAILED_PREFIX = "failed:"


class Status(NamedTuple):
    """What a status annotation says: `word` is one of the four, or the foreign text as it stands."""

    word: str
    reason: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether a run has ended."""
        return self.word in (COMPLETED, FAILED)


def find_status(text: str | None) -> Status | None:
    """Read a status annotation that may be absent."""
    return None if text is None else parse_status(text)


def parse_status(text: str) -> Status:
    """Read any status annotation; a text that is no status of ours keeps its words and is inert."""
    if text in (COLLECT, IN_PROGRESS, COMPLETED, FAILED):
        return Status(text)
    if text.startswith(_FAILED_PREFIX):
        return Status(FAILED, text.removeprefix(_FAILED_PREFIX).strip() or None)
    return Status(text)


def format_status(status: Status) -> str:
    """Write a status of ours; `ValueError` for a word or a reason that is not in the contract."""
    if status.word in (COLLECT, IN_PROGRESS, COMPLETED) and status.reason is None:
        return status.word
    if status.word == FAILED and status.reason in REASONS:
        text = f"{_FAILED_PREFIX} {status.reason}"
        if len(text) <= STATUS_BYTES_MAX:
            return text
    raise ValueError(f"{status!r} is not a status that we write")


def failed(reason: str) -> Status:
    """Build a failed status; `ValueError` when the reason is not a word of `REASONS`."""
    if reason not in REASONS:
        raise ValueError(f"{reason!r} is not a reason that we write")
    return Status(FAILED, reason)
