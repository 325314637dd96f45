"""What of a child's output is kept: the head of one stream, the end of another, never more than asked for."""

import os
from typing import Protocol

READ_BYTES = 64 * 1024
DRAIN_BYTES_MAX = 1024 * 1024
"""Read in one go from one pipe; a flood takes turns with everything else the owner does."""


class Keeper(Protocol):
    """Keeps a bounded part of a stream."""

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        ...

    def text(self) -> bytes:
        """Return what was kept."""
        ...


class OutputHead:
    """Keeps the first bytes of a stream."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        """Take the next bytes; those beyond the maximum are dropped."""
        self._kept += piece[: self._bytes_max - len(self._kept)]

    def text(self) -> bytes:
        """Return what was kept."""
        return bytes(self._kept)


class OutputTail:
    """Keeps the last bytes of a stream."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept = b""

    def add(self, piece: bytes) -> None:
        """Take the next bytes; the oldest make room."""
        self._kept = (self._kept + piece)[-self._bytes_max :]

    def text(self) -> bytes:
        """Return what was kept."""
        return self._kept


class OutputPipe:
    """A pipe whose reading end never blocks and whose writing end goes to a child."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)

    def fds(self) -> list[int]:
        """Return the descriptor to poll; none once the stream has ended."""
        return [] if self._read_fd < 0 else [self._read_fd]

    def drain(self) -> None:
        """Read what is there now, at most `DRAIN_BYTES_MAX`."""
        for _ in range(DRAIN_BYTES_MAX // READ_BYTES):
            if self._read_fd < 0:
                return
            try:
                piece = os.read(self._read_fd, READ_BYTES)
            except BlockingIOError:
                return
            if piece:
                self._keeper.add(piece)
            else:
                self.close()

    def text(self) -> bytes:
        """Return what was kept."""
        return self._keeper.text()

    def close_write_end(self) -> None:
        """Close our copy of the writing end, so that the stream can end; twice is once."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    def close(self) -> None:
        """Close the reading end; twice is once."""
        if self._read_fd >= 0:
            os.close(self._read_fd)
            self._read_fd = -1
