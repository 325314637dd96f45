"""Keeps the one run in memory, on disk and locked in step: a change is on disk before anything is done from it.

A disk that takes no record any more does not hold up a run that has begun: it goes on from memory, and the Node, the
authority, is told. Which change is due is decided in `agent.handshake`, and brought about in `agent.executor`.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from agent.handshake.runs import CLAIMED, COLLECTED, DONE, RUNNING, Run, ScriptProcess
from agent.ledger.ledger import NO_ROOM, Ledger
from agent.ledger.lock import RunLock
from agent.ledger.records import Parcel

MakeRoom = Callable[[Sequence[str]], None]
"""Frees room on the disk, but for those reports (the host's paths). Never raises."""
Report = Callable[[str], None]
"""Says one sentence about the disk; an empty one says that it is well again."""


class RunTaken(Exception):
    """Another agent of this node wrote the record meanwhile: its run counts, ours is dropped."""


class RunBook:
    """The run at work. Methods that write may raise `RunTaken` while the lock is not ours."""

    def __init__(self, ledger: Ledger, lock: RunLock, make_room: MakeRoom, report: Report) -> None:
        self.ledger = ledger
        self.lock = lock
        self.run: Run | None = None
        self.is_ours = False
        """Whether this process is in charge of `run`; otherwise it was found on disk."""
        self._make_room = make_room
        self._report = report
        self._over: str | None = None
        """The run whose end the disk does not know: its record there is out of date."""

    @property
    def active(self) -> Run | None:
        """The run that this process is in charge of and that is not done; None when there is none."""
        return self.run if self.run is not None and self.is_ours and self.run.is_active else None

    def load(self) -> Run | None:
        """Read the record as it is on disk now; return it when it is unfinished. `OSError`, `NewerRecord`."""
        self.run = self.ledger.read_run()
        self.is_ours = False
        if self.run is not None and self.run.run_id == self._over:
            self.run = self.run._replace(phase=DONE)
        return self.run if self.run is not None and self.run.is_active else None

    def take_over(self, run: Run | None = None) -> None:
        """Be in charge of the run that was found on disk, or of one that only the Node names."""
        self.run, self.is_ours = run or self.run, True

    def open(self, run: Run) -> None:
        """Record a new run, before the Node is asked for it. `OSError`: nothing may be begun then."""
        self._write(lambda: self.ledger.write_run(run), run)
        self.run, self.is_ours = run, True
        self._report("")

    def mark_running(self, started_s: float, script_deadline_s: float) -> None:
        """Record that the script is started next. `OSError`: it must not be started then."""
        run = self._must()._replace(phase=RUNNING, started_s=started_s, script_deadline_s=script_deadline_s)
        self._write(lambda: self._store(run), run)
        self.run = run

    def mark_started(self, script: ScriptProcess) -> None:
        """Record the script's session."""
        self._change(self._must()._replace(script=script))

    def mark_keeping(self, report_path: str) -> None:
        """Record the name that a judged report gets next, so that it is found whatever dies then."""
        self._change(self._must()._replace(report_path=report_path))

    def mark_collected(self, run: Run, server_now: datetime) -> None:
        """Record what became of the script, and put the run into the outbox; repeated, it repairs a crash between."""
        if run.phase != COLLECTED:
            raise ValueError(f"a run in phase {run.phase} has no result")
        self._change(run)
        self._try(lambda: self._put_parcel(build_parcel(run, server_now)), run)

    def mark_done(self) -> None:
        """Record that the Node was told; the lock is given back."""
        if not self._change(self._must()._replace(phase=DONE)):
            self._over = self._must().run_id
        self.lock.release()
        self.ledger.ensure_reserve()

    def forget(self) -> None:
        """Take the record back: the Node never heard of the run; the lock is given back."""
        run = self._must()
        if run.phase not in (CLAIMED, RUNNING):
            raise ValueError("a collected run is not forgotten")
        if not self._try(self.ledger.forget_run, run):
            self._over = run.run_id
        self.run, self.is_ours = None, False
        self.lock.release()

    def drop(self) -> None:
        """Leave a run that another agent took over."""
        self.run, self.is_ours = None, False
        self.lock.release()

    def _change(self, run: Run) -> bool:
        is_stored = self._try(lambda: self._store(run), run)
        self.run = run
        return is_stored

    def _store(self, run: Run) -> None:
        if self.lock.descriptor is None:
            stored = self.ledger.read_run()
            if stored is None or stored.run_id != run.run_id:
                raise RunTaken(f"run {run.run_id} is no longer the one on record")
        self.ledger.write_run(run)

    def _put_parcel(self, parcel: Parcel) -> None:
        stored = self.ledger.find_parcel(parcel.run_id)
        if stored is not None:
            parcel = parcel._replace(put_at=stored.put_at, is_delivered=stored.is_delivered)
        self.ledger.put_parcel(parcel)

    def _try(self, write: Callable[[], None], run: Run) -> bool:
        try:
            self._write(write, run)
        except OSError as error:
            self._report(f"run {run.run_id} goes on, the disk takes no record of it: {error}")
            return False
        return True

    def _write(self, write: Callable[[], None], run: Run) -> None:
        try:
            write()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._make_room(_list_reports(run))
            write()

    def _must(self) -> Run:
        if self.run is None:
            raise ValueError("there is no run")
        return self.run


def build_parcel(run: Run, server_now: datetime) -> Parcel:
    """Build the outbox parcel of a collected run."""
    result = run.claim.result
    has_report = result is not None and run.claim.report is not None
    return Parcel(run.claim, result.file_path if has_report and result is not None else None, server_now)


def _list_reports(run: Run) -> list[str]:
    paths = (run.report_path, None if run.claim.result is None else run.claim.result.file_path)
    return [path for path in paths if path is not None]
