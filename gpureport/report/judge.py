"""Is this report whole: every gzip member to its clean end, and the footer as the last line.

Bytes are pushed in, in pieces of any size; memory stays the same whatever they hold. The inflater is passed in.
Reading files, hashing and what to do with the verdict belong elsewhere.
"""

import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from gpureport.contract.claims import COMPLETE, CORRUPT, NONE, PARTIAL
from gpureport.contract.endings import INCOMPLETE_REASON, Verdict
from gpureport.report.text import TextEdges

INPUT_BYTES = 32 * 1024
OUTPUT_BYTES_MAX = 64 * 1024
"""One step of the inflater. A member split between two steps costs a call more, a member that ends in a larger step a
larger copy of the rest: zlib and isal are both fastest here. Larger output costs memory mappings."""

_MAGIC = b"\x1f\x8b"
_IS_COMPLETE = Verdict(COMPLETE)
_IS_INCOMPLETE = Verdict(PARTIAL, INCOMPLETE_REASON)
_IS_TOO_LARGE = Verdict(PARTIAL, "too-large")
_IS_CORRUPT = Verdict(CORRUPT, "corrupt")
_IS_NO_REPORT = Verdict(NONE, "no-report")


class Decompressor(Protocol):
    """One gzip member on its way: what `zlib.decompressobj(31)` and `isal_zlib.decompressobj(31)` return."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended, its checksum and size right."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """Input that waits because the output was full."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Input after the member's end."""
        ...

    def decompress(self, data: bytes | memoryview, max_length: int, /) -> bytes:
        """Inflate a piece of input to at most so many bytes."""
        ...


class Limits(NamedTuple):
    """How much of a report is looked at; beyond any of these it is `too-large`. Source: the design's bounds."""

    compressed_bytes: int = 256 * 1024 * 1024
    raw_bytes: int = 2 * 1024 * 1024 * 1024
    members: int = 20_000
    cpu_s: float = 60.0


class Judgement(NamedTuple):
    """What a judge found. `raw_bytes` and `members` count up to where the judge stopped."""

    verdict: Verdict
    members: int
    raw_bytes: int
    is_plain: bool
    """The bytes are text that was never compressed."""
    facts: Mapping[str, str]
    """What the report says of itself (`scriptVersion`, `date`, `flags`), and `form` where it is not plain gzip."""


def new_zlib_inflater() -> Decompressor:
    """Return the standard library's inflater for one gzip member."""
    return zlib.decompressobj(31)


class Judge:
    """Judges one report.

    `new_inflater` makes a decompressor for one gzip member and `damage` is what it raises for bad data. `cpu_clock`
    gives seconds of CPU; without it the CPU bound does not hold. `takes_plain`: text that was never compressed is
    judged by its footer, otherwise it is no report.
    """

    def __init__(
        self,
        new_inflater: Callable[[], Decompressor] = new_zlib_inflater,
        *,
        damage: type[Exception] = zlib.error,
        limits: Limits = Limits(),  # noqa: B008 (a NamedTuple never changes)
        cpu_clock: Callable[[], float] | None = None,
        takes_plain: bool = False,
    ) -> None:
        self._new_inflater = new_inflater
        self._damage = damage
        self._limits = limits
        self._cpu_clock = cpu_clock
        self._takes_plain = takes_plain
        self._cpu_end_s = 0.0 if cpu_clock is None else cpu_clock() + limits.cpu_s
        self._inflater: Decompressor | None = None
        self._edges = TextEdges()
        self._first_bytes = b""
        self._compressed_bytes = 0
        self._raw_bytes = 0
        self._members = 0
        self._has_padding = False
        self._settled: Verdict | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing that may follow can change the verdict."""
        return self._settled is not None

    def feed(self, chunk: bytes | memoryview) -> None:
        """Take the next bytes, as many as there are."""
        if len(self._first_bytes) < len(_MAGIC):
            chunk = self._first_bytes + bytes(chunk)
            self._first_bytes = chunk[: len(_MAGIC)]
            if len(chunk) < len(_MAGIC):
                return
        view = memoryview(chunk)
        for start in range(0, len(view), INPUT_BYTES):
            if self._settled is not None:
                return
            self._take(view[start : start + INPUT_BYTES])

    def finish(self) -> Judgement:
        """Return the judgement on all that was fed."""
        facts = self._edges.read_facts()
        form = self._find_form()
        if form:
            facts["form"] = form
        return Judgement(self._decide(), self._members, self._raw_bytes, self._is_plain, facts)

    @property
    def _is_plain(self) -> bool:
        return self._first_bytes != b"" and not _MAGIC.startswith(self._first_bytes)

    def _take(self, data: memoryview) -> None:
        if self._is_plain:
            self._take_text(data)
            return
        room = self._limits.compressed_bytes - self._compressed_bytes
        self._compressed_bytes += len(data)
        try:
            self._inflate(data[:room])
        except self._damage:
            self._settled = self._settled or _IS_CORRUPT
        is_out_of_time = self._cpu_clock is not None and self._cpu_clock() > self._cpu_end_s
        if len(data) > room or is_out_of_time:
            self._settled = self._settled or _IS_TOO_LARGE

    def _take_text(self, data: memoryview) -> None:
        self._raw_bytes += len(data)
        if self._raw_bytes > self._limits.raw_bytes:
            self._settled = _IS_TOO_LARGE if self._takes_plain else _IS_NO_REPORT
        else:
            self._edges.add(bytes(data))

    def _inflate(self, data: bytes | memoryview) -> None:
        """Inflate one step of input, through as many members as it holds."""
        inflater = self._inflater
        add_text = self._edges.add
        raw_bytes_max = self._limits.raw_bytes
        text = b""
        while data or len(text) == OUTPUT_BYTES_MAX:  # a full output may leave bytes inside the inflater
            if inflater is None:
                if self._has_padding or (self._members and data[0] != _MAGIC[0]):
                    self._take_padding(data)
                    return
                inflater = self._inflater = self._new_inflater()
            text = inflater.decompress(data, OUTPUT_BYTES_MAX)
            if text:
                self._raw_bytes += len(text)
                add_text(text)
            if inflater.eof:
                data = inflater.unused_data
                inflater = self._inflater = None
                text = b""
                self._members += 1
            else:
                data = inflater.unconsumed_tail
            if self._raw_bytes > raw_bytes_max or self._members > self._limits.members:
                self._settled = _IS_TOO_LARGE
                return

    def _take_padding(self, data: bytes | memoryview) -> None:
        """Accept NUL bytes after the last member, as gzip does (tar and tape pad so), and nothing else there."""
        self._has_padding = True
        if bytes(data).strip(b"\0"):
            self._settled = _IS_CORRUPT

    def _decide(self) -> Verdict:
        if self._settled is not None:
            return self._settled
        if self._is_plain and not self._takes_plain:
            return _IS_NO_REPORT
        is_clean_end = self._is_plain or (self._inflater is None and self._members > 0)
        if is_clean_end and self._edges.has_footer:
            return _IS_COMPLETE
        return _IS_INCOMPLETE if self._edges.has_start else _IS_NO_REPORT

    def _find_form(self) -> str:
        if not self._first_bytes:
            return "empty"
        if self._is_plain:
            return "plain-text" if self._edges.has_start else "not-gzip"
        return "gzip-in-gzip" if self._edges.is_gzip_again else ""
