"""Does archive_report stream? 300 MB of text through the served function, with an address space too small to hold it.

The bound on the address space is what the process has after small reports, and 48 MiB: less than the compressed file
(80 MB), far less than its text. What is measured inside the bound is the resident peak and the CPU.
"""

import resource
from collections.abc import Iterator

from bench.measurements.validation import measure_gzip_cpu_s
from bench.processes import read_children, read_cpu_s, read_sizes, reset_peak
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from bench.staged_runs import FunctionLog, StagedRuns, send_event
from infra.local.identities import ARCHIVE_REPORT
from infra.local.pipeline import Pipeline

RAW_MB = 300.0
SMALL_RAW_MB = 2.0
WARM_UP_EVENTS = 3
ROUNDS = 3
ROOM_BYTES = 48 * 1024 * 1024
MIB = 1024 * 1024


def measure(stage: Stage) -> Iterator[Row]:
    """Archive a small report to warm up, set the bound, archive the large one some times."""
    pipeline = stage.pipeline
    worker = find_worker(pipeline)
    url, log = pipeline.function_url(ARCHIVE_REPORT), FunctionLog(pipeline.supervisor.log_path(ARCHIVE_REPORT))
    small = StagedRuns(pipeline, stage.report(SMALL_RAW_MB))
    for _ in range(WARM_UP_EVENTS):
        send_event(url, small.prepare(), log)
    report = stage.report(RAW_MB)
    large = StagedRuns(pipeline, report)
    unbound = resource.prlimit(worker, resource.RLIMIT_AS)
    idle_bytes = read_sizes(worker)["VmRSS"]
    bound_bytes = read_sizes(worker)["VmSize"] + ROOM_BYTES
    resource.prlimit(worker, resource.RLIMIT_AS, (bound_bytes, unbound[1]))
    peaks, cpu_s, gzip_cpu_s = [], [], []
    try:
        for _ in range(ROUNDS):
            run = large.prepare()
            reset_peak(worker)
            began_s = read_cpu_s(worker)
            send_event(url, run, log)
            cpu_s.append(read_cpu_s(worker) - began_s)
            peaks.append(read_sizes(worker)["VmHWM"])
            gzip_cpu_s.append(measure_gzip_cpu_s(report.path))
    finally:
        resource.prlimit(worker, resource.RLIMIT_AS, unbound)
    what = f"archive_report, {RAW_MB:g} MB of text ({report.size_bytes / 1e6:.0f} MB packed)"
    yield Row(
        f"{what}: resident peak above idle",
        "MiB",
        [(peak - idle_bytes) / MIB for peak in peaks],
        Budget(ROOM_BYTES / MIB),
        f"done under RLIMIT_AS = idle {(bound_bytes - ROOM_BYTES) / MIB:.0f} MiB + {ROOM_BYTES // MIB} MiB",
    )
    yield Row(f"{what}: resident peak", "MiB", [peak / MIB for peak in peaks], None, f"idle {idle_bytes / MIB:.0f} MiB")
    yield Row(
        f"{what}: CPU speed, download, hashes and copy included",
        "MB/s",
        [RAW_MB / used_s for used_s in cpu_s],
        None,
        f"gzip -t {RAW_MB / (sum(gzip_cpu_s) / ROUNDS):.0f} MB/s; ours {sum(cpu_s) / ROUNDS:.2f} s an event",
    )


def find_worker(pipeline: Pipeline) -> int:
    """Find the process that serves archive_report: the one child of functions-framework's server."""
    children = read_children(pipeline.supervisor.part(ARCHIVE_REPORT).pid)
    if len(children) != 1:
        raise NotMeasured(f"archive_report has {len(children)} worker processes, not one")
    return children[0]
