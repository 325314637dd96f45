"""What does a whole run hold at its peak: agent, script and finish child together, all their processes."""

from collections.abc import Iterator

from bench.measurements.run_times import LARGE_TEXT_KIB, take_run
from bench.processes import PeakSampler, build_family_reader
from bench.rows import Budget, Row
from bench.stage import Stage
from infra.local.demo_objects import SICK_NODE
from infra.local.pipeline import agent_name

MIB = 1024 * 1024
ROUNDS = 3


def measure(stage: Stage) -> Iterator[Row]:
    """Sample the summed anonymous memory of the agent's family during runs with a large report."""
    agent = stage.pipeline.supervisor.part(agent_name(SICK_NODE)).pid
    stage.script.configure(LARGE_TEXT_KIB)
    peaks, looks, size_bytes = [], 0, 0
    try:
        for _ in range(ROUNDS):
            with PeakSampler(build_family_reader(agent)) as sampler:
                size_bytes = take_run(stage).size_bytes
            peaks.append(sampler.peak / MIB)
            looks += sampler.samples
    finally:
        stage.script.configure(0)
    yield Row(
        f"agent + script + finish, {size_bytes / 1e6:.1f} MB report: peak of summed anonymous memory",
        "MiB",
        peaks,
        Budget(120),
        f"quoted: Go agent 128 MiB limit, without an upload; {looks} looks",
    )
