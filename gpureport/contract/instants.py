"""Instants as the contract writes them: aware UTC, whole seconds, `Z`. No clock is read here.

Decisions use the apiserver's clock, taken from the Date header of its answers (RFC 9110 section 6.6.1).
"""

import re
from datetime import UTC, datetime

_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}Z")
_HTTP_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), "
    r"(?P<day>[0-9]{2}) (?P<month>[A-Z][a-z]{2}) (?P<year>[0-9]{4}) (?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}) GMT"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def format_instant(at: datetime) -> str:
    """Write an aware instant as `2026-11-30T09:15:00Z`; fractions of a second are cut. `ValueError` for a naive one."""
    if at.tzinfo is None:
        raise ValueError("an instant without a time zone")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def parse_instant(text: str) -> datetime:
    """Read what `format_instant` writes; `ValueError` for any other form."""
    if not _INSTANT.fullmatch(text):
        raise ValueError("not an instant like 2026-11-30T09:15:00Z")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("not a date and time that exist") from None


def format_compact_instant(at: datetime) -> str:
    """Write an instant for a file name: `20261130T091506Z`."""
    return format_instant(at).replace("-", "").replace(":", "")


def parse_http_date(text: str) -> datetime:
    """Read the Date header of an HTTP answer; `ValueError` when it is not one.

    Only the form that a server must send is read (IMF-fixdate, RFC 9110 section 5.6.7); a leap second is no instant.
    """
    match = _HTTP_DATE.fullmatch(text)
    if not match or match["month"] not in _MONTHS:
        raise ValueError("not a date like Mon, 30 Nov 2026 09:15:00 GMT")
    month = _MONTHS.index(match["month"]) + 1
    return parse_instant(f"{match['year']}-{month:02}-{match['day']}T{match['time']}Z")
