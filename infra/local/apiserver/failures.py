"""Which HTTP status and which Status object a refused request gets.

One constructor per refusal of kube-apiserver; who refuses what is decided by the callers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PATCH_REJECTED = "the server rejected our request due to an error in our request"
"""The whole message of a JSON patch that did not apply, whatever the cause. Source: kube-apiserver 1.36, measured."""


class Cause(NamedTuple):
    """One entry of `details.causes`."""

    reason: str
    field: str
    message: str


class Failure(Exception):
    """A request refused: the HTTP status, the Status object and any extra headers of the answer.

    `text`, where it is not empty, is sent as plain text in the place of the Status object.
    """

    text = ""

    def __init__(
        self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None, retry_after_s: int = 0
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.headers = {"Retry-After": str(retry_after_s)} if retry_after_s else {}
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = dict(details)
        self.status["code"] = code


def build_bad_request(message: str) -> Failure:
    """Build 400: the request cannot be understood."""
    return Failure(400, "BadRequest", message)


def build_unauthorized() -> Failure:
    """Build 401: a token that nobody issued, or that has expired."""
    return Failure(401, "Unauthorized", "Unauthorized")


def build_forbidden(user: str, deed: str, details: Mapping[str, str]) -> Failure:
    """Build 403: the user has no right to the deed, such as `get resource "nodes"`; details name the object."""
    what = details.get("kind", "")
    subject = f'{what} "{details["name"]}" is ' if "name" in details else f"{what} is " if what else ""
    return Failure(403, "Forbidden", f'{subject}forbidden: User "{user}" cannot {deed}', details)


def build_unknown_path() -> Failure:
    """Build 404: no such resource type."""
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def build_no_page() -> Failure:
    """Build 404: a path that belongs to no API group; the answer is plain text."""
    failure = build_unknown_path()
    failure.text = "404 page not found\n"
    return failure


def build_not_found(resource: str, name: str) -> Failure:
    """Build 404: no such object; `resource` is the plural, with its group when it has one."""
    return Failure(404, "NotFound", f'{resource} "{name}" not found', _target(resource, name))


def build_method_not_allowed() -> Failure:
    """Build 405."""
    return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def build_already_exists(resource: str, name: str) -> Failure:
    """Build 409 AlreadyExists."""
    return Failure(409, "AlreadyExists", f'{resource} "{name}" already exists', _target(resource, name))


def build_conflict(
    resource: str,
    name: str,
    why: str = "the object has been modified; please apply your changes to the latest version and try again",
) -> Failure:
    """Build 409 Conflict: a resourceVersion or precondition that no longer holds."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Failure(409, "Conflict", message, _target(resource, name))


def build_expired(message: str, continue_token: str = "") -> Failure:
    """Build 410: the history asked for is gone."""
    failure = Failure(410, "Expired", message)
    if continue_token:
        failure.status["metadata"] = {"continue": continue_token}
    return failure


def build_too_large(message: str) -> Failure:
    """Build 413: the body, or the number of operations in it, is over the limit."""
    return Failure(413, "RequestEntityTooLarge", f"Request entity too large: {message}", {})


def build_unsupported_media_type(message: str = "415: Unsupported Media Type") -> Failure:
    """Build 415."""
    return Failure(415, "UnsupportedMediaType", message, {})


def build_patch_rejected() -> Failure:
    """Build the 422 of a JSON patch that did not apply: it carries no causes, unlike every other 422."""
    return Failure(422, "Invalid", PATCH_REJECTED, {})


def build_invalid(kind: str, name: str, causes: Sequence[Cause]) -> Failure:
    """Build the 422 of a validation error, each cause in the message and in `details.causes`."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {
        **({"name": name} if name else {}),
        **dict(zip(("kind", "group"), kind.split(".", 1), strict=False)),
        "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes],
    }
    return Failure(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def build_internal(message: str) -> Failure:
    """Build the 500 that kube-apiserver answers to a resourceVersion that is no number: it has no reason."""
    return Failure(500, "", message)


def build_future_version(asked: int, current: int) -> Failure:
    """Build 504: the resourceVersion asked for has not been reached."""
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return Failure(504, "Timeout", f"Timeout: {message}", details, retry_after_s=1)


def _target(resource: str, name: str) -> dict[str, str]:
    plural, _, group = resource.partition(".")
    return {"name": name, "group": group, "kind": plural} if group else {"name": name, "kind": plural}
