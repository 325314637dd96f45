"""What became of one event: six outcomes, and what each means to the subscription and to the log.

Who decides an outcome stands with the functions; how a line of the log looks in `log_lines`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Outcome(Enum):
    """Every event ends in exactly one of these; all but `RETRY` are acknowledged."""

    DONE = "done"
    DUPLICATE = "duplicate"
    """What the event asks for stands already."""
    IGNORED = "ignored"
    """An event for somebody else: filters may be missing."""
    LATE = "late"
    """The Node, or its claim of that run, is gone."""
    REJECTED = "rejected"
    """Undecodable, forged, or in conflict with what the Node or the archive says."""
    RETRY = "retry"
    """Not now; the subscription delivers again, and dead-letters in the end."""


class Answer(NamedTuple):
    """One event's outcome; `reason` is a machine word, `message` a sentence, `fields` go into the log line."""

    outcome: Outcome
    reason: str | None = None
    message: str = ""
    fields: Mapping[str, str | int | float | bool] = {}
    is_error: bool = False
    """Whether somebody has to do something before the next delivery can succeed."""


def late(reason: str, message: str) -> Answer:
    """Build the answer to an event whose run no Node claims any more."""
    return Answer(Outcome.LATE, reason, message)


def rejected(reason: str, message: str) -> Answer:
    """Build the answer to an event that will never be acted on."""
    return Answer(Outcome.REJECTED, reason, message)


def retry(reason: str, message: str, *, is_error: bool = False) -> Answer:
    """Build the answer to an event that is to be delivered again."""
    return Answer(Outcome.RETRY, reason, message, is_error=is_error)


def decide_severity(answer: Answer) -> str:
    """Choose the severity of the log line, a word of Cloud Logging."""
    if answer.is_error:
        return "ERROR"
    return "WARNING" if answer.outcome in (Outcome.REJECTED, Outcome.RETRY) else "INFO"
