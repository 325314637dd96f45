"""CloudEvents in a Pub/Sub message, binary mode, both ways.

Attributes are `ce-<name>`, the data's type is `content-type`, the data is the message's.
Values are not percent-encoded.
Source: googleapis/google-cloudevents, docs/spec/pubsub.md (working draft), sections 3.1.1 to 3.1.3.
"""

import json
import re
from collections.abc import Mapping

from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError, load_object, shorten
from gpureport.contract.instants import format_instant, parse_instant

SPEC_VERSION = "1.0"
CONTENT_TYPE = "application/json"

DATA_BYTES_MAX = 64 * 1024
"""Our largest event holds a claim and an output, 12 KiB; more is not ours."""
ATTRIBUTE_BYTES_MAX = 1024
"""Pub/Sub's limit for an attribute's value."""

_EXTENSION_NAME = re.compile(r"[a-z0-9]{1,20}")
_CORE = ("id", "source", "type", "specversion", "time")
_NOT_EXTENSIONS = (*_CORE, "data", "datacontenttype", "dataschema", "subject")


def format_message(event: Event) -> tuple[bytes, dict[str, str]]:
    """Turn an event into a message's data and attributes.

    `ContractError` for what Pub/Sub or `parse_message` would refuse, `ValueError` for data that JSON cannot express.
    """
    attributes = {
        "content-type": CONTENT_TYPE,
        "ce-specversion": SPEC_VERSION,
        "ce-id": event.id,
        "ce-source": event.source,
        "ce-type": event.type,
    }
    if event.time is not None:
        attributes["ce-time"] = format_instant(event.time)
    for name, value in event.extensions.items():
        attributes[f"ce-{name}"] = value
    problems = [
        f"{shorten(name)}: longer than {ATTRIBUTE_BYTES_MAX} bytes"
        for name, value in attributes.items()
        if len(value.encode()) > ATTRIBUTE_BYTES_MAX
    ]
    problems += [f"ce-{name}: missing" for name in ("id", "source", "type") if not attributes[f"ce-{name}"]]
    problems += [f"{shorten(name)}: not an extension's name" for name in event.extensions if not _is_extension(name)]
    data = json.dumps(event.data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(data) > DATA_BYTES_MAX:
        problems.append(f"data: {len(data)} bytes, at most {DATA_BYTES_MAX}")
    if problems:
        raise ContractError("event", problems)
    return data, attributes


def _is_extension(name: str) -> bool:
    return name not in _NOT_EXTENSIONS and _EXTENSION_NAME.fullmatch(name) is not None


def parse_message(data: bytes, attributes: Mapping[str, str]) -> Event:
    """Read an event out of a message's data and attributes (names in any case); `ContractError` with every fault."""
    lowered = {name.lower(): value for name, value in attributes.items()}
    problems = ["attributes: a name is given twice"] if len(lowered) < len(attributes) else []
    core = {name: lowered.pop(f"ce-{name}", "") for name in _CORE}
    problems += [f"ce-{name}: missing" for name in ("id", "source", "type") if not core[name]]
    if core["specversion"] != SPEC_VERSION:
        problems.append(f"ce-specversion: {shorten(core['specversion'])} is not {SPEC_VERSION}")
    content_type = lowered.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != CONTENT_TYPE:
        problems.append(f"content-type: {shorten(content_type)} is not {CONTENT_TYPE}")
    time, members = None, {}
    try:
        time = parse_instant(core["time"]) if core["time"] else None
    except ValueError as error:
        problems.append(f"ce-time: {shorten(core['time'])} is {error}")
    try:
        members = load_object("event data", data, DATA_BYTES_MAX)
    except ContractError as error:
        problems += [f"data: {problem}" for problem in error.problems]
    if problems:
        raise ContractError("event", problems)
    extensions = {name.removeprefix("ce-"): value for name, value in lowered.items() if name.startswith("ce-")}
    return Event(core["type"], core["id"], core["source"], members, time, extensions)
