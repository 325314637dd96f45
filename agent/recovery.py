"""Takes charge of an unfinished run that another process of this agent left on disk.

What becomes of it is decided in `agent.handshake.restart`; from then on the executor treats it as its own.
"""

from datetime import datetime
from typing import NamedTuple

from agent.collection import Collected
from agent.collector.processes import is_session_alive, kill_session
from agent.collector.spool import Spool
from agent.handshake.restart import Lock, Recovery, decide_death_reason, decide_restart, find_told
from agent.handshake.runs import COLLECTED, RUNNING, Run, collect, fail
from agent.handshake.transitions import BUSY_AFTER_S
from agent.run_book import RunBook
from agent.telemetry.log import Log
from gpureport.contract.claims import COMPLETE
from gpureport.contract.nodes import NodeState

LOOK_S = 0.5
"""The lock is looked at so often while an orphan holds it."""
KILL_WAIT_S = 10.0
"""An orphan that holds the lock for so long after it was killed hangs in the kernel."""


class Step(NamedTuple):
    """How far it is: whether the Node may be decided from, when to look again, and what to judge."""

    is_settled: bool
    again_at: float | None = None
    salvage: Run | None = None
    duration_s: float = 0.0
    stuck: str | None = None


class Recoverer:
    """Looks at the record on disk until there is nothing unfinished, or this process is in charge of it."""

    def __init__(self, book: RunBook, spool: Spool, log: Log, boot_id: str) -> None:
        self._book = book
        self._spool = spool
        self._log = log
        self._boot_id = boot_id
        self._busy_since: float | None = None
        self._salvaged: str | None = None

    def step(self, node: NodeState, now: float, server_now: datetime | None) -> Step:
        """Go on without waiting. May raise `OSError`, `NewerRecord`, `RunTaken`."""
        run = self._book.load()
        if run is None:
            return Step(is_settled=True)
        if server_now is None:
            return Step(is_settled=False, again_at=now + LOOK_S)
        recovery = decide_restart(node, run, self._boot_id, self._look_at_lock(now))
        if recovery in (Recovery.WAIT, Recovery.WAIT_ORPHAN):
            return self._wait(run, recovery, now, server_now)
        self._log.info("recovered", f"a run in phase {run.phase}: {recovery.value}", runId=run.run_id)
        self._book.take_over()
        if recovery is Recovery.SALVAGE:
            self._salvaged = run.run_id
            duration_s = max(0.0, now - run.started_s) if run.started_s is not None else 0.0
            return Step(is_settled=False, salvage=run, duration_s=duration_s)
        self._bring_about(recovery, run, node, server_now)
        return Step(is_settled=True)

    def judge_ending(self, run: Run, ended: Collected) -> Run:
        """Say what a run has come to: an orphan's counts only if its report is whole."""
        if self._salvaged == run.run_id and ended.result.outcome != COMPLETE:
            return self._die(run)
        return collect(run, ended.result, ended.report)

    def _look_at_lock(self, now: float) -> Lock:
        if self._book.lock.acquire():
            self._busy_since = None
            return Lock.FREE
        if self._busy_since is None:
            self._busy_since = now
        return Lock.BUSY if now - self._busy_since < BUSY_AFTER_S else Lock.STUCK

    def _bring_about(self, recovery: Recovery, run: Run, node: NodeState, server_now: datetime) -> None:
        if self._book.lock.descriptor is not None:
            self._spool.tidy()  # nobody works there: what a script left is of no more use
        if recovery is Recovery.ADOPT:
            told = find_told(node, run) or run.claim
            self._book.mark_collected(run._replace(phase=COLLECTED, claim=told, script=None), server_now)
        elif recovery is Recovery.FORGET:
            self._book.forget()
        elif recovery is Recovery.INTERRUPT:
            self._book.mark_collected(self._die(run), server_now)
        elif run.phase == COLLECTED:
            self._book.mark_collected(run, server_now)
        # UNATTEST: the executor finds the Node not naming the run, delivers it and lets go.

    def _wait(self, run: Run, recovery: Recovery, now: float, server_now: datetime) -> Step:
        deadline_s = run.script_deadline_s
        if recovery is Recovery.WAIT or run.phase != RUNNING or deadline_s is None or now < deadline_s:
            self._log.note("orphan", f"a process of run {run.run_id} holds the lock")
            return Step(is_settled=False, again_at=now + LOOK_S)
        if run.script is not None and is_session_alive(run.script.session_id, run.script.start_ticks):
            self._log.warning("orphan", "its script's deadline has passed, its session is ended", runId=run.run_id)
            kill_session(run.script.session_id)
        if now < deadline_s + KILL_WAIT_S:
            return Step(is_settled=False, again_at=now + LOOK_S)
        self._book.take_over()
        self._book.mark_collected(self._die(run), server_now)
        return Step(is_settled=True, stuck="a process of an earlier run holds the lock")

    @staticmethod
    def _die(run: Run) -> Run:
        ended = fail(run, decide_death_reason(run), attempts=1, duration_s=0)
        return ended._replace(deaths=run.deaths + 1)
