"""How does one child process run and end: own session, deadline, TERM, grace, KILL, and never a blocking wait.

The owner polls `fds()` until `wake_at()` and calls `step(now)`; instants are monotonic seconds and come in as values.
What the child is for, and what its end means for a run, belongs elsewhere.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from agent.collector.pipes import OutputHead, OutputPipe, OutputTail
from agent.collector.processes import (
    Process,
    describe_stuck,
    find_process,
    kill_session,
    list_session,
    reap_members,
    signal_session,
)
from agent.collector.spawning import open_input, spawn

STDERR_BYTES_MAX = 4096
"""The end of stderr, where a failing command says why."""
KILL_WAIT_S = 2.0
"""How long a killed process may take to go; one that is left after it sits in the kernel (D state)."""
SWEEP_S = 0.05
"""While a session is ending it is looked at so often; its members have no descriptor to wait on."""

_SHELL = "/bin/sh"
_CHANGE_FOLDER = 'cd -- "$1" && shift && exec "$@"'


class ChildEnd(NamedTuple):
    """How a child ended. `exit_code` is minus the signal's number for a killed one, None while `stuck`."""

    exit_code: int | None
    timed_out: bool
    stopped: bool
    duration_s: float
    stdout: bytes
    stderr_tail: bytes
    stuck: str | None
    """Names the process that outlived SIGKILL; the child is then not reaped yet: see `Child.reap`."""


class _Phase(Enum):
    RUNNING = "running"
    ENDING = "ending"  # TERM was sent, or the leader is gone: the rest has its grace
    KILLED = "killed"


class Child:
    """One child process and its session."""

    def __init__(
        self, pid: int, outputs: Sequence[OutputPipe], *, timeout_s: float, grace_s: float, now: float
    ) -> None:
        self.pid = pid
        self.session_id = pid
        process = find_process(pid)
        self.start_ticks = 0 if process is None else process.start_ticks
        self._pidfd = os.pidfd_open(pid)
        self._stdout, self._stderr = outputs
        self._started_at = now
        self._grace_s = grace_s
        self._wake_at = now + timeout_s
        self._kill_at = 0.0
        self._phase = _Phase.RUNNING
        self._has_timed_out = False
        self._was_stopped = False
        self._is_reaped = False

    @classmethod
    def start(  # noqa: PLR0913 (a process has that many properties)
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        timeout_s: float,
        grace_s: float = 5.0,
        stdout_bytes_max: int = 0,
        stdin: bytes = b"",
        pass_fds: Sequence[int] = (),
        now: float,
    ) -> "Child":
        """Start a program, `argv[0]` being its path; `OSError` when the system refuses.

        It inherits `pass_fds` under the same numbers and no other descriptor. The first `stdout_bytes_max` bytes of
        stdout are kept, the rest is read and dropped.
        """
        if cwd is not None:
            argv = [_SHELL, "-c", _CHANGE_FOLDER, "sh", cwd, *argv]
        outputs = OutputPipe(OutputHead(stdout_bytes_max)), OutputPipe(OutputTail(STDERR_BYTES_MAX))
        stdin_fd = open_input(stdin)
        try:
            pid = spawn(argv, env, (stdin_fd, outputs[0].write_fd, outputs[1].write_fd), pass_fds)
        except OSError:
            for output in outputs:
                output.close()
            raise
        finally:
            os.close(stdin_fd)
            for output in outputs:
                output.close_write_end()
        return cls(pid, outputs, timeout_s=timeout_s, grace_s=grace_s, now=now)

    def fds(self) -> list[int]:
        """Return the descriptors to poll for input; none after the end."""
        leader = [self._pidfd] if self._phase is _Phase.RUNNING else []  # readable for ever once it has ended
        return [*self._stdout.fds(), *self._stderr.fds(), *leader]

    def wake_at(self) -> float:
        """Return the instant by which `step` wants to be called even if no descriptor is ready."""
        return self._wake_at

    def stop(self, now: float) -> None:
        """Begin to end it: TERM to the whole session, KILL after the grace."""
        if self._phase is _Phase.RUNNING:
            self._was_stopped = True
            self._end_session(now)

    def step(self, now: float) -> ChildEnd | None:
        """Go on as far as that goes without waiting; return the end once there is one."""
        self._stdout.drain()
        self._stderr.drain()
        if self._phase is _Phase.RUNNING:
            self._watch_leader(now)
        if self._phase is _Phase.ENDING:
            self._wake_at = now + SWEEP_S
            if now >= self._kill_at or not self._list_living():
                self._begin_kill(now)
        return self._find_end(now) if self._phase is _Phase.KILLED else None

    def reap(self) -> bool:
        """Collect a child that was stuck; true once nothing of its session runs any more."""
        if not self._is_reaped:
            self._is_reaped = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        reap_members(self.session_id)
        return self._is_reaped and not self._list_living()

    def _watch_leader(self, now: float) -> None:
        if self._has_exited():
            self._begin_kill(now)  # what the child left behind in its session must not outlive it
        elif now >= self._wake_at:
            self._has_timed_out = True
            self._end_session(now)

    def _end_session(self, now: float) -> None:
        signal_session(self.session_id, signal.SIGTERM)
        self._phase = _Phase.ENDING
        self._kill_at = now + self._grace_s
        self._wake_at = now + SWEEP_S

    def _begin_kill(self, now: float) -> None:
        self._phase = _Phase.KILLED
        self._kill_at = now + KILL_WAIT_S

    def _find_end(self, now: float) -> ChildEnd | None:
        living = kill_session(self.session_id)
        reap_members(self.session_id)
        has_exited = self._has_exited()
        if (living or not has_exited) and now < self._kill_at:
            self._wake_at = now + SWEEP_S
            return None
        exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) if has_exited else None
        self._is_reaped = has_exited
        self._close()
        return ChildEnd(
            exit_code=exit_code,
            timed_out=self._has_timed_out,
            stopped=self._was_stopped,
            duration_s=now - self._started_at,
            stdout=self._stdout.text(),
            stderr_tail=self._stderr.text(),
            stuck=None if has_exited and not living else describe_stuck(self.pid, living),
        )

    def _has_exited(self) -> bool:
        """Whether the leader has ended; it stays a zombie, so that its number stays the session's."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _list_living(self) -> list[Process]:
        return [process for process in list_session(self.session_id) if not process.has_ended]

    def _close(self) -> None:
        for output in (self._stdout, self._stderr):
            output.drain()
            output.close()
        os.close(self._pidfd)
