"""The status annotation: ours both ways, any other text inert."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.statuses import (
    COLLECT,
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    Status,
    failed,
    find_status,
    format_status,
    parse_status,
)
from tests.gpureport.contract.contract_values import reasons, statuses


@given(statuses)
def test_status_is_read_as_it_was_written(status: Any) -> None:
    assert parse_status(format_status(status)) == status


@pytest.mark.parametrize(
    ("text", "want", "is_terminal"),
    [
        ("collect", Status(COLLECT), False),
        ("in-progress", Status(IN_PROGRESS), False),
        ("completed", Status(COMPLETED), True),
        ("failed: timeout", Status(FAILED, "timeout"), True),
        ("failed:timeout", Status(FAILED, "timeout"), True),
        ("failed: gpu-on-fire", Status(FAILED, "gpu-on-fire"), True),
        ("failed: exit status 3: no space", Status(FAILED, "exit status 3: no space"), True),
        ("failed", Status(FAILED), True),
        ("failed:", Status(FAILED), True),
        ("failed:  ", Status(FAILED), True),
        ("", Status(""), False),
        (" collect", Status(" collect"), False),
        ("Collect", Status("Collect"), False),
        ("COMPLETED", Status("COMPLETED"), False),
        ("completed: yes", Status("completed: yes"), False),
        ("failed-over", Status("failed-over"), False),
        ("x" * 100_000, Status("x" * 100_000), False),
    ],
)
def test_status_of_any_text(text: str, want: Status, is_terminal: bool) -> None:
    status = parse_status(text)

    assert status == want
    assert status.is_terminal is is_terminal


@given(st.text())
def test_status_of_foreign_text_never_asks_for_anything(text: str) -> None:
    if text not in (COLLECT, IN_PROGRESS):
        assert parse_status(text).word not in (COLLECT, IN_PROGRESS)


@given(reasons)
def test_failed_status_is_written_with_its_reason(reason: str) -> None:
    assert format_status(failed(reason)) == f"failed: {reason}"


@pytest.mark.parametrize(
    "status",
    [
        Status(FAILED),
        Status(FAILED, "gpu-on-fire"),
        Status(FAILED, ""),
        Status(COMPLETED, "timeout"),
        Status(COLLECT, "timeout"),
        Status(IN_PROGRESS, "timeout"),
        Status("done"),
        Status(""),
    ],
)
def test_status_that_is_not_ours_is_not_written(status: Status) -> None:
    with pytest.raises(ValueError, match="not a status that we write"):
        format_status(status)


def test_failed_status_of_a_foreign_reason_is_not_built() -> None:
    with pytest.raises(ValueError, match="not a reason that we write"):
        failed("gpu-on-fire")


def test_absent_status_is_none() -> None:
    assert find_status(None) is None
    assert find_status("") == Status("")
