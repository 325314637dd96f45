"""Keeps the one run in memory, on disk and locked in step: every change is on disk before anything is done from it.

Which change is due is decided in `agent.handshake`, and brought about in `agent.executor`.
"""

from datetime import datetime

from agent.handshake.runs import CLAIMED, COLLECTED, DONE, RUNNING, Run, ScriptProcess
from agent.ledger.ledger import Ledger
from agent.ledger.lock import RunLock
from agent.ledger.records import Parcel


class RunTaken(Exception):
    """Another agent of this node wrote the record meanwhile: its run counts, ours is dropped."""


class RunBook:
    """The run at work. Every method may raise `OSError`; those that write, `RunTaken` while the lock is not ours."""

    def __init__(self, ledger: Ledger, lock: RunLock) -> None:
        self.ledger = ledger
        self.lock = lock
        self.run: Run | None = None
        self.is_ours = False
        """Whether this process is in charge of `run`; otherwise it was found on disk."""

    @property
    def active(self) -> Run | None:
        """The run that this process is in charge of and that is not done; None when there is none."""
        return self.run if self.run is not None and self.is_ours and self.run.is_active else None

    def load(self) -> Run | None:
        """Read the record as it is on disk now; return it when it is unfinished. `NewerRecord`."""
        self.run = self.ledger.read_run()
        self.is_ours = False
        return self.run if self.run is not None and self.run.is_active else None

    def take_over(self) -> None:
        """Be in charge of the run that was found on disk."""
        self.is_ours = True

    def open(self, run: Run) -> None:
        """Record a new run, before the Node is asked for it."""
        self.run, self.is_ours = run, True
        self.ledger.write_run(run)

    def mark_running(self, started_s: float, script_deadline_s: float) -> None:
        """Record that the script is started next."""
        self._change(self._must()._replace(phase=RUNNING, started_s=started_s, script_deadline_s=script_deadline_s))

    def mark_started(self, script: ScriptProcess) -> None:
        """Record the script's session."""
        self._change(self._must()._replace(script=script))

    def mark_collected(self, run: Run, server_now: datetime) -> None:
        """Record what became of the script, and put the run into the outbox; repeated, it repairs a crash between."""
        if run.phase != COLLECTED:
            raise ValueError(f"a run in phase {run.phase} has no result")
        self._change(run)
        self.ledger.put_parcel(build_parcel(run, server_now))

    def mark_done(self) -> None:
        """Record that the Node was told; the lock is given back."""
        self._change(self._must()._replace(phase=DONE))
        self.lock.release()

    def forget(self) -> None:
        """Take the record back: the Node never heard of the run; the lock is given back."""
        if self._must().phase not in (CLAIMED, RUNNING):
            raise ValueError("a collected run is not forgotten")
        self.ledger.forget_run()
        self.run, self.is_ours = None, False
        self.lock.release()

    def drop(self) -> None:
        """Leave a run that another agent took over."""
        self.run, self.is_ours = None, False
        self.lock.release()

    def _change(self, run: Run) -> None:
        if self.lock.descriptor is None:
            stored = self.ledger.read_run()
            if stored is None or stored.run_id != run.run_id:
                raise RunTaken(f"run {run.run_id} is no longer the one on record")
        self.ledger.write_run(run)
        self.run = run

    def _must(self) -> Run:
        if self.run is None:
            raise ValueError("there is no run")
        return self.run


def build_parcel(run: Run, server_now: datetime) -> Parcel:
    """Build the outbox parcel of a collected run."""
    result = run.claim.result
    has_report = result is not None and run.claim.report is not None
    return Parcel(run.claim, result.file_path if has_report and result is not None else None, server_now)
