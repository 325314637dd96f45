"""What does archive_report's own work cost? Its CPU per event beside a loop of the same client calls with no logic."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.measurements.archiving import find_worker
from bench.measurements.validation import measure_judge_cpu_s
from bench.processes import read_cpu_s
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from bench.staged_runs import NODE, FunctionLog, StagedRuns, send_event
from gpureport.contract.names import archive_folder
from infra.layout import REPOSITORY
from infra.local import topology
from infra.local.pipeline import ARCHIVE_REPORT, CLUSTER, Pipeline

RAW_MB = 2.0
"""Text of an ordinary report: 0.6 MB packed."""
WARM_UP_EVENTS = 3
EVENTS_A_ROUND = 12
ROUNDS = 5


def measure(stage: Stage) -> Iterator[Row]:
    """Let both archive the same report, in interleaved rounds; the servers they talk to are not counted."""
    pipeline = stage.pipeline
    report = stage.report(RAW_MB)
    runs = StagedRuns(pipeline, report)
    worker = find_worker(pipeline)
    url, log = pipeline.function_url(ARCHIVE_REPORT), FunctionLog(pipeline.supervisor.log_path(ARCHIVE_REPORT))
    ours_s, plain_s = [], []
    with _plain_calls(pipeline) as calls:
        for count in (WARM_UP_EVENTS, *[EVENTS_A_ROUND] * ROUNDS):
            began_s = read_cpu_s(worker)
            for _ in range(count):
                send_event(url, runs.prepare(), log)
            ours_s.append((read_cpu_s(worker) - began_s) / count)
            plain_s.append(sum(_call(calls, runs) for _ in range(count)) / count)
    del ours_s[0], plain_s[0]
    judging_s = median(measure_judge_cpu_s(report) for _ in range(ROUNDS))
    yield Row(
        "archive_report, CPU per event beside the same client calls with no logic",
        "x",
        [ours / plain for ours, plain in zip(ours_s, plain_s, strict=True)],
        Budget(1.5),
        f"calls alone {median(plain_s) * 1000:.1f} ms; ours {median(ours_s) * 1000:.1f} ms,"
        f" of which judging {RAW_MB:g} MB of text {judging_s * 1000:.1f} ms; HTTP server included",
    )


@contextmanager
def _plain_calls(pipeline: Pipeline) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "bench.references.client_calls", str(pipeline.kubeconfig), topology.PROJECT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as calls:
        try:
            yield calls
        finally:
            calls.kill()


def _call(calls: subprocess.Popen[str], runs: StagedRuns) -> float:
    """Have one staged object archived by calls alone; its CPU seconds."""
    run = runs.stage()
    order = {
        "node": NODE,
        "staging": topology.STAGING,
        "staged": run.staged,
        "archive": topology.ARCHIVE,
        "folder": archive_folder(CLUSTER, "client-calls", run.claim.started_at, run.claim.run_id),
        "topic": topology.topic_path("results"),
    }
    if calls.stdin is None or calls.stdout is None:
        raise NotMeasured("the calls have no pipes")
    calls.stdin.write(json.dumps(order) + "\n")
    calls.stdin.flush()
    answer = calls.stdout.readline()
    if not answer:
        raise NotMeasured("the calls ended")
    return float(answer)
