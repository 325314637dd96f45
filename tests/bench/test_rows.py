"""How figures stand beside budgets: within or not, as a table, as JSON."""

import json

import pytest

from bench.rows import Budget, Failure, Row, describe_rows, format_row, format_table

PLAIN = Row("idle", "MiB", [11.4])
WITHIN = Row("start", "ms", [18.0, 14.0, 49.0], Budget(50), "quoted: 20 ms")
MISSED = Row("speed", "x", [1.2], Budget(1.5, is_floor=True))


@pytest.mark.parametrize(
    ("budget", "value", "want"),
    [
        (Budget(50), 50.0, True),
        (Budget(50), 50.1, False),
        (Budget(1.5, is_floor=True), 1.5, True),
        (Budget(1.5, is_floor=True), 1.4, False),
    ],
)
def test_budget_holds_up_to_its_bound(budget, value, want):
    assert budget.holds(value) is want


def test_row_is_judged_by_its_median():
    assert Row("a", "s", [9.0, 1.0, 2.0], Budget(2)).is_within is True
    assert PLAIN.is_within is None


@pytest.mark.parametrize(
    ("row", "want"),
    [
        (PLAIN, ("idle", "11.4 MiB", "", "", "")),
        (WITHIN, ("start", "18.0 ms (14.0 .. 49.0, n=3)", "≤ 50 ms", "quoted: 20 ms", "yes")),
        (MISSED, ("speed", "1.20 x", "≥ 1.5 x", "", "NO")),
    ],
)
def test_row_shows_figure_budget_and_reference(row, want):
    assert format_row(row) == want


def test_table_has_a_line_for_each_row_and_names_what_is_missing():
    lines = format_table([PLAIN, WITHIN], [Failure("run-times", "no such script")]).splitlines()

    assert lines[0].split("  ")[0] == "what"
    assert [line.split("  ")[0].strip() for line in lines[2:4]] == ["idle", "start"]
    assert lines[4] == "not measured: run-times: no such script"
    assert lines[2].index("11.4") == lines[3].index("18.0")


def test_table_without_rows_still_names_what_is_missing():
    assert format_table([], [Failure("run-times", "why")]).endswith("not measured: run-times: why\n")


def test_description_keeps_every_sample():
    described = json.loads(json.dumps(describe_rows([WITHIN, MISSED, PLAIN], [Failure("a", "b")], {"cpus": "2"})))

    want = {
        "what": "start",
        "unit": "ms",
        "median": 18.0,
        "samples": [18.0, 14.0, 49.0],
        "budget": {"atMost": 50},
        "within": True,
        "reference": "quoted: 20 ms",
    }
    assert described["rows"][0] == want
    assert described["rows"][1]["budget"] == {"atLeast": 1.5}
    assert "budget" not in described["rows"][2]
    assert described["notMeasured"] == [{"what": "a", "why": "b"}]
    assert described["machine"] == {"cpus": "2"}
