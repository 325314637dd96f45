"""How a JSON object of the contract is read: bounded, typed, every problem reported at once.

What a particular object holds stands in its own module.
"""

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from gpureport.contract.instants import parse_instant

SHOWN_TEXT_MAX = 60
"""Characters of foreign text repeated in a message: enough to recognise it, too few to flood a log."""

DURATION_S_MAX = 10_000_000
"""Seconds; a third of a year. A longer duration is a fault of the writer, and would break the size laws."""

SIZE_BYTES_MAX = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8259 section 6)."""


class ContractError(ValueError):
    """A text that is not what the contract says; `problems` names every fault, each as `field: what is wrong`."""

    def __init__(self, what: str, problems: Collection[str]) -> None:
        self.what = what
        self.problems = tuple(problems)
        super().__init__(f"{what}: {'; '.join(self.problems)}")


def shorten(value: object) -> str:
    """Show foreign text on one line, printable and cut to `SHOWN_TEXT_MAX` characters."""
    text = repr(value)
    return text if len(text) <= SHOWN_TEXT_MAX else text[: SHOWN_TEXT_MAX - 1] + "…"


def load_object(what: str, text: str | bytes, size_bytes_max: int) -> dict[str, Any]:
    """Decode one JSON object of at most `size_bytes_max` bytes; `ContractError` for anything else."""
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > size_bytes_max:
        raise ContractError(what, [f"{size} bytes, at most {size_bytes_max} are read"])
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ContractError(what, [f"not JSON: {shorten(str(error))}"]) from None
    if not isinstance(value, dict):
        raise ContractError(what, [f"a JSON {type(value).__name__}, not an object"])
    return value


def dump_object(value: Mapping[str, Any]) -> str:
    """Encode compactly, absent (None) members left out; non-ASCII text stays as it is, so that sizes are plain."""
    present = {name: member for name, member in value.items() if member is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":"))


class FieldReader:
    """Takes the known members out of one JSON object and remembers every fault; `finish` raises them together."""

    def __init__(self, what: str, value: Mapping[str, Any]) -> None:
        self.what = what
        self._left = dict(value)
        self._problems: list[str] = []

    def _take(self, name: str, required: bool) -> Any:
        value = self._left.pop(name, None)
        if value is None and required:
            self._problems.append(f"{name}: missing")
        return value

    def reject(self, name: str, why: str) -> None:
        """Remember a fault that the caller saw."""
        self._problems.append(f"{name}: {why}")

    def text(self, name: str, pattern: re.Pattern[str], *, required: bool = True) -> str | None:
        """Take a string that matches `pattern` as a whole."""
        value = self._take(name, required)
        if value is None:
            return None
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        self.reject(name, f"{shorten(value)} is not of the form {pattern.pattern}")
        return None

    def word(self, name: str, words: Collection[str], *, required: bool = True) -> str | None:
        """Take one of a closed set of words."""
        value = self._take(name, required)
        if value is None:
            return None
        if isinstance(value, str) and value in words:
            return value
        self.reject(name, f"{shorten(value)} is none of {', '.join(sorted(words))}")
        return None

    def integer(self, name: str, *, required: bool = True) -> int | None:
        """Take a whole number from 0 to `SIZE_BYTES_MAX`."""
        value = self._take(name, required)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SIZE_BYTES_MAX:
            return value
        self.reject(name, f"{shorten(value)} is not a whole number from 0 to {SIZE_BYTES_MAX}")
        return None

    def seconds(self, name: str, *, required: bool = True) -> float | None:
        """Take a duration in seconds, from 0 to `DURATION_S_MAX`."""
        value = self._take(name, required)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= DURATION_S_MAX:
            return float(value)
        self.reject(name, f"{shorten(value)} is not a number of seconds from 0 to {DURATION_S_MAX}")
        return None

    def flag(self, name: str, *, required: bool = True) -> bool | None:
        """Take true or false."""
        value = self._take(name, required)
        if value is None or isinstance(value, bool):
            return value
        self.reject(name, f"{shorten(value)} is neither true nor false")
        return None

    def instant(self, name: str, *, required: bool = True) -> datetime | None:
        """Take an instant, UTC with `Z`."""
        value = self._take(name, required)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except (TypeError, ValueError):
            self.reject(name, f"{shorten(value)} is not an instant like 2026-11-30T09:15:00Z")
            return None

    def nested(self, name: str, *, required: bool = True) -> dict[str, Any] | None:
        """Take a JSON object, to be read by a reader of its own."""
        value = self._take(name, required)
        if value is None or isinstance(value, dict):
            return value
        self.reject(name, f"{shorten(value)} is not an object")
        return None

    def finish(self) -> dict[str, Any]:
        """Return the members that nobody asked for; `ContractError` when anything was wrong."""
        if self._problems:
            raise ContractError(self.what, self._problems)
        return self._left


def format_seconds(duration_s: float) -> float | int:
    """Round a duration to milliseconds; a whole number of seconds is written without a fraction."""
    rounded = round(duration_s, 3)
    return int(rounded) if rounded == int(rounded) else rounded
