"""How a JSON object of the contract is read: bounded, typed, every problem reported at once.

What a particular object holds stands in its own module.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from gpureport.contract.instants import parse_instant

T = TypeVar("T")

SHOWN_TEXT_MAX = 60
"""Characters of foreign text repeated in a message: enough to recognise it, too few to flood a log."""

DURATION_S_MAX = 10_000_000
"""Seconds; a third of a year. A longer duration is a fault of the writer, and would break the size laws."""

INTEGER_MAX = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8259 section 6)."""

DEPTH_MAX = 32
"""Levels of nesting that are read; ours are 4. Deeper ones would break the writer's and the message's recursion."""

MESSAGE_CHARACTERS_MAX = 2000
"""Of a `ContractError`'s text, so that it fits one log line; `problems` keeps all."""


class ContractError(ValueError):
    """A text that is not what the contract says; `problems` names every fault, each as `field: what is wrong`."""

    def __init__(self, what: str, problems: Collection[str]) -> None:
        self.what = what
        self.problems = tuple(problems)
        text = f"{what}: {'; '.join(self.problems)}"
        super().__init__(text if len(text) <= MESSAGE_CHARACTERS_MAX else text[: MESSAGE_CHARACTERS_MAX - 1] + "…")


def shorten(value: object) -> str:
    """Show foreign text on one line, printable and cut to `SHOWN_TEXT_MAX` characters."""
    text = repr(value)
    return text if len(text) <= SHOWN_TEXT_MAX else text[: SHOWN_TEXT_MAX - 1] + "…"


def load_object(what: str, text: str | bytes, size_bytes_max: int) -> dict[str, Any]:
    """Decode one JSON object of at most `size_bytes_max` bytes; `ContractError` for anything else.

    Anything else includes what no writer could repeat: a name given twice, NaN, half a surrogate pair, more than
    `DEPTH_MAX` levels.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > size_bytes_max:
        raise ContractError(what, [f"{size} bytes, at most {size_bytes_max} are read"])
    try:
        value = _DECODER.decode(text.decode() if isinstance(text, bytes) else text)
        _refuse_unrepeatable(value)
    except (ValueError, RecursionError) as error:
        raise ContractError(what, [f"not JSON: {shorten(str(error))}"]) from None
    if not isinstance(value, dict):
        raise ContractError(what, [f"a JSON {type(value).__name__}, not an object"])
    return value


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("a name is given twice in one object")
    return value


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_refuse_constant)


def _refuse_unrepeatable(value: object) -> None:
    """Raise `ValueError` for a decoded value that is nested too deeply, or that UTF-8 or JSON cannot express."""
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        for item in level:
            if isinstance(item, str):
                item.encode()
            elif isinstance(item, float) and not math.isfinite(item):
                raise ValueError("a number too large")
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return
        level = [inner for item in containers for inner in _list_parts(item)]
    raise ValueError(f"nested more than {DEPTH_MAX} levels deep")


def _list_parts(value: dict[str, Any] | list[Any]) -> list[Any]:
    return [*value.keys(), *value.values()] if isinstance(value, dict) else value


def dump_object(value: Mapping[str, Any]) -> str:
    """Encode compactly, absent (None) members left out; non-ASCII text stays as it is, so that sizes are plain."""
    return json.dumps(leave_out_absent(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def leave_out_absent(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are there: absent is absent, never null."""
    return {name: member for name, member in members.items() if member is not None}


def as_text(pattern: re.Pattern[str], size_bytes_max: int | None = None) -> Callable[[object], str]:
    """Read a string that matches `pattern` as a whole and, where that leaves its length open, is not too long."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"not of the form {pattern.pattern}")
        if size_bytes_max is not None and len(value.encode()) > size_bytes_max:
            raise ValueError(f"longer than {size_bytes_max} bytes")
        return value

    return read


def as_word(words: Collection[str]) -> Callable[[object], str]:
    """Read one of a closed set of words."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(f"none of {', '.join(sorted(words))}")

    return read


def as_integer(value: object) -> int:
    """Read a whole number from 0 to `INTEGER_MAX`."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INTEGER_MAX:
        return value
    raise ValueError(f"not a whole number from 0 to {INTEGER_MAX}")


def as_seconds(value: object) -> float:
    """Read a duration in seconds, from 0 to `DURATION_S_MAX`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= DURATION_S_MAX:
        return float(value)
    raise ValueError(f"not a number of seconds from 0 to {DURATION_S_MAX}")


def as_flag(value: object) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    raise ValueError("neither true nor false")


def as_instant(value: object) -> datetime:
    """Read an instant, UTC with `Z`."""
    if isinstance(value, str):
        return parse_instant(value)
    raise ValueError("not an instant like 2026-11-30T09:15:00Z")


def as_object(value: object) -> dict[str, Any]:
    """Read a JSON object, to be taken apart by a reader of its own."""
    if isinstance(value, dict):
        return value
    raise ValueError("not an object")


class FieldReader:
    """Takes the known members out of one JSON object and remembers every fault; `finish` raises them together.

    A value that `take` could not read is None whatever its type says: nobody can use it, because `finish` raises.
    """

    def __init__(self, what: str, value: Mapping[str, Any]) -> None:
        self.what = what
        self._left = dict(value)
        self._problems: list[str] = []

    def reject(self, name: str, why: str) -> None:
        """Remember a fault that the caller saw."""
        self._problems.append(f"{name}: {why}")

    def find(self, name: str, read: Callable[[object], T]) -> T | None:
        """Take a member that may be absent; the faults of a `ContractError` join ours, each under this name."""
        value = self._left.pop(name, None)
        if value is None:
            return None
        try:
            return read(value)
        except ContractError as error:
            self._problems += [f"{name}.{problem}" for problem in error.problems]
            return None
        except ValueError as error:
            self.reject(name, f"{shorten(value)} is {error}")
            return None

    def take(self, name: str, read: Callable[[object], T]) -> T:
        """Take a member that must be there."""
        if self._left.get(name) is None:
            self.reject(name, "missing")
        return cast("T", self.find(name, read))

    def finish(self) -> dict[str, Any]:
        """Return the members that nobody asked for; `ContractError` when anything was wrong."""
        if self._problems:
            raise ContractError(self.what, self._problems)
        return leave_out_absent(self._left)


def format_seconds(duration_s: float) -> float | int:
    """Round a duration to milliseconds; a whole number of seconds is written without a fraction."""
    rounded = round(duration_s, 3)
    return int(rounded) if rounded == int(rounded) else rounded
