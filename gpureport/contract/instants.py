"""Instants as the contract writes them: aware UTC, whole seconds, `Z`. No clock is read here.

Decisions use the apiserver's clock, taken from the Date header of its answers (RFC 9110 section 6.6.1).
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


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
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError("not a date and time that exist") from None


def format_compact_instant(at: datetime) -> str:
    """Write an instant for a file name: `20261130T091506Z`."""
    return format_instant(at).replace("-", "").replace(":", "")


def parse_http_date(text: str) -> datetime:
    """Read the Date header of an HTTP answer; `ValueError` when it is not one."""
    at = parsedate_to_datetime(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
