"""How does a measured figure stand beside its budget and its reference? The rows, as a table and as JSON.

How anything is measured stands in `measurements`.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

HEADINGS = ("what", "measured (median, min .. max)", "budget", "reference", "within?")
SCHEMA = 1


class NotMeasured(Exception):
    """A row could not be measured on this machine, or what was to be measured did not work; the text says why."""


class Budget(NamedTuple):
    """The bound that the median has to keep, in the unit of its row."""

    bound: float
    is_floor: bool = False
    """The figure has to be at least, not at most, the bound."""

    def holds(self, value: float) -> bool:
        """Say whether a value keeps the bound."""
        return value >= self.bound if self.is_floor else value <= self.bound


class Row(NamedTuple):
    """One figure, of as many samples as were taken."""

    what: str
    unit: str
    samples: Sequence[float]
    budget: Budget | None = None
    reference: str = ""
    """What stands beside it, measured in the same run or marked as quoted."""

    @property
    def is_within(self) -> bool | None:
        """Whether the median keeps the budget; None without one."""
        return None if self.budget is None else self.budget.holds(median(self.samples))


class Failure(NamedTuple):
    """A measurement without rows, and why."""

    what: str
    why: str


def format_row(row: Row) -> tuple[str, str, str, str, str]:
    """Word one row's cells in the order of `HEADINGS`."""
    measured = f"{_format(median(row.samples))} {row.unit}"
    if len(row.samples) > 1:
        measured += f" ({_format(min(row.samples))} .. {_format(max(row.samples))}, n={len(row.samples)})"
    within = {True: "yes", False: "NO", None: ""}[row.is_within]
    budget = "" if row.budget is None else f"{'≥' if row.budget.is_floor else '≤'} {row.budget.bound:g} {row.unit}"
    return row.what, measured, budget, row.reference, within


def format_table(rows: Iterable[Row], failures: Iterable[Failure] = ()) -> str:
    """Lay rows out in columns; what was not measured follows below, with the reason."""
    lines: list[tuple[str, ...]] = [HEADINGS, *(format_row(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("-" * width for width in widths))
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*table, *(f"not measured: {failure.what}: {failure.why}" for failure in failures)]) + "\n"


def describe_rows(rows: Iterable[Row], failures: Iterable[Failure], machine: dict[str, str]) -> dict[str, Any]:
    """Describe everything as JSON: every sample is kept."""
    return {
        "schema": SCHEMA,
        "machine": machine,
        "rows": [_describe(row) for row in rows],
        "notMeasured": [failure._asdict() for failure in failures],
    }


def _describe(row: Row) -> dict[str, Any]:
    members: dict[str, Any] = {
        "what": row.what,
        "unit": row.unit,
        "median": median(row.samples),
        "samples": list(row.samples),
    }
    if row.budget is not None:
        members["budget"] = {"atLeast" if row.budget.is_floor else "atMost": row.budget.bound}
        members["within"] = row.is_within
    if row.reference:
        members["reference"] = row.reference
    return members


def _format(value: float) -> str:
    """Write three digits, no exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
