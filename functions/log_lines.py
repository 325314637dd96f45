"""How one event's outcome reads in the log: one line of JSON as Cloud Logging takes it from stdout.

The lines are the count of events: in = done + duplicate + ignored + late + rejected + retried.
Which outcome it is, is decided elsewhere.
"""

import json
from collections.abc import Mapping

from functions.outcomes import Answer, decide_severity

TEXT_MAX = 300
"""Characters of one text in a line: an id of ours has at most 80, a Node's name 253; more is foreign."""

_HEADERS = {
    "eventId": "ce-id",
    "eventType": "ce-type",
    "runId": "ce-runid",
    "cluster": "ce-cluster",
    "node": "ce-node",
    "messageId": "x-goog-pubsub-message-id",
    "deliveryAttempt": "x-goog-pubsub-delivery-attempt",
}


def describe_delivery(attributes: Mapping[str, str]) -> dict[str, str]:
    """Name what a delivery says of itself, by its attributes in lower case; nothing of it is believed yet."""
    return {field: cut(attributes[name]) for field, name in _HEADERS.items() if attributes.get(name)}


def format_line(function: str, delivery: Mapping[str, str], answer: Answer, duration_s: float) -> str:
    """Write the line of one event, its end of line included; non-ASCII text and control characters are escaped."""
    message = f"{function}: {answer.outcome.value}"
    if answer.reason is not None:
        message += f" ({answer.reason})"
    if "runId" in delivery:
        message += f", run {delivery['runId']} of {delivery.get('cluster', '?')}/{delivery.get('node', '?')}"
    if answer.message:
        message += f": {answer.message}"
    members = {
        "severity": decide_severity(answer),
        "message": cut(message),
        "outcome": answer.outcome.value,
        "reason": answer.reason,
        "function": function,
        **delivery,
        **{name: cut(value) if isinstance(value, str) else value for name, value in answer.fields.items()},
        "durationMs": round(duration_s * 1000, 1),
    }
    return json.dumps({name: member for name, member in members.items() if member is not None}) + "\n"


def cut(text: str) -> str:
    """Cut foreign text to `TEXT_MAX` characters."""
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
