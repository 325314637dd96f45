"""How text looks on a terminal: tables for people, colour only where it is seen and not unwanted."""

import os
from collections.abc import Sequence
from typing import TextIO

GREEN, YELLOW, RED, BOLD = "32", "33", "31", "1"

CELL_CHARS_MAX = 120
"""Longest cell of a table; a longer text is cut with an ellipsis."""


def wants_colour(stream: TextIO) -> bool:
    """Say whether to colour: on a terminal, unless NO_COLOR is set or the terminal is dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, code: str, is_coloured: bool) -> str:
    """Return the text in a colour, or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_coloured else text


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns, numbers to the right; control characters are left out."""
    cells = [[_cut(printable(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    is_number = [bool(rows) and all(row[column].isdigit() for row in cells[1:]) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, is_number, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return a text as one line without control characters: objects may hold any, a terminal would obey them."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _cut(text: str) -> str:
    return text if len(text) <= CELL_CHARS_MAX else text[: CELL_CHARS_MAX - 1] + "…"
