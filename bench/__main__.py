"""Measure the budgets on this machine.

  python -m bench                          every measurement, then a table
  python -m bench --only NAME [-o FILE]    some of them; the samples as JSON

A missed budget is shown and fails nothing. Exit code 0: every row was measured; 1: one was not; 2: wrong use;
130 and 143: ended by a signal.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

from bench.catalogue import MEASUREMENTS, Measurement
from bench.rows import Failure, NotMeasured, Row, describe_rows, format_row, format_table
from bench.stage import Stage
from infra.local.cluster_access import ClusterError
from infra.local.guard import run_guarded
from infra.local.part import PartFailed


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and measure under the guard, so that no process is left behind."""
    options = _parse(arguments)
    chosen = [one for one in MEASUREMENTS if not options.only or one.name in options.only]
    return run_guarded(lambda: _run(chosen, options.output), with_parent=False)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    listed = "\n".join(f"  {one.name:12} {one.question}" for one in MEASUREMENTS)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"{__doc__}\nMeasurements:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[one.name for one in MEASUREMENTS],
        metavar="NAME",
        help="measure this alone; may be repeated",
    )
    parser.add_argument("-o", "--output", nargs=2, metavar=("json", "FILE"), help="write every sample to FILE as JSON")
    options = parser.parse_args(arguments)
    if options.output and options.output[0] != "json":
        parser.error(f"-o {options.output[0]}: json is the only format")
    return options


def _run(chosen: Sequence[Measurement], output: Sequence[str] | None) -> int:
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    with Stage(_say) as stage:
        rows, failures = measure_all(chosen, stage)
    machine = describe_machine()
    print(f"\n{', '.join(f'{name} {value}' for name, value in machine.items())}\n")
    print(format_table(rows, failures), end="")
    if output:
        Path(output[1]).write_text(json.dumps(describe_rows(rows, failures, machine), indent=2) + "\n")
    return 1 if failures else 0


def measure_all(chosen: Iterable[Measurement], stage: Stage) -> tuple[list[Row], list[Failure]]:
    """Make the measurements one after the other; one that fails does not stop the next."""
    rows: list[Row] = []
    failures: list[Failure] = []
    for measurement in chosen:
        stage.say(f"{measurement.name}: {measurement.question}")
        try:
            for row in measurement.measure(stage):
                rows.append(row)
                stage.say("  " + "  ".join(cell for cell in format_row(row) if cell))
        except (NotMeasured, PartFailed, ClusterError, OSError, subprocess.SubprocessError) as error:
            failures.append(Failure(measurement.name, f"{type(error).__name__}: {error}"))
            stage.say(f"  not measured: {error}")
    return rows, failures


def _stop(number: int, _frame: FrameType | None) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(128 + number)


def describe_machine() -> dict[str, str]:
    """Describe what the figures depend on."""
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": str(len(os.sched_getaffinity(0))),
    }


_BEGAN_S = time.monotonic()


def _say(text: str) -> None:
    print(f"{time.monotonic() - _BEGAN_S:6.1f} s  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
