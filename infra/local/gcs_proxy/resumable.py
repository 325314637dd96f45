"""Which bytes of a resumable upload are here, and is it the end? The server behind would end it at the first question.

Sessions live as long as the proxy. An unfinished one keeps whole multiples of 256 KiB, as Cloud Storage does.
"""

import re
import secrets
import threading
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlencode

from infra.local.gcs_proxy.conditions import Conditions, parse_conditions
from infra.local.gcs_proxy.gateway import Gateway
from infra.local.gcs_proxy.incoming import Request, parse_json_object
from infra.local.gcs_proxy.replies import Rejected, Reply, build_error
from infra.local.gcs_proxy.routes import Route
from infra.local.gcs_proxy.spool import Staged, open_spool
from infra.local.gcs_proxy.whole_uploads import DEFAULT_CONTENT_TYPE

SESSIONS_MAX = 256
"""Unfinished and finished ones together; the oldest goes. Each costs a file handle at most."""

QUANTUM_BYTES = 256 * 1024
"""What is kept of a part that isn't the last. Source: Cloud Storage, resumable uploads."""

RESUME_INCOMPLETE = 308
CANCELLED = 499

_RANGE = re.compile(r"bytes (?:(?P<first>\d+)-(?P<last>\d+)|\*)/(?:(?P<total>\d+)|\*)")


class Part(NamedTuple):
    """What a request says of its bytes: the place of the first (None: it only asks), and the object's size if known."""

    first: int | None
    total_bytes: int | None


class Session:
    """One resumable upload."""

    def __init__(self, key: tuple[str, str], metadata: dict[str, Any], conditions: Conditions, file: IO[bytes]) -> None:
        self.bucket, self.name = key
        self.metadata = metadata
        self.conditions = conditions
        self.file = file
        self.received_bytes = 0
        self.outcome: Reply | None = None
        self.lock = threading.Lock()


class ResumableUploads:
    """The sessions of this proxy."""

    def __init__(self, gateway: Gateway, spool_folder: Path, address: str) -> None:
        self._gateway = gateway
        self._spool_folder = spool_folder
        self._address = address
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def start(self, route: Route, request: Request) -> Reply:
        """Open a session, unless the conditions refuse it already."""
        metadata = parse_json_object(request.body.read_json())
        key = (route.bucket, route.name or str(metadata.get("name", "")))
        if not key[1]:
            raise Rejected(build_error(400, "Required object name"))
        metadata.setdefault("contentType", request.headers.get("X-Upload-Content-Type", DEFAULT_CONTENT_TYPE))
        conditions = parse_conditions(request.query)
        self._gateway.check_start(*key, conditions)
        upload_id = secrets.token_urlsafe(24)
        with self._lock:
            self._sessions[upload_id] = Session(key, metadata, conditions, open_spool(self._spool_folder))
            if len(self._sessions) > SESSIONS_MAX:
                self._sessions.pop(next(iter(self._sessions))).file.close()
        query = urlencode({"uploadType": "resumable", "upload_id": upload_id})
        location = f"{self._address}/upload/storage/v1/b/{route.bucket}/o?{query}"
        return Reply(200, (("Location", location), ("X-GUploader-UploadID", upload_id)))

    def proceed(self, _route: Route, request: Request) -> Reply:
        """Take the next bytes, or tell how many are here; the last ones commit."""
        session = self._find(request)
        part = _parse_part(request)
        with session.lock:
            if session.outcome is not None:
                return session.outcome
            if session.file.closed:
                raise Rejected(build_error(410, "no such upload session"))
            if part.first is not None:
                _append(session, request, part)
            if part.total_bytes is None or session.received_bytes < part.total_bytes:
                return _build_incomplete(session)
            return self._finish(session, request.headers.get("x-goog-hash", ""))

    def cancel(self, _route: Route, request: Request) -> Reply:
        """Forget a session and its bytes."""
        session = self._find(request)
        with self._lock:
            self._sessions.pop(request.query["upload_id"], None)
        with session.lock:
            session.file.close()
        return Reply(CANCELLED)

    def _find(self, request: Request) -> Session:
        with self._lock:
            session = self._sessions.get(request.query["upload_id"])
        if session is None:
            raise Rejected(build_error(410, "no such upload session"))
        return session

    def _finish(self, session: Session, hash_header: str) -> Reply:
        content_type = str(session.metadata["contentType"])
        staged = Staged(
            session.bucket, session.name, session.metadata, content_type, session.file, 0, session.received_bytes
        )
        try:
            outcome = self._gateway.commit(staged, session.conditions, hash_header)
        except Rejected as rejected:
            outcome = rejected.reply
        if outcome.status < 500:
            session.outcome = outcome
            session.file.close()
        return outcome


def _append(session: Session, request: Request, part: Part) -> None:
    overlap_bytes = session.received_bytes - (part.first or 0)
    if overlap_bytes < 0:
        raise Rejected(build_error(503, "the part does not follow what is here"))
    session.file.seek(session.received_bytes)
    for piece in request.body.pieces():
        session.file.write(piece[overlap_bytes:])
        overlap_bytes = max(0, overlap_bytes - len(piece))
    here_bytes = session.file.tell()
    if part.total_bytes is not None and here_bytes > part.total_bytes:
        raise Rejected(build_error(400, "more bytes than announced"))
    if here_bytes != part.total_bytes:
        here_bytes = max(session.received_bytes, here_bytes - here_bytes % QUANTUM_BYTES)
    session.file.truncate(here_bytes)
    session.received_bytes = here_bytes


def _parse_part(request: Request) -> Part:
    header = request.headers.get("Content-Range")
    if header is None:
        return Part(0, int(request.headers.get("Content-Length") or 0))
    match = _RANGE.fullmatch(header.strip())
    if match is None:
        raise Rejected(build_error(400, "malformed Content-Range"))
    return Part(*(int(value) if value is not None else None for value in match.group("first", "total")))


def _build_incomplete(session: Session) -> Reply:
    if session.received_bytes == 0:
        return Reply(RESUME_INCOMPLETE)
    return Reply(RESUME_INCOMPLETE, (("Range", f"bytes=0-{session.received_bytes - 1}"),))
