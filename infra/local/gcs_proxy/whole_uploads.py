"""How does an upload in one request become a staged one? Media and multipart; resumable stands in `resumable`."""

from pathlib import Path
from typing import IO

from infra.local.gcs_proxy.conditions import parse_conditions
from infra.local.gcs_proxy.gateway import Gateway
from infra.local.gcs_proxy.incoming import JSON_BYTES_MAX, Request, parse_json_object
from infra.local.gcs_proxy.replies import Rejected, Reply, build_error
from infra.local.gcs_proxy.routes import Kind, Route
from infra.local.gcs_proxy.spool import Staged, open_spool

DEFAULT_CONTENT_TYPE = "application/octet-stream"

_TAIL_BYTES_MAX = 256
"""The closing boundary (70 characters at most by RFC 2046) and what may stand around it."""


class WholeUploads:
    """Uploads that come in one request."""

    def __init__(self, gateway: Gateway, spool_folder: Path) -> None:
        self._gateway = gateway
        self._spool_folder = spool_folder

    def upload(self, route: Route, request: Request) -> Reply:
        """Take the body to disk, then commit it; a client that goes away half-way stores nothing."""
        conditions = parse_conditions(request.query)
        with open_spool(self._spool_folder) as file:
            size_bytes = sum(file.write(piece) for piece in request.body.pieces())
            if not request.body.finished:
                raise Rejected(build_error(400, "the body ended early"))
            multipart = route.kind is Kind.UPLOAD_MULTIPART
            parse = _parse_multipart if multipart else _parse_media
            staged = parse(route, request, file, size_bytes)
            if not staged.name:
                raise Rejected(build_error(400, "Required object name"))
            return self._gateway.commit(staged, conditions, request.headers.get("x-goog-hash", ""))


def _parse_media(route: Route, request: Request, file: IO[bytes], size_bytes: int) -> Staged:
    content_type = request.headers.get("Content-Type", DEFAULT_CONTENT_TYPE)
    return Staged(route.bucket, route.name, {}, content_type, file, 0, size_bytes)


def _parse_multipart(route: Route, request: Request, file: IO[bytes], size_bytes: int) -> Staged:
    boundary = request.headers.get_param("boundary")
    delimiter = b"\r\n--" + str(boundary).encode()
    file.seek(0)
    head = b"\r\n" + file.read(JSON_BYTES_MAX)
    file.seek(max(0, size_bytes - _TAIL_BYTES_MAX))
    tail = file.read()
    first, second, end = head.find(delimiter), head.find(delimiter, 2), tail.rfind(delimiter + b"--")
    data_at = head.find(b"\r\n\r\n", second) + 4
    if boundary is None or min(first, second, end, data_at - 4) < 0:
        raise Rejected(build_error(400, "Malformed multipart body."))
    metadata = parse_json_object(head[head.find(b"\r\n\r\n", first) + 4 : second])
    part_type = _parse_content_type(head[second + len(delimiter) : data_at])
    content_type = str(metadata.get("contentType") or part_type or DEFAULT_CONTENT_TYPE)
    offset_bytes = data_at - 2
    data_bytes = size_bytes - len(tail) + end - offset_bytes
    name = route.name or str(metadata.get("name", ""))
    return Staged(route.bucket, name, metadata, content_type, file, offset_bytes, data_bytes)


def _parse_content_type(part_head: bytes) -> str:
    for line in part_head.decode("latin-1").splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "content-type":
            return value.strip()
    return ""
