"""What do running processes use: memory and CPU, from /proc. Source: proc(5).

Which processes are looked at, and what is made of the figures, belongs to the measurements.
"""

import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

KIB = 1024
SAMPLE_S = 0.01
"""Pause between two looks of a sampler: the shortest program in a report's run lives some milliseconds."""

PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_FIELD = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


class Memory(NamedTuple):
    """Resident memory in bytes: all of it, and the part that no file stands behind."""

    rss_bytes: int
    anonymous_bytes: int


class Kin(NamedTuple):
    """Whose child a process is, and in which session."""

    parent: int
    session: int


def read_memory(pid: int) -> Memory:
    """Read a process's memory; `OSError` when it is gone or not ours."""
    fields = parse_sizes((PROC / str(pid) / "smaps_rollup").read_text())
    return Memory(fields["Rss"], fields["Anonymous"])


def read_sizes(pid: int) -> dict[str, int]:
    """Read the sizes in a process's status (`VmPeak`, `VmSize`, `VmHWM`, `VmRSS` ...), in bytes."""
    return parse_sizes((PROC / str(pid) / "status").read_text())


def parse_sizes(text: str) -> dict[str, int]:
    """Read every `Name: 123 kB` of a proc file, in bytes."""
    return {name: int(size) * KIB for name, size in _FIELD.findall(text)}


def reset_peak(pid: int) -> None:
    """Let VmHWM start again from the memory in use."""
    (PROC / str(pid) / "clear_refs").write_text("5")


def read_cpu_s(pid: int) -> float:
    """Read the CPU seconds that a process has used, user and system, in steps of a tick (10 ms)."""
    fields = _stat_fields((PROC / str(pid) / "stat").read_text(errors="replace"))
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def read_children(pid: int) -> list[int]:
    """List the children of a process, lowest number first."""
    return sorted(child for child, kin in read_kin().items() if kin.parent == pid)


def read_kin() -> dict[int, Kin]:
    """Read parent and session of every process; those that end meanwhile are left out."""
    kin = {}
    for entry in os.listdir(PROC):
        if entry.isdigit():
            try:
                fields = _stat_fields((PROC / entry / "stat").read_text(errors="replace"))
            except OSError:
                continue
            kin[int(entry)] = Kin(int(fields[1]), int(fields[3]))
    return kin


def find_family(kin: Mapping[int, Kin], root: int, sessions: set[int]) -> set[int]:
    """Find a process, all below it, and whoever is in a session that one of them was ever seen in.

    The process leads its own session, as every part of the local pipeline does.
    `sessions` is what was seen so far; it grows, so that one who lost its parent is found again.
    """
    children: dict[int, list[int]] = {}
    for pid, one in kin.items():
        children.setdefault(one.parent, []).append(pid)
    family = {root} & kin.keys()
    frontier = list(family)
    while frontier:
        below = [pid for pid in children.get(frontier.pop(), []) if pid not in family]
        family.update(below)
        frontier += below
    sessions.update(kin[pid].session for pid in family)
    return family | {pid for pid, one in kin.items() if one.session in sessions}


def sum_anonymous(pids: set[int]) -> int:
    """Sum the anonymous memory of processes, in bytes; those that have ended count nothing."""
    total = 0
    for pid in pids:
        try:
            total += read_memory(pid).anonymous_bytes
        except (OSError, KeyError):  # gone, or a zombie without memory
            continue
    return total


def _stat_fields(stat: str) -> list[str]:
    """Split a stat line after the command's name, which may hold anything; the state is field 0."""
    return stat.rpartition(")")[2].split()


class PeakSampler:
    """Looks at a figure again and again in a thread of its own, and keeps its peak; a context manager."""

    def __init__(self, read: Callable[[], float], pause_s: float = SAMPLE_S) -> None:
        self.peak = 0.0
        self.samples = 0
        self._read = read
        self._pause_s = pause_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.peak = max(self.peak, self._read())
            self.samples += 1
            if self._ended.wait(self._pause_s):
                return


def build_family_reader(root: int) -> Callable[[], float]:
    """Build a reader of the summed anonymous bytes of a process and its family, for a sampler."""
    sessions: set[int] = set()
    return lambda: sum_anonymous(find_family(read_kin(), root, sessions))
