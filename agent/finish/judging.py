"""What is in this file: one pass that judges it, hashes it and leaves nothing of it in the page cache.

Text that the host could not compress is compressed here, in its place. What a verdict means for a run belongs
elsewhere.
"""

import os
import time
import zlib
from hashlib import sha256
from io import FileIO
from typing import Any

from gpureport.contract.claims import COMPLETE, PARTIAL
from gpureport.contract.exit_codes import EXIT_OK
from gpureport.report.judge import Judge, Judgement

READ_BYTES = 256 * 1024
COMPRESSION_LEVEL = 6
"""gzip's own default, which the script uses where the host has it."""
_GZIP_WINDOW = 31


def judge_file(path: str) -> tuple[int, dict[str, Any]]:
    """Judge and hash a report; return the exit code and the answer for the agent. `OSError` when it can't be read."""
    with open(path, "rb", buffering=0) as file:
        judgement, digest, size_bytes = _read_through(file)
        if judgement.is_plain and judgement.verdict.outcome in (COMPLETE, PARTIAL):
            file.seek(0)
            digest, size_bytes = _compress_in_place(file, path)
            return EXIT_OK, _describe(judgement, digest, size_bytes) | {"compressed": True}
    return EXIT_OK, _describe(judgement, digest, size_bytes)


def _read_through(file: FileIO) -> tuple[Judgement, str, int]:
    judge = Judge(cpu_clock=time.process_time, takes_plain=True)
    hashed = sha256()
    size_bytes = 0
    buffer = memoryview(bytearray(READ_BYTES))
    while count := file.readinto(buffer):
        piece = buffer[:count]
        hashed.update(piece)
        judge.feed(piece)
        size_bytes += count
        _forget(file)
    return judge.finish(), hashed.hexdigest(), size_bytes


def _compress_in_place(source: FileIO, path: str) -> tuple[str, int]:
    """Put a gzip file in the place of a text; return its hash and size. Nothing changes if it fails."""
    deflater = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    hashed = sha256()
    size_bytes = 0
    part = path + ".part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb", buffering=0) as target:
        is_open = True
        while is_open:
            piece = source.read(READ_BYTES)
            is_open = piece != b""
            packed = deflater.compress(piece) if is_open else deflater.flush()
            target.write(packed)
            hashed.update(packed)
            size_bytes += len(packed)
        os.fsync(fd)
        _forget(target)
    os.rename(part, path)
    return hashed.hexdigest(), size_bytes


def _forget(file: FileIO) -> None:
    """Drop what was read from the page cache: it would be charged to the agent's memory."""
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _describe(judgement: Judgement, digest: str, size_bytes: int) -> dict[str, Any]:
    verdict = judgement.verdict
    members = {
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "sha256": digest if size_bytes else None,
        "sizeBytes": size_bytes,
        "members": judgement.members,
        "rawBytes": judgement.raw_bytes,
        "facts": dict(judgement.facts) or None,
    }
    return {name: member for name, member in members.items() if member is not None}
