"""Which event does a request bring? `cloudevents` takes the request apart, the contract's own checks judge the parts.

The library lets much through (a body that is no JSON, an instant that is none) and invents what is missing (id, time);
so nothing it returns is used before `parse_message` has judged it. Whether to act on an event is not decided here.
"""

from collections.abc import Mapping
from typing import TypeVar

from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError, load_object, shorten
from gpureport.contract.pubsub_binding import CONTENT_TYPE, DATA_BYTES_MAX, parse_message

T = TypeVar("T")

STRUCTURED = "application/cloudevents+json"
STRUCTURED_BYTES_MAX = 2 * DATA_BYTES_MAX
"""A structured event is its data and up to a hundred attributes."""

_REQUIRED = ("specversion", "id", "source", "type")


def decode_event(headers: Mapping[str, str], body: bytes) -> Event:
    """Read the CloudEvent of one request, binary or structured; `ContractError` with what is wrong.

    Headers are by lower-case name, their values as text. The data is a JSON object of at most `DATA_BYTES_MAX`.
    """
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == STRUCTURED:
        return _decode_structured(body)
    if content_type.startswith("application/cloudevents"):
        raise ContractError("event", [f"content-type: {shorten(content_type)} is not read, {STRUCTURED} is"])
    missing = [f"ce-{name}: missing" for name in _REQUIRED if not headers.get(f"ce-{name}")]
    if missing:
        raise ContractError("event", missing)
    attributes, data = _take_apart(headers, body)
    if "ce-time" not in headers:
        attributes.pop("ce-time", None)
    attributes["content-type"] = content_type
    return parse_message(data, attributes)


def _decode_structured(body: bytes) -> Event:
    given = load_object("structured event", body, STRUCTURED_BYTES_MAX)
    problems = [f"{name}: missing" for name in _REQUIRED if not given.get(name)]
    problems += [f"{shorten(name)}: not a string" for name, value in given.items() if _is_odd(name, value)]
    if problems:
        raise ContractError("structured event", problems)
    attributes, data = _take_apart({"content-type": STRUCTURED}, body)
    if "time" not in given:
        attributes.pop("ce-time", None)
    attributes["content-type"] = given.get("datacontenttype", CONTENT_TYPE)
    return parse_message(data, attributes)


def _is_odd(name: str, value: object) -> bool:
    return name not in ("data", "data_base64") and not isinstance(value, str)


def _take_apart(headers: Mapping[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    """Let the library read the request into attributes and the JSON of the data; its many complaints become one."""
    from cloudevents.exceptions import GenericException
    from cloudevents.http import from_http

    try:
        event = from_http(dict(headers), body, data_unmarshaller=_keep)
    except (GenericException, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ContractError("event", [f"not a CloudEvent: {type(error).__name__}"]) from None
    attributes = {f"ce-{name}": str(value) for name, value in event.get_attributes().items()}
    attributes.pop("ce-datacontenttype", None)
    data = event.data or b""
    return attributes, data.encode() if isinstance(data, str) else bytes(data)


def _keep(data: T) -> T:
    """Leave the data as it came: the contract's reader decodes it, once and bounded."""
    return data
