"""What an answer of the apiserver means for the agent: one table from HTTP status to error."""

import json
from typing import Any, NamedTuple

MESSAGE_CHARACTERS_MAX = 200
"""Of a Kubernetes message that is repeated; one about an annotation can hold the whole Node."""


class ApiError(Exception):
    """A request that did not do what it was for; `status` is 0 when there was no answer."""

    def __init__(self, status: int, message: str, retry_after_s: float | None = None) -> None:
        self.status = status
        self.retry_after_s = retry_after_s
        super().__init__(f"{status} {message[:MESSAGE_CHARACTERS_MAX]}" if status else message[:MESSAGE_CHARACTERS_MAX])


class LostRace(ApiError):
    """Somebody wrote first, or a test did not hold: read again and decide again."""


class Gone(ApiError):
    """There is no such Node."""


class Expired(ApiError):
    """The resourceVersion is too old to watch from: read again."""


class Forbidden(ApiError):
    """RBAC or an admission policy refuses. Also seen within 0.1 s of an apiserver's start, so it is tried again."""


class Unauthorized(ApiError):
    """The token is not accepted; it is read again from its file before the next try."""


class Invalid(ApiError):
    """The request itself is wrong: the same one will always be refused."""


class Unavailable(ApiError):
    """No answer, or one that asks to come back; a write may have been done all the same."""


class _Row(NamedTuple):
    status: int
    error: type[ApiError]


_TABLE = (
    _Row(400, Invalid),
    _Row(401, Unauthorized),
    _Row(403, Forbidden),
    _Row(404, Gone),
    _Row(409, LostRace),
    _Row(410, Expired),
    _Row(413, Invalid),
    _Row(415, Invalid),
    _Row(429, Unavailable),
)
"""422 is told apart below; every other status is `Unavailable`, for it says nothing about the request."""

_BY_STATUS = {row.status: row.error for row in _TABLE}


def build_error(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """Turn an answer into its error; the body may be a Kubernetes Status, other JSON, or plain text."""
    document = _read_status(body)
    details = document.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    message = f"{document.get('reason') or ''} {document.get('message') or body[:MESSAGE_CHARACTERS_MAX]!r}".strip()
    if status == 422:
        # A patch that does not apply has no causes; validation and admission always name theirs.
        return Invalid(status, message) if causes else LostRace(status, message)
    return _BY_STATUS.get(status, Unavailable)(status, message, _parse_retry_after(retry_after))


def _read_status(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _parse_retry_after(text: str | None) -> float | None:
    """Read seconds; the HTTP-date form is not what an apiserver sends (RFC 9110 section 10.2.3 allows both)."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 5 else None
