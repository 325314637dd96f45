"""What does an agent hold while it waits, its watch over TLS open? Beside the official client with the same watch."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.measurements.run_times import take_run
from bench.processes import Memory, read_memory
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from infra.layout import REPOSITORY
from infra.local.demo_objects import HEALTHY_NODE, SICK_NODE
from infra.local.pipeline import Pipeline, agent_name

MIB = 1024 * 1024
READINGS = 5
PAUSE_S = 0.2
SETTLE_S = 1.0
RUNS_BEFORE = 3
GO_AGENT = "quoted: Go agent 5.1-5.4 MiB"


def measure(stage: Stage) -> Iterator[Row]:
    """Read an agent that never ran a script, the official client, and an agent after some runs."""
    pipeline = stage.pipeline
    fresh = read_often(pipeline.supervisor.part(agent_name(HEALTHY_NODE)).pid)
    with _official_client(pipeline) as client:
        official = read_often(client.pid)
    reference = official[-1]
    yield Row(
        "agent idle, TLS watch open: anonymous memory",
        "MiB",
        [one.anonymous_bytes / MIB for one in fresh],
        Budget(12),
        f"official client {reference.anonymous_bytes / MIB:.1f} MiB; {GO_AGENT}",
    )
    yield Row(
        "agent idle, TLS watch open: RSS",
        "MiB",
        [one.rss_bytes / MIB for one in fresh],
        Budget(26),
        f"official client {reference.rss_bytes / MIB:.1f} MiB",
    )
    for _ in range(RUNS_BEFORE):
        take_run(stage)
    used = read_often(pipeline.supervisor.part(agent_name(SICK_NODE)).pid)
    yield Row(
        f"agent idle after {RUNS_BEFORE} runs or more: anonymous memory",
        "MiB",
        [one.anonymous_bytes / MIB for one in used],
        Budget(12),
    )


def read_often(pid: int) -> list[Memory]:
    """Read a process's memory some times once it has settled."""
    time.sleep(SETTLE_S)
    readings = []
    for _ in range(READINGS):
        readings.append(read_memory(pid))
        time.sleep(PAUSE_S)
    return readings


@contextmanager
def _official_client(pipeline: Pipeline) -> Iterator[subprocess.Popen[str]]:
    """Watch the same Node by the official client, in a process of its own."""
    command = [sys.executable, "-m", "bench.references.kubernetes_watch", str(pipeline.kubeconfig), HEALTHY_NODE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as client:
        try:
            if client.stdout is None or client.stdout.readline() != "watching\n":
                raise NotMeasured("the official client does not watch")
            yield client
        finally:
            client.kill()
