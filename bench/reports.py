"""Report files to measure with: packed as the host's script packs, of any size, the same bytes from the same seed.

A member per section, some empty. One section of each kind is repeated: deflate sees 32 KiB back, so a repeated
section costs as much to inflate as a new one, and a large file is there in seconds.
"""

import hashlib
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.report_text import KINDS, build_text
from infra.layout import REPOSITORY

SEED = 638
CACHE = REPOSITORY / "build" / "bench" / "reports"
SECTIONS = 150
EMPTY_SECTIONS = 60
GZIP = 31
"""zlib's window bits for a gzip member."""

START = b"____\n\nStart of NVIDIA bug report log file.\n\nnvidia-bug-report.sh Version: 99000001\n\nDate: today\n\n"
FOOTER = b"\n____\n\nEnd of NVIDIA bug report log file.\n"


class ReportFile(NamedTuple):
    """A report on disk; `raw_bytes` is the size of its text."""

    path: Path
    size_bytes: int
    raw_bytes: int
    sha256: str


def ensure_report(raw_mb: float) -> ReportFile:
    """Have a report of so many millions of bytes of text in the cache, and describe it."""
    path = CACHE / f"seed-{SEED}-{raw_mb:g}-mb.log.gz"
    raw_bytes = int(raw_mb * 1e6)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.writelines(build_members(raw_bytes))
        part.rename(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ReportFile(path, path.stat().st_size, raw_bytes, digest)


def build_members(raw_bytes: int) -> Iterator[bytes]:
    """Build the members of a report whose text has that many bytes."""
    source = random.Random(SEED)
    body_bytes = raw_bytes - len(START) - len(FOOTER)
    section_bytes = max(1, body_bytes // SECTIONS)
    sections: list[bytes] = []
    for kind in KINDS:
        sections += [pack(build_text(source, kind, section_bytes))] * round(kind.share * SECTIONS)
    source.shuffle(sections)
    yield pack(START)
    yield from [pack(b"")] * EMPTY_SECTIONS
    yield from sections
    yield pack(build_text(source, KINDS[0], body_bytes - section_bytes * len(sections)))
    yield pack(FOOTER)


def pack(text: bytes) -> bytes:
    """Compress one section as gzip does by default."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, GZIP)
    return deflater.compress(text) + deflater.flush()
