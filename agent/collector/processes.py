"""Which processes belong to a session, and how are they signalled: /proc read with care, nothing waited for.

A session, unlike a process group, keeps everything that the script started, also what `timeout` moved to a group of
its own. Deadlines and what a run means belong elsewhere.
"""

import os
import signal
from typing import NamedTuple

_GONE = (FileNotFoundError, ProcessLookupError)
_ENDED_STATES = "ZX"

SWEEPS_MAX = 5
"""Rounds of one kill: members may fork while the list is read; what is left after that is met by the next sweep."""
WORD_CHARACTERS_MAX = 64
"""Of a command's name or a wait channel; the kernel's own limits are 16 and 64."""


class Process(NamedTuple):
    """One process as /proc/PID/stat shows it; `start_ticks` tells it from a later process of the same number."""

    pid: int
    command: str
    state: str
    parent_pid: int
    session_id: int
    start_ticks: int

    @property
    def has_ended(self) -> bool:
        """Whether only its exit status is left."""
        return self.state in _ENDED_STATES


def parse_stat(raw: bytes) -> Process:
    """Read a line of /proc/PID/stat; the command may hold blanks and brackets, so fields count after the last `)`."""
    before, _, after = raw.rpartition(b")")
    pid, _, command = before.partition(b" (")
    fields = after.split()
    return Process(
        pid=int(pid),
        command=command.decode("utf-8", "replace"),
        state=fields[0].decode(),
        parent_pid=int(fields[1]),
        session_id=int(fields[3]),
        start_ticks=int(fields[19]),
    )


def find_process(pid: int) -> Process | None:
    """Return a process, also one that has ended and waits for its parent; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read())
    except _GONE:
        return None


def list_session(session_id: int) -> list[Process]:
    """List every process of a session, ended ones too."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = (find_process(pid) for pid in pids)
    return [process for process in found if process is not None and process.session_id == session_id]


def is_session_alive(session_id: int, start_ticks: int) -> bool:
    """Say whether anything of the session that began with that leader still runs.

    The kernel gives a number to no new process while a session of that number has members: a living leader with
    another start is therefore a stranger's session.
    """
    members = list_session(session_id)
    leaders = [process for process in members if process.pid == session_id]
    if leaders and leaders[0].start_ticks != start_ticks:
        return False
    return any(not process.has_ended for process in members)


def signal_session(session_id: int, number: int) -> None:
    """Send a signal to every process of a session, whatever process group each is in."""
    for process in list_session(session_id):
        if not process.has_ended:
            _signal_process(process, number)


def kill_session(session_id: int) -> list[Process]:
    """Kill every process of a session; return those that are still there, as a process in D state is."""
    left: list[Process] = []
    for _ in range(SWEEPS_MAX):
        left = [process for process in list_session(session_id) if not process.has_ended]
        if not left:
            break
        for process in left:
            _signal_process(process, signal.SIGKILL)
    return left


def reap_members(session_id: int) -> None:
    """Collect the exit status of ended members that became ours (a container's first process inherits orphans).

    The leader is left alone: its status is the run's.
    """
    for process in list_session(session_id):
        if process.has_ended and process.pid != session_id and process.parent_pid == os.getpid():
            os.waitpid(process.pid, os.WNOHANG)


def describe_stuck(leader_pid: int, living: list[Process]) -> str:
    """Name what outlived SIGKILL, its first process by number, command, state and wait channel."""
    if not living:
        return f"pid {leader_pid} has threads that do not end"
    process = living[0]
    more = f" and {len(living) - 1} more" if len(living) > 1 else ""
    command = process.command[:WORD_CHARACTERS_MAX]
    return f"pid {process.pid} ({command}) in state {process.state}, wait channel {_read_wchan(process.pid)}{more}"


def _signal_process(process: Process, number: int) -> None:
    """Signal exactly that process: a descriptor holds it while its number is compared again."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        current = find_process(process.pid)
        if current is not None and current.start_ticks == process.start_ticks:
            signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)


def _read_wchan(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/wchan", "rb") as file:
            return file.read(WORD_CHARACTERS_MAX).decode("ascii", "replace") or "unknown"
    except OSError:
        return "unknown"
