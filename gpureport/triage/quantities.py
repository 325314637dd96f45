"""How much a Kubernetes quantity is, by its value: `"4"`, `"1k"`, `"2e0"`, `"3000m"` and `3` are all numbers.

Amounts are integers rounded up, as the scheduler rounds them. What can't be read counts as nothing: a quantity that the
API would refuse neither offers nor asks for anything.
"""

import re
from functools import lru_cache

AMOUNT_MAX = 2**63 - 1
"""The API's own ceiling (int64); larger values are cut to it."""

TEXT_CHARS_MAX = 64
"""Longest quantity that is read; a longer one is no quantity of any real resource."""

_EXPONENT_MAX = 40
"""Past this power of ten every value is above the ceiling, or below one thousandth."""

_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i))?")

_SUFFIXES = {
    "n": (-9, 1), "u": (-6, 1), "m": (-3, 1), "k": (3, 1), "M": (6, 1), "G": (9, 1), "T": (12, 1), "P": (15, 1),
    "E": (18, 1), "Ki": (0, 2**10), "Mi": (0, 2**20), "Gi": (0, 2**30), "Ti": (0, 2**40), "Pi": (0, 2**50),
    "Ei": (0, 2**60),
}  # fmt: skip
"""Suffix -> (power of ten, binary factor)."""


@lru_cache(maxsize=4096)
def parse_count(quantity: str | int | float) -> int:
    """Return a quantity in whole units, rounded up, never below 0; 0 when it is no quantity."""
    if isinstance(quantity, str) and quantity.isascii() and quantity.isdigit() and len(quantity) < 19:
        return int(quantity)
    return _parse(str(quantity), 0)


def parse_thousandths(quantity: str | int | float) -> int:
    """Return a quantity in thousandths (`"100m"` is 100), rounded up, never below 0; 0 when it is no quantity."""
    return _parse(str(quantity), 3)


@lru_cache(maxsize=4096)
def _parse(text: str, power: int) -> int:
    match = _GRAMMAR.fullmatch(text) if len(text) <= TEXT_CHARS_MAX else None
    if match is None:
        return 0
    sign, whole, fraction, exponent, suffix = match.groups(default="")
    if not (whole or fraction) or sign == "-":
        return 0
    ten, factor = _SUFFIXES.get(suffix, (0, 1))
    ten += power - len(fraction) + (int(exponent) if exponent else 0)
    digits = int(whole + fraction) * factor
    # Digits are at most 64 long, so that the clamp below cannot change which side of the ceiling a value is on.
    ten = max(-_EXPONENT_MAX - TEXT_CHARS_MAX, min(_EXPONENT_MAX + TEXT_CHARS_MAX, ten))
    amount: int = digits * 10**ten if ten >= 0 else -(-digits // 10**-ten)
    ceiling: int = AMOUNT_MAX * 10**power
    return min(amount, ceiling)
