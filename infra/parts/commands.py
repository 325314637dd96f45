"""How a part's commands are run: bounded, their output in a log, a sign of life while they work."""

import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG_TAIL_BYTES = 1500
SIGN_OF_LIFE_S = 15.0
LOOK_S = 0.2


class CannotBring(Exception):
    """A part cannot be had; the text says why, and what to do."""


def require_program(name: str, remedy: str) -> str:
    """Return the path of a program; `CannotBring` with the remedy when it is not on PATH."""
    path = shutil.which(name)
    if path is None:
        raise CannotBring(f"no {name} on this machine: {remedy}")
    return path


def run_command(
    command: Sequence[str], folder: Path, log: Path, *, timeout_s: float, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command to its end, its output added to `log`; `CannotBring` with the end of it when it fails."""
    began = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        start = output.tell()
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            try:
                _wait(process, began, timeout_s)
            except BaseException:
                process.kill()
                raise
    if process.returncode != 0:
        with log.open("rb") as written:
            written.seek(start)
            tail = written.read()[-LOG_TAIL_BYTES:].decode(errors="replace").strip()
        raise CannotBring(f"{' '.join(command[:3])} … ended with {process.returncode}; {log} ends:\n{tail}")


def _wait(process: "subprocess.Popen[bytes]", began: float, timeout_s: float) -> None:
    said_at = began
    while process.poll() is None:
        now = time.monotonic()
        if now - began > timeout_s:
            raise CannotBring(f"not done in {timeout_s:.0f} s; run it again, what is done by then is kept")
        if now - said_at >= SIGN_OF_LIFE_S:
            print(f"    … {now - began:.0f} s", flush=True)
            said_at = now
        time.sleep(LOOK_S)
