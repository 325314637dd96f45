"""One run as the agent remembers it: the value that the ledger keeps and the tables decide from.

How it is stored is the ledger's business; what the Node says of it is the contract's `Claim`.
"""

from datetime import datetime
from typing import NamedTuple

from gpureport.contract.claims import NONE, Claim, ReportEvidence, RunResult

CLAIMED = "claimed"
"""On disk before the Node is asked: the claim may have arrived there or not."""
RUNNING = "running"
"""On disk before the script is started: it may have run or not, and must not be started again."""
COLLECTED = "collected"
"""What the script left is known and safe on disk, a report or none: nothing is run again, the rest is telling."""
DONE = "done"
"""The Node was told all there is; what is left to deliver stands in the outbox."""

PHASES = (CLAIMED, RUNNING, COLLECTED, DONE)


class ScriptProcess(NamedTuple):
    """The script's session, to be found again by another agent process; instants are CLOCK_MONOTONIC of one boot."""

    session_id: int
    start_ticks: int


class Run(NamedTuple):
    """One run; `claim` holds the result and the evidence from `COLLECTED` on."""

    phase: str
    claim: Claim
    served_label: str | None = None
    """The trigger label's value that this run serves; another value is a later request."""
    deaths: int = 0
    """How often this request's run ended because the agent or the node died."""
    script: ScriptProcess | None = None
    started_s: float | None = None
    """When the script was started, CLOCK_MONOTONIC of the claim's boot."""
    script_deadline_s: float | None = None
    """When the script's session is ended, grace included; the same clock."""
    report_path: str | None = None
    """Where the report goes next, or lies already: the host's path, on disk before the report gets that name."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.claim.run_id

    @property
    def is_active(self) -> bool:
        """Whether something of this run is still to be done before another may be claimed."""
        return self.phase != DONE


def collect(run: Run, result: RunResult, report: ReportEvidence | None) -> Run:
    """Say what became of the script: the run is `COLLECTED` from then on."""
    return run._replace(phase=COLLECTED, claim=run.claim._replace(result=result, report=report), script=None)


def fail(run: Run, reason: str, *, attempts: int, duration_s: float) -> Run:
    """Say that the run has no report, and why."""
    return collect(run, RunResult(NONE, attempts, duration_s, reason), None)


def build_claim(  # noqa: PLR0913 (each is a member of the claim)
    *,
    run_id: str,
    trigger: str,
    node_uid: str,
    boot_id: str,
    started_at: datetime,
    deadline_at: datetime,
    agent_version: str,
    previous: Claim | None,
) -> Claim:
    """Build the claim of a run of our own executor."""
    return Claim(
        run_id=run_id,
        trigger=trigger,
        executor="own",
        node_uid=node_uid,
        boot_id=boot_id,
        started_at=started_at,
        deadline_at=deadline_at,
        agent_version=agent_version,
        previous=None if previous is None else previous._replace(previous=None, unknown={}),
    )
