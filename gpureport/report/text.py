"""What does the text of a report say: does it begin and end like one, which script wrote it, when.

Works on the first and the last bytes of the text alone, so that a report of any size costs the same.
How the bytes were packed, and what a run ends in, belongs elsewhere.
"""

import re

HEAD_BYTES_MAX = 4096
"""The start line, the version, the date and the flags stand in the first kilobyte of every version known."""
TAIL_BYTES_MAX = 512
"""The footer has 35 bytes; the rest is room for blanks after it."""
_BLANK_TAIL_BYTES = 256
"""So many blank bytes at the end of the tail, and more may hide what stood before them."""

_START = b"Start of NVIDIA bug report log file"
_FOOTERS = (b"End of NVIDIA bug report log file.", b"End of NVIDIA bug report log file")
_GZIP_MAGIC = b"\x1f\x8b"

FACT_CHARACTERS_MAX = 200
_FACTS = (
    ("scriptVersion", re.compile(rb"^nvidia-bug-report\.sh Version:[ \t]*([^\r\n]*)", re.MULTILINE)),
    ("date", re.compile(rb"^Date:[ \t]*([^\r\n]*)", re.MULTILINE)),
    ("flags", re.compile(rb"^command line flags:[ \t]*([^\r\n]*)", re.MULTILINE)),
)


class TextEdges:
    """The first and the last bytes of a text that arrives in pieces."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of the text, which is not empty."""
        if len(self._head) < HEAD_BYTES_MAX:
            self._head += piece[: HEAD_BYTES_MAX - len(self._head)]
        tail = piece[-TAIL_BYTES_MAX:] if len(piece) >= TAIL_BYTES_MAX else (self._tail + piece)[-TAIL_BYTES_MAX:]
        if tail[-_BLANK_TAIL_BYTES:].isspace():
            tail = _squeeze_end(self._tail + piece)
        self._tail = tail

    @property
    def has_start(self) -> bool:
        """Whether the text begins like a report; the words after the first sentence differ between versions."""
        return any(line.startswith(_START) for line in self._head.split(b"\n"))

    @property
    def has_footer(self) -> bool:
        """Whether the last line that is not blank is the footer; the full stop may be missing."""
        return self._tail.rstrip().rpartition(b"\n")[2] in _FOOTERS

    @property
    def is_gzip_again(self) -> bool:
        """Whether the text is no text but another gzip file: somebody compressed a report twice."""
        return self._head.startswith(_GZIP_MAGIC)

    def read_facts(self) -> dict[str, str]:
        """Read `scriptVersion`, `date` and `flags`, as far as the report states them; printable and bounded."""
        found = {}
        for name, pattern in _FACTS:
            match = pattern.search(self._head)
            if match and match[1].strip():
                found[name] = _make_printable(match[1].strip())
        return found


def _squeeze_end(text: bytes) -> bytes:
    """Shorten the blanks at the end of a text to one, a line's end if there is one, and keep what stands before."""
    body = text.rstrip()
    blank = b"\n" if b"\n" in text[len(body) :] else b" "
    return body[-(TAIL_BYTES_MAX - 1) :] + blank


def _make_printable(raw: bytes) -> str:
    text = raw[: FACT_CHARACTERS_MAX * 4].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)[:FACT_CHARACTERS_MAX]
