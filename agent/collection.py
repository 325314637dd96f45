"""Runs one attempt of one run: the script, then the judge of what it wrote, then the report's final place on disk.

It is told how to start and asked how far it is; the Node, the ledger and the clock of the server are not known here.
"""

import errno
import os
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from agent.collector.child import Child, ChildEnd
from agent.collector.host import HostScript, build_command, build_environment, find_script
from agent.collector.processes import kill_session
from agent.collector.spool import Spool
from agent.handshake.runs import ScriptProcess
from agent.telemetry.log import Log
from agent.verdict import Verdict, parse_verdict
from gpureport.contract.claims import COMPLETE, NONE, NORMAL, ReportEvidence, RunResult
from gpureport.contract.deadlines import KILL_GRACE_S

JUDGE_TIMEOUT_S = 120.0
"""The judge stops by itself after 60 s of CPU; a busy node may need twice as long for it."""
JUDGE_GRACE_S = 1.0
VERDICT_BYTES_MAX = 16 * 1024
JUDGE_TRIES_MAX = 2
"""A judge that was killed, by a memory limit perhaps, is started once more; then the run fails as `internal`."""

_NOT_DISK = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ECHILD, errno.ESRCH, errno.EINVAL, errno.EBADF)
)
"""What the system answers when it, or this program, is at fault and not the disk."""


class Collected(NamedTuple):
    """What an attempt came to; `stuck` names a process that cannot be ended."""

    result: RunResult
    report: ReportEvidence | None
    stuck: str | None = None


class Host(NamedTuple):
    """Where and how an attempt runs: the same for every run of one agent."""

    root: str
    script: str | None
    timeout_s: float
    finish_command: tuple[str, ...]
    """Argv of the finish child, up to and with the word `finish`."""


class Hooks(NamedTuple):
    """What an attempt asks of those who know more than it does. None of them raises."""

    make_way: Callable[[int], None]
    """Deletes old reports, so that with so many more there are no more than allowed."""
    record_path: Callable[[str], None]
    """Remembers the name (the host's path) that the report gets next."""


class Collection:
    """One attempt at work; at most one child lives at a time."""

    def __init__(  # noqa: PLR0913 (each is a part of the world that a test replaces)
        self, host: Host, spool: Spool, hooks: Hooks, log: Log, *, run_id: str, trigger: str
    ) -> None:
        self._host = host
        self._spool = spool
        self._hooks = hooks
        self._log = log
        self._run_id = run_id
        self._trigger = trigger
        self._script_end: ChildEnd | None = None
        self._child: Child | None = None
        self._output: str | None = None
        self._kept_path: str | None = None
        self._judge_tries = 0
        self._is_stopped = False

    def find_script(self) -> HostScript | None:
        """Find the script on the host; None when there is none."""
        return find_script(self._host.root, self._host.script)

    def prepare(self) -> None:
        """Make room to work in; `OSError` or `SpoolRefused` when the disk does not let us."""
        self._spool.prepare()

    def start_script(self, script: HostScript, lock_fd: int, now: float) -> ScriptProcess:
        """Start the script, which inherits the lock; `OSError` when it cannot be started."""
        argv = build_command(self._host.root, script, self._spool.output_path)
        environment = build_environment(script, self._spool.work_dir)
        self._log.info("exec", "the host's script is started", runId=self._run_id, argv=" ".join(argv))
        self._child = Child.start(
            argv,
            env=environment,
            cwd=None,
            timeout_s=self._host.timeout_s,
            grace_s=KILL_GRACE_S,
            pass_fds=(lock_fd,),
            now=now,
        )
        return ScriptProcess(self._child.session_id, self._child.start_ticks)

    def salvage(self, duration_s: float, report_path: str | None, now: float) -> Collected | None:
        """Go on from what an orphan left: None while it is judged, else the attempt's end.

        `report_path` is the name (the host's path) that the report was about to get; it may have got it.
        """
        self._script_end = _build_end(duration_s)
        if report_path is not None and self._spool.find_kept(report_path) is not None:
            self._kept_path = report_path
        try:
            return self._judge_output(now)
        except OSError as error:
            return self._break_off(error)

    def fds(self) -> list[int]:
        """Return the descriptors to poll for input."""
        return [] if self._child is None else self._child.fds()

    def wake_at(self) -> float:
        """Return the instant of the next deadline."""
        return float("inf") if self._child is None else self._child.wake_at()

    def stop(self, now: float) -> None:
        """Begin to end whatever runs; what was collected so far does not count."""
        self._is_stopped = True
        if self._child is not None:
            self._child.stop(now)

    def step(self, now: float, server_now: datetime) -> Collected | None:
        """Go on as far as possible without waiting; return the attempt's end once."""
        try:
            return self._step(now, server_now)
        except OSError as error:
            return self._break_off(error)

    def _step(self, now: float, server_now: datetime) -> Collected | None:
        if self._child is None:
            return None
        end = self._child.step(now)
        if end is None:
            return None
        self._child = None
        if self._script_end is None:
            self._log_script_end(end)
            self._script_end = end
            return self._without_report("interrupted") if self._is_stopped else self._judge_output(now)
        if self._is_stopped:
            return self._without_report("interrupted")
        return self._take_verdict(end, now, server_now)

    def _judge_output(self, now: float) -> Collected | None:
        kept = None if self._kept_path is None else self._spool.find_kept(self._kept_path)
        self._output = kept or self._spool.find_output()
        if self._output is None:
            return self._without_report(self._reason_without_report())
        return self._start_judge(self._output, now)

    def _start_judge(self, path: str, now: float) -> Collected | None:
        argv = [*self._host.finish_command, "judge", "--file", path]
        self._judge_tries += 1
        self._log.info("exec", "the report is judged", runId=self._run_id, argv=" ".join(argv))
        try:
            self._child = Child.start(
                argv,
                env=os.environ,
                cwd=None,
                timeout_s=JUDGE_TIMEOUT_S,
                grace_s=JUDGE_GRACE_S,
                stdout_bytes_max=VERDICT_BYTES_MAX,
                now=now,
            )
        except OSError as error:
            self._log.error("judge", f"cannot be started: {error}", runId=self._run_id)
            return self._without_report("internal")
        return None

    def _take_verdict(self, end: ChildEnd, now: float, server_now: datetime) -> Collected | None:
        assert self._output is not None  # noqa: S101 - a judge was started for it
        verdict = parse_verdict(end)
        if verdict is None:
            tail = end.stderr_tail.decode("utf-8", "replace")
            self._log.error("judge", f"no verdict, exit {end.exit_code}: {tail}", runId=self._run_id)
            if self._judge_tries >= JUDGE_TRIES_MAX:
                return self._without_report("internal")
            return self._start_judge(self._output, now)
        if verdict.outcome == NONE or verdict.sha256 is None:
            return self._without_report(self._reason_without_report())
        return self._keep(verdict, self._output, server_now)

    def _keep(self, verdict: Verdict, path: str, server_now: datetime) -> Collected:
        script = self._script()
        self._hooks.make_way(1 if self._kept_path is None else 0)
        file_path = self._kept_path or self._spool.find_free_name(server_now, self._trigger)
        self._hooks.record_path(file_path)
        self._spool.keep(path, file_path)
        self._tidy(script)
        result = RunResult(
            outcome=verdict.outcome,
            attempts=1,
            duration_s=script.duration_s,
            reason="timeout" if script.timed_out else verdict.reason,
            mode=NORMAL,
            file_path=file_path,
            collected_at=server_now,
        )
        assert verdict.sha256 is not None  # noqa: S101 - asked before
        report = ReportEvidence(1, verdict.sha256, verdict.size_bytes, verdict.outcome == COMPLETE)
        return Collected(result, report, script.stuck)

    def _without_report(self, reason: str) -> Collected:
        script = self._script()
        self._tidy(script)
        return Collected(RunResult(NONE, 1, script.duration_s, reason), None, script.stuck)

    def _break_off(self, error: OSError) -> Collected:
        self._log.error("collecting", f"the report cannot be collected: {error}", runId=self._run_id)
        if self._child is not None:
            kill_session(self._child.session_id)
            self._child = None
        self._script_end = self._script_end or _build_end(0.0)
        return self._without_report("internal" if error.errno in _NOT_DISK else "disk")

    def _tidy(self, script: ChildEnd) -> None:
        obstacle = self._spool.tidy() if script.stuck is None else None
        if obstacle is not None:
            self._log.warning("left-over", f"the work folder cannot be removed: {obstacle}", runId=self._run_id)

    def _reason_without_report(self) -> str:
        script = self._script()
        if script.timed_out:
            return "timeout"
        return "script-failed" if script.exit_code not in (0, None) else "no-report"

    def _script(self) -> ChildEnd:
        assert self._script_end is not None  # noqa: S101 - nothing is judged before the script has ended
        return self._script_end

    def _log_script_end(self, end: ChildEnd) -> None:
        how = "timed out" if end.timed_out else "was stopped" if end.stopped else f"exit {end.exit_code}"
        tail = end.stderr_tail.decode("utf-8", "replace") or None
        seconds = round(end.duration_s, 3)
        self._log.info("script-ended", how, runId=self._run_id, durationSeconds=seconds, stderr=tail, stuck=end.stuck)


def _build_end(duration_s: float) -> ChildEnd:
    """Stand in for the end of a script that nobody saw."""
    return ChildEnd(None, False, False, duration_s, b"", b"", None)
