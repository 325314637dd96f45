"""How much does the pipeline add to the script? From the label to the script, from the script's end to `completed`."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.node_watch import NodeWatch, Seen
from bench.rows import Budget, NotMeasured, Row
from bench.stage import Stage
from gpureport.contract.claims import find_claim
from gpureport.contract.keys import build_keys
from gpureport.contract.outputs import find_output
from gpureport.contract.statuses import find_status
from infra.local.demo_objects import SICK_NODE
from infra.local.pipeline import Pipeline
from infra.local.story import read_annotations, request_report

PLAIN_ROUNDS = 7
LARGE_ROUNDS = 5
LARGE_TEXT_KIB = 35_400
"""Makes the stand-in's report 10 MB packed: the size that an operator sees, and more work than 10 MB of text."""
KEYS = build_keys()


class RunTimes(NamedTuple):
    """The instants of one run, in seconds of the system's clock, and the size of its report."""

    labelled_s: float
    started_s: float
    ended_s: float
    evidence_s: float
    completed_s: float
    size_bytes: int

    @property
    def added_s(self) -> float:
        """Label to `completed`, without the time of the script."""
        return self.completed_s - self.labelled_s - (self.ended_s - self.started_s)


def measure(stage: Stage) -> Iterator[Row]:
    """Run plain reports, then large ones."""
    warm_up = take_run(stage)
    plain = [take_run(stage) for _ in range(PLAIN_ROUNDS)]
    stage.script.configure(LARGE_TEXT_KIB)
    try:
        large = [take_run(stage) for _ in range(LARGE_ROUNDS)]
    finally:
        stage.script.configure(0)
    every = plain + large
    yield Row("label → script started", "ms", [1000 * (run.started_s - run.labelled_s) for run in every], Budget(50))
    for runs in (plain, large):
        size = f"{runs[0].size_bytes / 1e6:.1f} MB report"
        is_large = runs is large
        yield Row(
            f"script ended → evidence on the Node, {size}",
            "s",
            [run.evidence_s - run.ended_s for run in runs],
            Budget(0.5) if is_large else None,
            "quoted: Go agent adds 0.7-1.5 s in all" if is_large else "",
        )
        yield Row(f"script ended → completed, {size}", "s", [run.completed_s - run.ended_s for run in runs])
        yield Row(
            f"label → completed without the script's time, {size}",
            "s",
            [run.added_s for run in runs],
            Budget(1.5),
            "" if is_large else f"first run, functions cold: {warm_up.added_s:.2f} s",
        )


def take_run(stage: Stage) -> RunTimes:
    """Request a report and note when what happened; `NotMeasured` unless it ends `completed`."""
    pipeline = stage.pipeline
    before = read_annotations(pipeline, SICK_NODE).get(KEYS.run)
    with NodeWatch(pipeline.admin, SICK_NODE) as watch:
        watch.wait_for(lambda seen: seen.at_s > 0, "the Node")
        labelled_s = request(pipeline)
        evidence = watch.wait_for(lambda seen: has_evidence(seen, before), "evidence on the Node")
        completed = watch.wait_for(has_ended, "the end of the run")
    if completed.annotations[KEYS.status] != "completed":
        raise NotMeasured(f"the run ended {completed.annotations[KEYS.status]!r}")
    output = find_output(completed.annotations[KEYS.output])
    stamps = stage.script.read_stamps()
    size_bytes = 0 if output is None else output.file_size_bytes or 0
    return RunTimes(labelled_s, *stamps, evidence.at_s, completed.at_s, size_bytes)


def request(pipeline: Pipeline) -> float:
    """Put the label on the Node and return the instant before."""
    labelled_s = time.time()
    request_report(pipeline, SICK_NODE)
    return labelled_s


def has_evidence(seen: Seen, before: str | None) -> bool:
    """Say whether the Node carries the evidence of a run other than the one before."""
    claim, former = find_claim(seen.annotations.get(KEYS.run)), find_claim(before)
    return claim is not None and claim.report is not None and (former is None or claim.run_id != former.run_id)


def has_ended(seen: Seen) -> bool:
    """Say whether the run has a terminal status."""
    status = find_status(seen.annotations.get(KEYS.status))
    return status is not None and status.is_terminal
