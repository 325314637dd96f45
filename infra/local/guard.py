"""How does nothing outlive the local pipeline, whatever ends it? An outermost process that waits, then cleans up.

The guard is the ancestor of every part and their subreaper (prctl(2)): what a dead part leaves behind becomes its
child, and is ended when the supervisor has ended, by itself, by Ctrl-C or by kill -9. When the guard itself is killed,
the kernel tells the supervisor (see launch.py), and that one stops everything in order.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from infra.local.launch import PR_SET_PDEATHSIG

PR_SET_CHILD_SUBREAPER = 36

STOP_S_MAX = 25.0
"""Seconds that the parts have after SIGTERM, an agent needs up to 20; then they are killed."""

KILL_S_MAX = 5.0
"""Seconds to wait for killed processes; only one in uninterruptible sleep needs longer, and nothing ends that."""

LOOK_S = 0.02
"""How often the children are looked at while they end."""


def run_guarded(supervise: Callable[[], int], *, with_parent: bool, stop_s_max: float = STOP_S_MAX) -> int:
    """Fork, run `supervise` in the child, and return its exit code once no descendant is left.

    `with_parent` ties the guard to the process that started it (make): when that one dies, everything is stopped.
    Call it before any thread is started.
    """
    parent = os.getppid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if with_parent:
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return 128 + signal.SIGTERM
    guard = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != guard:
            os._exit(128 + signal.SIGTERM)
        sys.exit(supervise())
    return _wait_and_clean_up(supervisor, stop_s_max)


def _wait_and_clean_up(supervisor: int, stop_s_max: float) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: _send(supervisor, received))
    exit_code = 1
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == supervisor:
            exit_code = os.waitstatus_to_exitcode(status)
            break
    _end_descendants(signal.SIGTERM, stop_s_max)
    _end_descendants(signal.SIGKILL, KILL_S_MAX)
    return exit_code if exit_code >= 0 else 128 - exit_code


def _end_descendants(number: signal.Signals, wait_s_max: float) -> None:
    """Signal every descendant once, those that turn up later too, until none is left or the time is over."""
    until = time.monotonic() + wait_s_max
    told: set[int] = set()
    while time.monotonic() < until:
        _reap()
        left = find_descendants(os.getpid())
        if not left:
            return
        for pid in left - told:
            _send(pid, number)
        told |= left
        time.sleep(LOOK_S)


def find_descendants(ancestor: int) -> set[int]:
    """Return the pids below `ancestor` that are alive, from one look at /proc; zombies left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command's name may hold spaces and parentheses: fields are counted after the last one.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[int] = set()
    frontier = [ancestor]
    while frontier:
        below = children.get(frontier.pop(), [])
        found.update(below)
        frontier += below
    return found


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
