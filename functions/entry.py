"""How a request becomes an outcome: one wrapper around every function.

Decode, refuse what is not ours, let the handler decide, write one line, answer with a status. What an event means is
the handler's matter. This is the place of the one broad `except` of the functions: no event can end the server, and
none goes uncounted.
"""

import sys
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from flask import Request
from werkzeug.exceptions import ClientDisconnected

from functions.decoding import decode_event
from functions.log_lines import describe_delivery, format_line
from functions.outcomes import Answer, Outcome, rejected, retry
from functions.settings import ConfigurationError
from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError, shorten
from gpureport.ports import Refused, Unavailable

BODY_BYTES_MAX = 1024 * 1024
"""More than sixteen times what an event of ours can have; a longer body is not kept."""
DRAIN_BYTES_MAX = 32 * 1024 * 1024
"""Cloud Run takes no longer HTTP/1 request; up to here a body is read to its end, so that its sender gets an answer."""
_DRAIN_CHUNK_BYTES = 64 * 1024

ACKNOWLEDGED = 204
NOT_ALLOWED = 405
FAULT = 500
LATER = 503

Handler = Callable[[Event], Answer]
Reply = tuple[str, int]
"""Body and status, as functions-framework takes them; the body is always empty."""


class Function(NamedTuple):
    """One entry point: its name, the types of event it takes, and how its handler is come by (once, when needed)."""

    name: str
    types: Collection[str]
    find_handler: Callable[[], Handler]


class _Refusal(NamedTuple):
    """A request that brings no event, and the status it gets."""

    answer: Answer
    status: int = ACKNOWLEDGED


def serve(request: Request, function: Function, write: Callable[[str], object] | None = None) -> Reply:
    """Serve one request and write exactly one line, to stdout unless `write` is given. Never raises."""
    started_s = time.monotonic()
    headers = _read_headers(request)
    delivery = describe_delivery(headers)
    received = _receive(request, headers)
    if isinstance(received, _Refusal):
        answer, status = received
    else:
        delivery |= describe_delivery(_name_attributes(received))
        answer, status = _answer(received, function)
    line = format_line(function.name, delivery, answer, time.monotonic() - started_s)
    (write or _write_line)(line)
    return "", status


def _receive(request: Request, headers: Mapping[str, str]) -> Event | _Refusal:
    if request.method != "POST":
        return _Refusal(rejected("not-a-push", "only POST brings events"), NOT_ALLOWED)
    try:
        body = _read_body(request)
    except (ClientDisconnected, OSError):
        return _Refusal(retry("body-cut", "the sender went away before its message was here"), LATER)
    if body is None:
        return _Refusal(rejected("too-large", f"the body is longer than {BODY_BYTES_MAX} bytes"))
    try:
        return decode_event(headers, body)
    except ContractError as error:
        return _Refusal(rejected("undecodable", str(error)))


def _answer(event: Event, function: Function) -> tuple[Answer, int]:
    if event.type not in function.types:
        return Answer(Outcome.IGNORED, "other-type"), ACKNOWLEDGED
    try:
        answer = function.find_handler()(event)
    except Unavailable as error:
        answer = retry("unavailable", str(error))
    except Refused as error:
        answer = retry("refused", f"grant the permission or mend the setting: {error}", is_error=True)
    except ConfigurationError as error:
        return retry("configuration", str(error), is_error=True), FAULT
    except Exception as error:  # noqa: BLE001 (a function's entry: any fault is told, and redelivered)
        return retry("internal", _describe_fault(error), is_error=True), FAULT
    return answer, LATER if answer.outcome is Outcome.RETRY else ACKNOWLEDGED


def _describe_fault(error: Exception) -> str:
    """Say what and where, not what with: the text of an unknown fault may hold a payload, so it is cut short."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "unknown place"
    return f"{type(error).__name__} at {where}: {shorten(str(error))}"


def _read_headers(request: Request) -> dict[str, str]:
    """Take the headers by lower-case name; WSGI reads their bytes as Latin-1, Pub/Sub writes UTF-8."""
    return {name.lower(): _as_utf8(value) for name, value in request.headers.items()}


def _as_utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _read_body(request: Request) -> bytes | None:
    """Read the body; None when it is longer than `BODY_BYTES_MAX`, the rest is read and forgotten then."""
    body = b""
    while len(body) <= BODY_BYTES_MAX:
        chunk = request.stream.read(BODY_BYTES_MAX + 1 - len(body))
        if not chunk:
            return body
        body += chunk
    drained_bytes = len(body)
    while drained_bytes < DRAIN_BYTES_MAX and (chunk := request.stream.read(_DRAIN_CHUNK_BYTES)):
        drained_bytes += len(chunk)
    return None


def _name_attributes(event: Event) -> dict[str, str]:
    names = {"ce-id": event.id, "ce-type": event.type}
    return names | {f"ce-{name}": value for name, value in event.extensions.items()}


def _write_line(line: str) -> None:
    """Write a line as a whole, whatever other threads write."""
    sys.stdout.write(line)
    sys.stdout.flush()
