"""What processes use, read from real ones."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.processes import (
    Kin,
    PeakSampler,
    build_family_reader,
    find_family,
    parse_sizes,
    read_children,
    read_cpu_s,
    read_kin,
    read_memory,
    read_sizes,
    reset_peak,
    sum_anonymous,
)

HELD_BYTES = 32 * 1024 * 1024
TOLERANCE_BYTES = 24 * 1024 * 1024

HOLDER = f"""
import sys
held = b"x" * {HELD_BYTES}
print("holding", flush=True)
sys.stdin.read()
"""
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {HOLDER!r}], start_new_session=True)
child.wait()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen]:
    """A session leader whose child, in a session of its own, holds `HELD_BYTES`."""
    command = [sys.executable, "-I", "-S", "-c", PARENT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "holding\n"
        yield process
        process.stdin.close()
        process.wait()


def test_sizes_are_bytes():
    assert parse_sizes("55d0-7ffd ---p 0 [rollup]\nRss:    8 kB\nAnonymous:  2 kB\nThreads: 4\n") == {
        "Rss": 8192,
        "Anonymous": 2048,
    }


def test_memory_of_a_process_holds_what_it_allocated(parent):
    (holder,) = read_children(parent.pid)

    memory = read_memory(holder)

    assert HELD_BYTES <= memory.anonymous_bytes <= HELD_BYTES + TOLERANCE_BYTES
    assert memory.rss_bytes >= memory.anonymous_bytes


def test_peak_starts_again_from_what_is_in_use(parent):
    (holder,) = read_children(parent.pid)

    reset_peak(holder)

    sizes = read_sizes(holder)
    assert sizes["VmRSS"] <= sizes["VmHWM"] <= sizes["VmRSS"] + TOLERANCE_BYTES


def test_sampler_sums_a_family_over_sessions(parent):
    with PeakSampler(build_family_reader(parent.pid)) as sampler:
        pass

    assert sampler.samples >= 1
    assert HELD_BYTES <= sampler.peak <= HELD_BYTES + TOLERANCE_BYTES


def test_processes_that_are_gone_count_nothing():
    with subprocess.Popen(["true"]) as process:
        process.wait()

    assert sum_anonymous({process.pid}) == 0


def test_own_parent_and_session_are_read():
    assert read_kin()[os.getpid()] == Kin(os.getppid(), os.getsid(0))


def test_cpu_time_grows_with_work():
    before_s = read_cpu_s(os.getpid())
    while read_cpu_s(os.getpid()) == before_s:
        sum(range(10000))
    assert read_cpu_s(os.getpid()) > before_s


FAMILY = {1: Kin(0, 1), 10: Kin(1, 10), 11: Kin(10, 11), 12: Kin(11, 11), 20: Kin(1, 20)}


def test_family_is_everyone_below():
    assert find_family(FAMILY, 10, set()) == {10, 11, 12}


def test_family_keeps_a_session_whose_leader_is_gone():
    sessions: set[int] = set()
    find_family(FAMILY, 10, sessions)

    orphaned = {1: Kin(0, 1), 10: Kin(1, 10), 12: Kin(1, 11), 20: Kin(1, 20)}

    assert find_family(orphaned, 10, sessions) == {10, 12}


def test_family_of_nobody_is_empty():
    assert find_family(FAMILY, 99, set()) == set()
