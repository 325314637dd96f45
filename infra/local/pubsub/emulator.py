"""`python -m infra.local.pubsub.emulator`: serve Google's Pub/Sub emulator until SIGTERM.

Finds java and the jar, starts them, tells when they really serve, and ends them. What the emulator does and does not
do is stated by tests/contract/pubsub.
"""

import argparse
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from infra.local import launch
from infra.local.pubsub.readiness import announce

HOST = "127.0.0.1"
HEAP_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Half a GiB holds 10,000 messages many times over; the rest is for a quick start."""
START_TIMEOUT_S = 30.0
"""A start takes 1 s on an idle machine."""
STOP_TIMEOUT_S = 5.0
"""SIGTERM takes 0.4 s; after this the JVM is killed."""
POLL_PERIOD_S = 0.05
STARTED_LINE = "Server started"
LOG_BYTES_MAX = 64 * 1024
"""How much of the log is read for the line above, which is among the first ten."""

DEFAULT_SDK_ROOT = Path("/usr/lib/google-cloud-sdk")
JAR_PATTERN = "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"


class EmulatorMissing(Exception):
    """This machine has no java, or no emulator; the message says what to install."""


class EmulatorFailed(Exception):
    """The emulator was started and does not serve; the message says why."""


def find_command(environment: Mapping[str, str], default_root: Path = DEFAULT_SDK_ROOT) -> list[str]:
    """Return the start of the emulator's command line, the newest jar that is installed in it.

    Raises `EmulatorMissing`.
    """
    search_path = environment.get("PATH", os.defpath)
    java = shutil.which("java", path=search_path)
    if java is None:
        raise EmulatorMissing("no java on PATH: install a Java runtime, 11 or newer")
    roots = [default_root, *_list_sdk_roots(environment.get("CLOUDSDK_ROOT"), shutil.which("gcloud", path=search_path))]
    jars = [jar for root in roots for jar in sorted(root.glob(JAR_PATTERN), key=_read_version)]
    if not jars:
        folders = ", ".join(str(root) for root in roots)
        raise EmulatorMissing(f"no Pub/Sub emulator under {folders}: gcloud components install pubsub-emulator")
    return [java, *HEAP_OPTIONS, "-jar", str(jars[-1])]


def _list_sdk_roots(configured: str | None, gcloud: str | None) -> list[Path]:
    """List where else an SDK may be, the preferred one last."""
    roots = []
    if gcloud is not None:
        roots.append(Path(gcloud).resolve().parent.parent)
    if configured:
        roots.append(Path(configured))
    return roots


def _read_version(jar: Path) -> list[int]:
    return [int(part) for part in jar.name.split("-")[3].split(".") if part.isdigit()]


def take_free_port() -> int:
    """Return a port that was free a moment ago: the emulator itself does not tell which one it took."""
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def start(command: list[str], port: int, log: Path) -> subprocess.Popen[bytes]:
    """Start the emulator, its output in a file: it hangs on a pipe that nobody drains.

    To be called from the main thread: the JVM ends when that thread ends.
    """
    bound = [sys.executable, "-I", "-S", launch.__file__, "--parent", str(os.getpid()), "--"]
    with log.open("wb") as output:
        return subprocess.Popen(
            [*bound, *command, f"--host={HOST}", f"--port={port}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def is_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    """Tell whether this emulator serves.

    All three signs are needed: with its port taken the JVM stays alive, and somebody else answers on the port. Raises
    `EmulatorFailed` when it has ended.
    """
    status = process.poll()
    with log.open("rb") as output:
        text = output.read(LOG_BYTES_MAX).decode(errors="replace")
    if status is not None:
        raise EmulatorFailed(f"the emulator ended with status {status}: {text[-400:]}")
    return STARTED_LINE in text and _answers(port)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=1)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the emulator: SIGTERM, and SIGKILL after `STOP_TIMEOUT_S`."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_TIMEOUT_S)


def _serve(options: argparse.Namespace, stopping: threading.Event) -> int:
    port = options.port or take_free_port()
    process = start(find_command(os.environ), port, options.log_file)
    try:
        until = monotonic() + START_TIMEOUT_S
        while not is_ready(process, port, options.log_file):
            if monotonic() > until:
                raise EmulatorFailed(f"not ready in {START_TIMEOUT_S:.0f} s, port {port} may be taken")
            if stopping.wait(POLL_PERIOD_S):
                return 0
        announce(f"{HOST}:{port}", options.ready_file)
        while not stopping.wait(POLL_PERIOD_S):
            if process.poll() is not None:
                raise EmulatorFailed(f"the emulator ended with status {process.returncode}")
        return 0
    finally:
        stop(process)


def main(arguments: list[str] | None = None) -> int:
    """Serve on loopback; returns the exit status, 1 when there is no emulator or it fails."""
    parser = argparse.ArgumentParser(prog="python -m infra.local.pubsub.emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ready-file", type=Path, help="gets HOST:PORT once the emulator serves")
    parser.add_argument("--log-file", type=Path, required=True, help="gets the emulator's own output")
    options = parser.parse_args(arguments)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        return _serve(options, stopping)
    except (EmulatorMissing, EmulatorFailed) as error:
        print(error, file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
