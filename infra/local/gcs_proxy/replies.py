"""What does a reply look like, the proxy's own and Cloud Storage's error bodies? Nothing here decides or sends."""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

REASONS = {
    400: "invalid",
    404: "notFound",
    410: "gone",
    412: "conditionNotMet",
    413: "uploadTooLarge",
    429: "rateLimitExceeded",
    501: "notImplemented",
    503: "backendError",
}
"""The `reason` word of the first error, by status. Source: Cloud Storage JSON API, HTTP status and error codes."""


def _nothing_to_close() -> None:
    return


class Reply(NamedTuple):
    """One answer. A body without `size_bytes` is sent in chunks; `close` is called once, sent or not."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: Iterable[bytes] = ()
    size_bytes: int | None = 0
    close: Callable[[], None] = _nothing_to_close

    def read_whole(self) -> "Reply":
        """Take the body into memory and close; for JSON, which is small."""
        try:
            content = b"".join(self.body)
        finally:
            self.close()
        return self._replace(body=(content,), size_bytes=len(content), close=_nothing_to_close)


class Rejected(Exception):
    """The request ends here with this reply; raised where an operation can't go on."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def build_json_reply(status: int, content: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """Build an answer from a JSON object."""
    body = json.dumps(content).encode()
    return Reply(status, (("Content-Type", "application/json; charset=UTF-8"), *headers), (body,), len(body))


def build_error(status: int, message: str) -> Reply:
    """Build an error as the JSON API words it; 304 has no body."""
    if status == HTTPStatus.NOT_MODIFIED:
        return Reply(status)
    error: dict[str, Any] = {"message": message, "domain": "global", "reason": REASONS.get(status, "error")}
    if status == HTTPStatus.PRECONDITION_FAILED:
        error |= {"locationType": "header", "location": "If-Match"}
    return build_json_reply(status, {"error": {"code": status, "message": message, "errors": [error]}})
