"""In which status a run ends: the agent's result against the archive's verdict, the worse of the two stands."""

from typing import NamedTuple

from gpureport.contract.claims import COMPLETE, CORRUPT, NONE, OUTCOMES, PARTIAL, RunResult
from gpureport.contract.statuses import COMPLETED, Status, failed

INCOMPLETE_REASON = "incomplete"

_REASON_WITHOUT_ANOTHER = {PARTIAL: INCOMPLETE_REASON, CORRUPT: "corrupt", NONE: "no-report"}


class Verdict(NamedTuple):
    """What a judge of the bytes found: an outcome of `OUTCOMES` and, unless it is complete, a reason."""

    outcome: str
    reason: str | None = None


def decide_outcome(result: RunResult, verdict: Verdict) -> str:
    """Return the worse of the agent's and the judge's outcome."""
    return max(result.outcome, verdict.outcome, key=OUTCOMES.index)


def decide_ending(result: RunResult, verdict: Verdict) -> Status:
    """Return the terminal status of a run.

    A run is completed only when the first attempt gave a whole report and both agree on it. Otherwise the reason is
    that of whoever judged worse, the agent's when they agree: it knows about the time-out.
    """
    outcome = decide_outcome(result, verdict)
    if outcome == COMPLETE:
        return failed(result.reason) if result.reason else Status(COMPLETED)
    reason = result.reason if result.outcome == outcome else verdict.reason
    return failed(reason or _REASON_WITHOUT_ANOTHER[outcome])
