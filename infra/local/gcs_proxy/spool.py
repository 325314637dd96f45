"""Where do an upload's bytes wait until they are known to be whole? On disk, in nameless files; when is not asked."""

import base64
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import google_crc32c

from infra.local.gcs_proxy.incoming import PIECE_BYTES


class Staged(NamedTuple):
    """An upload that is here completely: `size_bytes` of `file` from `offset_bytes` on are the object's bytes."""

    bucket: str
    name: str
    metadata: dict[str, Any]
    content_type: str
    file: IO[bytes]
    offset_bytes: int
    size_bytes: int

    def pieces(self) -> Iterator[bytes]:
        """Yield the object's bytes."""
        self.file.seek(self.offset_bytes)
        left_bytes = self.size_bytes
        while left_bytes > 0 and (piece := self.file.read(min(PIECE_BYTES, left_bytes))):
            left_bytes -= len(piece)
            yield piece


def open_spool(folder: Path) -> IO[bytes]:
    """Open a file that has no name: it is gone with the process, however that ends."""
    return tempfile.TemporaryFile(dir=folder)


def find_wrong_checksum(staged: Staged, claimed: dict[str, str]) -> str | None:
    """Compare the bytes with what the client claimed (`crc32c`, `md5`); the name of a sum that differs, or None."""
    if not claimed:
        return None
    crc32c, md5 = 0, hashlib.md5(usedforsecurity=False)
    for piece in staged.pieces():
        crc32c = google_crc32c.extend(crc32c, piece)
        if "md5" in claimed:
            md5.update(piece)
    for name, digest in (("crc32c", crc32c.to_bytes(4, "big")), ("md5", md5.digest())):
        if claimed.get(name, "") not in ("", base64.b64encode(digest).decode()):
            return name
    return None


def parse_claimed_checksums(metadata: dict[str, Any], hash_header: str) -> dict[str, str]:
    """Collect what the client claims of its bytes, in the metadata and in `x-goog-hash: crc32c=…,md5=…`."""
    claimed = {name: str(metadata[key]) for name, key in (("crc32c", "crc32c"), ("md5", "md5Hash")) if key in metadata}
    for part in hash_header.split(","):
        name, _, value = part.strip().partition("=")
        if name in ("crc32c", "md5") and value:
            claimed[name] = value
    return claimed
