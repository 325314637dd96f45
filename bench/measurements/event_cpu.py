"""What does archive_report's own work cost? Its CPU per event beside a loop of the same client calls with no logic.

The two take turns event by event: neither finds the machine's caches warmer than the other does.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.measurements.archiving import find_worker
from bench.processes import read_cpu_s
from bench.reports import ReportFile
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from bench.staged_runs import NODE, FunctionLog, StagedRuns, send_event
from functions.archiving import examine
from functions.judging import build_judge
from gpureport.contract.claims import COMPLETE
from gpureport.contract.names import archive_folder
from gpureport.ports import READ_CHUNK_BYTES
from infra.layout import REPOSITORY
from infra.local import topology
from infra.local.identities import ARCHIVE_REPORT
from infra.local.pipeline import CLUSTER, Pipeline

RAW_MB = 2.0
"""Text of an ordinary report: 0.6 MB packed."""
WARM_UP_EVENTS = 15
"""Until then the interpreter still specialises the code that it runs."""
EVENTS_A_ROUND = 20
ROUNDS = 5


def measure(stage: Stage) -> Iterator[Row]:
    """Let both archive the same report in turn; the servers they talk to are not counted."""
    pipeline = stage.pipeline
    report = stage.report(RAW_MB)
    runs = StagedRuns(pipeline, report)
    worker = find_worker(pipeline)
    url, log = pipeline.function_url(ARCHIVE_REPORT), FunctionLog(pipeline.supervisor.log_path(ARCHIVE_REPORT))
    ours_s, plain_s = [], []
    with _plain_calls(pipeline) as calls:
        for count in (WARM_UP_EVENTS, *[EVENTS_A_ROUND] * ROUNDS):
            began_s, called_s = read_cpu_s(worker), 0.0
            for _ in range(count):
                send_event(url, runs.prepare(), log)
                called_s += _call(calls, runs)
            ours_s.append((read_cpu_s(worker) - began_s) / count)
            plain_s.append(called_s / count)
    del ours_s[0], plain_s[0]
    judging_s = median(_measure_examining_s(report) for _ in range(EVENTS_A_ROUND))
    yield Row(
        "archive_report, CPU per event beside the same client calls with no logic",
        "x",
        [ours / plain for ours, plain in zip(ours_s, plain_s, strict=True)],
        Budget(1.5),
        f"calls alone {median(plain_s) * 1000:.1f} ms; ours {median(ours_s) * 1000:.1f} ms,"
        f" of which judging and hashing {RAW_MB:g} MB of text {judging_s * 1000:.1f} ms; HTTP server included",
    )


def _measure_examining_s(report: ReportFile) -> float:
    """Examine a report as archive_report does, without the download; the CPU seconds."""
    with report.path.open("rb", buffering=0) as file:
        chunks = list(iter(lambda: file.read(READ_CHUNK_BYTES), b""))
    began_s = time.thread_time()
    examined = examine(iter(chunks), build_judge())
    cpu_s = time.thread_time() - began_s
    if examined.judgement.verdict.outcome != COMPLETE or examined.sha256 != report.sha256:
        raise NotMeasured(f"{report.path.name} was judged {examined.judgement.verdict}")
    return cpu_s


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
