"""Instants: one form both ways, and the Date header of an HTTP answer."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.instants import format_compact_instant, format_instant, parse_http_date, parse_instant
from tests.gpureport.contract.contract_values import instants

AT = datetime(2026, 11, 30, 9, 15, 6, tzinfo=UTC)


@given(instants)
def test_instant_is_read_as_it_was_written(at: datetime) -> None:
    assert parse_instant(format_instant(at)) == at


@given(instants)
def test_instants_order_is_that_of_their_texts(at: datetime) -> None:
    assert (format_instant(at) < format_instant(AT)) is (at < AT)


@given(instants)
def test_http_date_is_read_as_a_server_writes_it(at: datetime) -> None:
    assert parse_http_date(format_datetime(at, usegmt=True)) == at


def test_instant_of_another_zone_is_written_in_utc() -> None:
    at = datetime(2026, 11, 30, 1, 15, 6, 999_999, tzinfo=timezone(timedelta(hours=-8)))

    assert format_instant(at) == "2026-11-30T09:15:06Z"


def test_instant_of_an_early_year_has_four_digits() -> None:
    assert format_instant(datetime(7, 1, 2, 3, 4, 5, tzinfo=UTC)) == "0007-01-02T03:04:05Z"


def test_compact_instant_is_fit_for_a_file_name() -> None:
    assert format_compact_instant(AT) == "20261130T091506Z"


def test_instant_without_a_zone_is_not_written() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        format_instant(AT.replace(tzinfo=None))


NOT_INSTANTS = [
    "",
    "2026-11-30",
    "2026-11-30T09:15:06",
    "2026-11-30T09:15:06z",
    "2026-11-30t09:15:06Z",
    "2026-11-30 09:15:06Z",
    "2026-11-30T09:15:06.5Z",
    "2026-11-30T09:15:06+00:00",
    "2026-11-30T09:15:06Z\n",
    " 2026-11-30T09:15:06Z",
    "2026-11-31T09:15:06Z",
    "2026-13-01T09:15:06Z",
    "2026-00-01T09:15:06Z",
    "0000-01-01T09:15:06Z",
    "2026-11-30T24:00:00Z",
    "2026-11-30T09:60:06Z",
    "2026-11-30T09:15:60Z",
    "２０２６-11-30T09:15:06Z",  # noqa: RUF001 (digits of another script are the case)
    "20261130T091506Z",
    "2026-W49-1T09:15:06Z",
]


@pytest.mark.parametrize("text", NOT_INSTANTS)
def test_text_of_another_form_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a"):
        parse_instant(text)


@given(st.text())
def test_any_text_is_an_instant_or_refused(text: str) -> None:
    for parse in (parse_instant, parse_http_date):
        with pytest.raises(ValueError, match=r"^not a"):
            parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mon, 30 Nov 2026 09:15:06",
        "Mon, 30 Nov 2026 09:15:06 UTC",
        "Mon, 30 Nov 2026 09:15:06 +0100",
        "Monday, 30-Nov-26 09:15:06 GMT",
        "Mon Nov 30 09:15:06 2026",
        "Mon, 30 Nox 2026 09:15:06 GMT",
        "Mon, 31 Nov 2026 09:15:06 GMT",
        "Mon, 30 Nov 2026 25:15:06 GMT",
        "Sat, 01 Jan 0000 00:00:00 GMT",
    ],
)
def test_text_of_another_form_is_no_http_date(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a"):
        parse_http_date(text)
