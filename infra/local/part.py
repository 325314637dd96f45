"""One supervised process of the local pipeline: started, seen to be ready, stopped.

What the parts are stands elsewhere.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

HOST = "127.0.0.1"
"""Where parts listen."""

READY_LINE = re.compile(r"^ready (\S+)$", re.MULTILINE)
"""What a server of ours prints once it listens; the group is its address."""

LAUNCHER = Path(__file__).with_name("launch.py")

READY_S_MAX = 30.0
"""Seconds that a part has to become ready; the slowest, Google's emulator, needs two on two cores."""

STOP_S_MAX = 22.0
"""Seconds between SIGTERM and SIGKILL; an agent may take 20 to end its script."""

LOOK_S = 0.01
"""How often a starting or ending part is looked at."""

LOG_TAIL_BYTES = 2000
"""How much of a part's log is shown when it fails."""


class PartFailed(Exception):
    """A part did not start, or ended by itself; the text says which, how and what it last wrote."""


class Definition(NamedTuple):
    """What a part is: its command, what it adds to the environment, and how it is seen to be ready.

    `ready` is looked for in the log; its first group, if it has one, is the part's address. `probe` is asked as well.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = {}
    ready: re.Pattern[str] | None = None
    probe: Callable[[], bool] | None = None
    folder: Path | None = None
    orphan_signal: signal.Signals = signal.SIGTERM
    """What it gets when its supervisor dies without stopping it."""


class Part:
    """A running part. Its output goes to one log file, which a restart appends to."""

    def __init__(self, definition: Definition, log: Path) -> None:
        self.definition = definition
        self.log = log
        self.address = ""
        self._read_from = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            # Its own session: Ctrl-C reaches the supervisor alone, which stops the parts in order.
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(LAUNCHER), "--parent", str(os.getpid())),
                    *("--signal", str(int(definition.orphan_signal)), "--", *definition.command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **definition.environment},
                cwd=definition.folder,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, the same before and after the launcher became the command."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Say whether it runs."""
        return self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait until the part says so and its probe agrees; `PartFailed` when it ends before or takes too long."""
        until = time.monotonic() + READY_S_MAX
        while not self._is_ready():
            if not self.is_alive():
                raise PartFailed(self.describe_end())
            if time.monotonic() > until:
                raise PartFailed(f"{self.definition.name} was not ready in {READY_S_MAX:.0f} s{self._tail()}")
            time.sleep(LOOK_S)

    def _is_ready(self) -> bool:
        ready, probe = self.definition.ready, self.definition.probe
        if ready is not None:
            match = ready.search(self._read_log())
            if match is None:
                return False
            self.address = match[1] if ready.groups else ""
        return probe is None or probe()

    def begin_stop(self) -> None:
        """Ask it to end, without waiting."""
        if self.is_alive():
            self._process.terminate()

    def stop(self) -> int:
        """Ask it to end, kill it when it does not follow in time, and return its exit code."""
        self.begin_stop()
        try:
            return self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            return self.kill()

    def wait(self) -> int:
        """Wait until it has ended, at most `STOP_S_MAX`, and return its exit code."""
        return self._process.wait(STOP_S_MAX)

    def kill(self) -> int:
        """End it by SIGKILL, without a chance to clean up, and return its exit code."""
        if self.is_alive():
            self._process.kill()
        return self._process.wait()

    def describe_end(self) -> str:
        """Say how a part ended, with the end of its log."""
        code = self._process.returncode
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return f"{self.definition.name} ended by itself ({how}){self._tail()}"

    def _read_log(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._read_from)
            return log.read().decode(errors="replace")

    def _tail(self) -> str:
        tail = self._read_log()[-LOG_TAIL_BYTES:].strip()
        return f"; its log, {self.log}, ends:\n{tail}" if tail else f"; its log, {self.log}, is empty"


def take_free_port() -> int:
    """Return a port of `HOST` that was free a moment ago."""
    return take_free_ports(1)[0]


def take_free_ports(count: int) -> list[int]:
    """Return ports of `HOST`, each another, that were free a moment ago."""
    with ExitStack() as listeners:
        taken = [listeners.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in taken]
