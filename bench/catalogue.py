"""Which measurements are there, and what does each ask? The order is that of the run:
the first run of the pipeline, which finds the functions cold, belongs to `run-times`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.measurements import archiving, cold_start, event_cpu, idle_memory, run_memory, run_times, validation
from bench.rows import Row
from bench.stage import Stage


class Measurement(NamedTuple):
    """One measurement; `measure` yields its rows and raises `NotMeasured` or what the pipeline's parts raise."""

    name: str
    question: str
    measure: Callable[[Stage], Iterator[Row]]


MEASUREMENTS = (
    Measurement("validation", "what does judging a report cost beside gzip -t?", validation.measure),
    Measurement("run-times", "how much time does the pipeline add to the script?", run_times.measure),
    Measurement("idle-memory", "what does an agent hold while it waits?", idle_memory.measure),
    Measurement("run-memory", "what does a whole run hold on the node at its peak?", run_memory.measure),
    Measurement("cold-start", "how fast is a function there?", cold_start.measure),
    Measurement("event-cpu", "what does archive_report's own work cost?", event_cpu.measure),
    Measurement("archiving", "does archive_report stream?", archiving.measure),
)
