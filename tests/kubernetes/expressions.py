"""How a CEL expression is made to say less: one operand of one `&&` or `||` taken out at a time.

Text in quotes is left alone; the arguments of a call are groups like what stands in parentheses. No `? :`.
"""

from collections.abc import Iterator
from typing import NamedTuple

OPENING, CLOSING = "([{", ")]}"


class Operand(NamedTuple):
    """The part `text[begin:end]` of an expression, beside `operator`."""

    begin: int
    end: int
    operator: str


NEUTRAL = {"&&": "true", "||": "false"}


def list_weakened(expression: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is taken out, the operator that it stood beside, and the expression without it."""
    for operand in find_operands(expression):
        taken = " ".join(expression[operand.begin : operand.end].split())
        yield (
            taken,
            operand.operator,
            f"{expression[: operand.begin]} {NEUTRAL[operand.operator]} {expression[operand.end :]}",
        )


def find_operands(text: str) -> list[Operand]:
    """Find the operands of every `&&` and `||`; one of the first binds tighter than one of the second."""
    found: list[Operand] = []
    for begin, end in _find_groups(text):
        for alternative in _split(text, begin, end, "||"):
            parts = _split(text, *alternative, "&&")
            if len(parts) > 1:
                found += [Operand(*part, "&&") for part in parts]
        alternatives = _split(text, begin, end, "||")
        if len(alternatives) > 1:
            found += [Operand(*part, "||") for part in alternatives]
    return sorted(found)


def _find_groups(text: str) -> list[tuple[int, int]]:
    """Find what stands between brackets and commas, and the whole."""
    groups, stack = [], [0]
    for index, character in _significant(text):
        if character in OPENING:
            stack.append(index + 1)
        elif character in CLOSING:
            groups.append((stack.pop(), index))
        elif character == ",":
            groups.append((stack[-1], index))
            stack[-1] = index + 1
    groups.append((stack[0], len(text)))
    return groups


def _split(text: str, begin: int, end: int, operator: str) -> list[tuple[int, int]]:
    """Split at an operator that stands in no inner brackets."""
    parts, depth, last = [], 0, begin
    for index, character in _significant(text):
        if not begin <= index < end:
            continue
        depth += (character in OPENING) - (character in CLOSING)
        if depth == 0 and text.startswith(operator, index):
            parts.append((last, index))
            last = index + len(operator)
    return [*parts, (last, end)]


def _significant(text: str) -> Iterator[tuple[int, str]]:
    """Yield the characters outside quotes, with their places."""
    quote = ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield index, character
