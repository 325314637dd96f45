"""What is left when the local pipeline ends: real processes, ended in every way that people and machines end them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.local.guard import find_descendants

WAIT_S_MAX = 20.0

PROGRAM = """
import subprocess, sys, time
from infra.local.guard import run_guarded
from infra.local.part import Definition
from infra.local.supervisor import Supervisor
from pathlib import Path

def supervise():
    import signal
    def stop(number, frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    part = Definition("part", [sys.executable, "-c", {part!r}], ready=__import__("re").compile("up"))
    with Supervisor(Path({logs!r})) as supervisor:
        supervisor.start(part)
        print("started", flush=True)
        time.sleep(60)
    return 0

sys.exit(run_guarded(supervise, with_parent={with_parent}, stop_s_max=3))
"""

STUBBORN_PART = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "300"], start_new_session=True)
print("up", flush=True)
time.sleep(300)
"""

POLITE_PART = """
import signal, subprocess, sys, time
orphan = subprocess.Popen(["sleep", "300"], start_new_session=True)
print("up", flush=True)
time.sleep(300)
"""


def wait_until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT_S_MAX
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], set[int]]]]:
    """Start a guarded program and return it with every process below it."""
    started: list[tuple[subprocess.Popen[str], set[int]]] = []

    def start_program(part: str, *, shell: bool = False, with_parent: bool = False):
        program = PROGRAM.format(part=part, logs=str(tmp_path / "logs"), with_parent=with_parent)
        command = [sys.executable, "-c", program]
        if shell:
            # Two commands, so that the shell stays as the parent, as make does.
            command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        below = find_descendants(process.pid)
        started.append((process, below))
        return process, below

    yield start_program
    for process, below in started:
        for pid in {process.pid, *below}:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def test_guard_ends_everything_after_an_interrupt(start) -> None:
    guard, below = start(POLITE_PART)

    guard.send_signal(signal.SIGINT)

    assert guard.wait(WAIT_S_MAX) == 130
    assert len(below) == 3
    assert not [pid for pid in below if is_alive(pid)]


def test_guard_ends_everything_when_the_supervisor_is_killed(start) -> None:
    guard, below = start(POLITE_PART)
    supervisor = min(below)

    os.kill(supervisor, signal.SIGKILL)

    assert guard.wait(WAIT_S_MAX) == 128 + signal.SIGKILL
    assert not [pid for pid in below if is_alive(pid)]


def test_supervisor_stops_everything_when_the_guard_is_killed(start) -> None:
    guard, below = start(POLITE_PART)
    parts = below - {min(below)}
    orphan = max(parts)

    guard.kill()

    assert wait_until(lambda: not [pid for pid in below - {orphan} if is_alive(pid)])


def test_guard_ends_everything_when_make_is_killed(start) -> None:
    make, below = start(POLITE_PART, shell=True, with_parent=True)

    make.kill()

    assert wait_until(lambda: not [pid for pid in below if is_alive(pid)])


def test_guard_kills_what_ignores_the_end(start) -> None:
    guard, below = start(STUBBORN_PART)
    supervisor = min(below)
    os.kill(supervisor, signal.SIGKILL)

    assert guard.wait(WAIT_S_MAX) == 128 + signal.SIGKILL
    assert not [pid for pid in below if is_alive(pid)]
