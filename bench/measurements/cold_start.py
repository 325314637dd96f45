"""How long does a function take from nothing to its first answer, and to its first event archived? By the clock."""

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from bench.staged_runs import FunctionLog, StagedRuns, send_event
from infra.local.identities import ARCHIVE_REPORT
from infra.local.part import HOST, Definition, take_free_port

ROUNDS = 5
SMALL_RAW_MB = 2.0
START_S_MAX = 20.0
STOP_S_MAX = 10.0
LOOK_S = 0.002


def measure(stage: Stage) -> Iterator[Row]:
    """Start the served bundle some times; both instants count from the start of the process."""
    runs = StagedRuns(stage.pipeline, stage.report(SMALL_RAW_MB))
    definition = stage.pipeline.supervisor.part(ARCHIVE_REPORT).definition
    ready_s, first_event_s = [], []
    for _ in range(ROUNDS):
        run = runs.prepare()
        port, log = take_free_port(), stage.work / "cold-start.log"
        began_s = time.monotonic()
        with _served(definition, port, log) as server:
            _wait_for_answer(server, port)
            ready_s.append(time.monotonic() - began_s)
            send_event(f"http://{HOST}:{port}/", run, FunctionLog(log))
            first_event_s.append(time.monotonic() - began_s)
    yield Row("function cold start: process started → first HTTP answer", "s", ready_s, Budget(0.5))
    yield Row(
        "function cold start: process started → first event archived",
        "s",
        first_event_s,
        Budget(1.5),
        f"a report of {SMALL_RAW_MB:g} MB of text; all servers on this machine",
    )


@contextmanager
def _served(definition: Definition, port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the function once more, on another port."""
    *command, _port = definition.command
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **definition.environment},
            cwd=definition.folder,
            start_new_session=True,
        )
    try:
        yield server
    finally:
        server.terminate()
        try:
            server.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_for_answer(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_S_MAX
    while time.monotonic() < until:
        if server.poll() is not None:
            raise NotMeasured(f"the server ended with exit code {server.returncode}")
        connection = http.client.HTTPConnection(HOST, port, timeout=START_S_MAX)
        try:
            connection.request("GET", "/")
            connection.getresponse()
        except ConnectionRefusedError:
            time.sleep(LOOK_S)
            continue
        else:
            return
        finally:
            connection.close()
    raise NotMeasured(f"no answer within {START_S_MAX:.0f} s")
