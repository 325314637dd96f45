"""What did the client send: target, headers and a body read piece by piece? Its meaning stands in `routes`."""

import json
from collections.abc import Iterator, Mapping
from email.message import Message
from io import BufferedIOBase
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from infra.local.gcs_proxy.replies import Rejected, build_error

PIECE_BYTES = 256 * 1024
"""Size of one piece in flight; what one connection costs in memory."""

JSON_BYTES_MAX = 1024 * 1024
"""Longest JSON body: object metadata and the list of a compose are far below."""

_LINE_BYTES_MAX = 1024

Headers: TypeAlias = "Message[str, str]"


class Body:
    """A request's body, by length or in chunks; `finished` tells whether the connection may be used again."""

    def __init__(self, stream: BufferedIOBase, headers: Headers) -> None:
        self._stream = stream
        self._chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
        length = headers.get("Content-Length", "")
        self._left_bytes = int(length) if length.isdecimal() and not self._chunked else 0
        self.finished = not self._chunked and self._left_bytes == 0

    def pieces(self) -> Iterator[bytes]:
        """Yield the rest of the body; ends early, unfinished, when the client goes away."""
        while not self.finished:
            if self._chunked and self._left_bytes == 0 and not self._next_chunk():
                return
            piece = self._stream.read(min(self._left_bytes, PIECE_BYTES))
            if not piece:
                return
            self._left_bytes -= len(piece)
            if self._chunked and self._left_bytes == 0:
                self._stream.readline(_LINE_BYTES_MAX)
            self.finished = not self._chunked and self._left_bytes == 0
            yield piece

    def _next_chunk(self) -> bool:
        size = self._stream.readline(_LINE_BYTES_MAX).split(b";")[0].strip()
        self._left_bytes = int(size, 16) if size else 0
        if size and self._left_bytes == 0:
            while self._stream.readline(_LINE_BYTES_MAX).strip():
                pass
            self.finished = True
        return self._left_bytes > 0

    def read_json(self) -> bytes:
        """Read a small body whole; 413 above 1 MiB."""
        content = bytearray()
        for piece in self.pieces():
            content += piece
            if len(content) > JSON_BYTES_MAX:
                raise Rejected(build_error(413, "request body too large"))
        return bytes(content)


class Request(NamedTuple):
    """One request as it came; `path` is percent-encoded, `query` decoded."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Headers
    body: Body


def build_request(method: str, target: str, headers: Headers, stream: BufferedIOBase) -> Request:
    """Take a request apart; nothing of the body is read yet."""
    parts = urlsplit(target)
    return Request(method, target, parts.path, dict(parse_qsl(parts.query)), headers, Body(stream, headers))


def parse_json_object(content: bytes) -> dict[str, Any]:
    """Read a JSON object, {} of nothing; 400 for anything else."""
    try:
        value = json.loads(content) if content.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Rejected(build_error(400, "Parse Error"))
    return value
