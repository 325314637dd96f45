"""What tests do to a node: kill its agent and its script, fill its disk."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.agent.agent_world import AgentWorld, wait_until


def kill(world: AgentWorld) -> None:
    process = world.processes[-1]
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)


def kill_with_script(world: AgentWorld, run_count: int) -> None:
    wait_until(lambda: world.run_count == run_count, "a script at work")
    wait_until(lambda: world.record["phase"] == "running" and "scriptSessionId" in world.record, "its session")
    kill(world)
    os.killpg(world.script_pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False


def fill(disk: Path) -> None:
    """Take all the room that a disk still has."""
    with (disk / "filler").open("ab", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))
