"""In which status a run ends: the agent's result against the archive's verdict, the worse of the two stands."""

from typing import NamedTuple

from gpureport.contract.claims import COMPLETE, CORRUPT, NONE, OUTCOMES, PARTIAL, RunResult
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import COMPLETED, Status, failed

INCOMPLETE_REASON = "incomplete"

_REASON_WITHOUT_ANOTHER = {COMPLETE: "internal", PARTIAL: INCOMPLETE_REASON, NONE: "no-report"}


class Verdict(NamedTuple):
    """What a judge of the bytes found: an outcome of `OUTCOMES` and, unless it is complete, a reason."""

    outcome: str
    reason: str | None = None


def decide_outcome(result: RunResult, verdict: Verdict) -> str:
    """Return the worse of the agent's and the judge's outcome."""
    return max(result.outcome, verdict.outcome, key=OUTCOMES.index)


def decide_ending(result: RunResult, verdict: Verdict) -> Status:
    """Return the terminal status of a run.

    A run is completed only when the first attempt gave a whole report and both agree on it. Damaged bytes are `corrupt`
    whatever led there, for they are kept apart in the archive. Otherwise the reason is that of whoever judged worse,
    the agent's first when they agree: it knows about the time-out. A reason that is not ours, from a newer agent, is
    not repeated; the outcome's own stands for it.
    """
    outcome = decide_outcome(result, verdict)
    if outcome == CORRUPT:
        return failed("corrupt")
    reasons = [judged.reason for judged in (result, verdict) if judged.outcome == outcome and judged.reason]
    if outcome == COMPLETE and not reasons:
        return Status(COMPLETED) if result.attempts <= 1 else failed("timeout")
    ours = (reason for reason in reasons if reason in REASONS)
    return failed(next(ours, _REASON_WITHOUT_ANOTHER[outcome]))
