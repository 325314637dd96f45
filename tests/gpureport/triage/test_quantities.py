"""Quantities count by their value, and nothing that a file may hold breaks the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.triage.quantities import AMOUNT_MAX, parse_count, parse_thousandths


@pytest.mark.parametrize(
    ("quantity", "want"),
    [
        ("4", 4), ("0", 0), (4, 4), (2.0, 2), ("1k", 1000), ("1Ki", 1024), ("2e0", 2), ("2E0", 2), ("1.5k", 1500),
        ("3000m", 3), ("2500m", 3), ("1m", 1), (".5k", 500), ("5.", 5), ("+2", 2), ("20e-1", 2), ("1E", 10**18),
        ("-1", 0), ("", 0), (".", 0), ("abc", 0), ("1 ", 0), ("1kk", 0), ("0x4", 0), ("1e", 0), ("٤", 0), ("1_0", 0),
        ("1e999999999999", AMOUNT_MAX), ("1e-999999999999", 1), ("0e999999999999", 0), ("9" * 64, AMOUNT_MAX),
        ("9" * 65, 0), ("1Ei", 2**60), ("16Ei", AMOUNT_MAX),
    ],
)  # fmt: skip
def test_count_of_quantity_is_its_value(quantity: str | float, want: int) -> None:
    assert parse_count(quantity) == want


@pytest.mark.parametrize(
    ("quantity", "want"),
    [("100m", 100), ("2", 2000), (0.5, 500), ("1n", 1), ("64Gi", 64 * 2**30 * 1000), ("207710m", 207710)],
)
def test_thousandths_of_quantity_are_rounded_up(quantity: str | float, want: int) -> None:
    assert parse_thousandths(quantity) == want


@given(st.integers(0, 10**15))
def test_count_of_a_plain_number_is_that_number_however_it_is_written(number: int) -> None:
    spellings = [str(number), f"{number}e0", f"{number}000m", f"{number}.0"]
    assert {parse_count(text) for text in spellings} == {number}


@given(st.text(max_size=80))
def test_count_of_any_text_is_in_range(text: str) -> None:
    assert 0 <= parse_count(text) <= AMOUNT_MAX
