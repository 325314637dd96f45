"""What does judging a report cost, beside `gzip -t` on the same file? In this process, with the standard zlib."""

import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.reports import ReportFile
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from gpureport.contract.claims import COMPLETE
from gpureport.ports import READ_CHUNK_BYTES
from gpureport.report.judge import Judge

CASES = ((10.0, 1.3, 25), (60.0, 1.5, 15))
"""Millions of bytes of text, how many times the speed of `gzip -t` is asked for, rounds."""
GZIP_S_MAX = 60.0


def measure(stage: Stage) -> Iterator[Row]:
    """Compare CPU times in interleaved rounds; one row per size."""
    for raw_mb, budget, rounds in CASES:
        report = stage.report(raw_mb)
        pairs = [(measure_gzip_cpu_s(report.path), measure_judge_cpu_s(report)) for _ in range(rounds)]
        speeds = [raw_mb / median(cpu_s) for cpu_s in zip(*pairs, strict=True)]
        yield Row(
            f"validation in process, {raw_mb:g} MB of text: CPU speed beside gzip -t",
            "x",
            [gzip_cpu_s / judge_cpu_s for gzip_cpu_s, judge_cpu_s in pairs],
            Budget(budget, is_floor=True),
            f"gzip -t {speeds[0]:.0f} MB/s, ours {speeds[1]:.0f} MB/s",
        )


def measure_judge_cpu_s(report: ReportFile) -> float:
    """Judge a report as the pipeline does and return the CPU seconds; `NotMeasured` unless it is found whole."""
    began_s = time.process_time()
    judge = Judge()
    with report.path.open("rb", buffering=0) as file:
        while chunk := file.read(READ_CHUNK_BYTES):
            judge.feed(chunk)
    judgement = judge.finish()
    cpu_s = time.process_time() - began_s
    if judgement.verdict.outcome != COMPLETE or judgement.raw_bytes != report.raw_bytes:
        raise NotMeasured(f"{report.path.name} was judged {judgement.verdict}")
    return cpu_s


def measure_gzip_cpu_s(path: Path) -> float:
    """Test a file by `gzip -t` and return the CPU seconds of that process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["gzip", "-t", str(path)], check=True, timeout=GZIP_S_MAX)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
