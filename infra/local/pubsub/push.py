"""How a message reaches a push endpoint, and whether the endpoint took it.

One HTTP request per delivery, by a few threads per subscription. Retries and dead letters are the backlog's matter.
"""

import base64
import http.client
import json
import re
import threading
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from infra.local.pubsub.backlog import Delivery
from infra.local.pubsub.broker import Broker, Subscription
from infra.local.pubsub.resources import PushTarget

PUSH_CONCURRENCY_MAX = 8
"""Deliveries in flight per subscription: as many as functions-framework serves at a time by default."""
IDLE_WAIT_S = 5.0
"""How long a thread waits for a message before it looks whether its subscription is still there."""
SUCCESS_STATUSES = frozenset({102, 200, 201, 202, 204})
"""Answers that acknowledge (https://cloud.google.com/pubsub/docs/push)."""
CONTENT_TYPE_DEFAULT = "application/x-www-form-urlencoded"
"""Content type of an unwrapped message without a `content-type` attribute."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FRAMING_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te"})


class PushRequest(NamedTuple):
    """What is posted; headers by lower-case name, values as bytes in UTF-8."""

    body: bytes
    headers: dict[str, bytes]


def build_push_request(target: PushTarget, subscription: str, delivery: Delivery, count_attempts: bool) -> PushRequest:
    """Build the request of one delivery, wrapped or unwrapped as the subscription says.

    An attribute that is no legal HTTP header, or would change the framing, is left out of the headers. As in Pub/Sub
    the delivery attempt stands in the wrapped form only, and only where dead-lettering is on.
    """
    if target.unwrapped:
        return PushRequest(delivery.message.draft.data, _build_headers(target, subscription, delivery))
    body = json.dumps(_build_envelope(subscription, delivery, count_attempts)).encode()
    return PushRequest(body, {"content-type": b"application/json"})


def _build_headers(target: PushTarget, subscription: str, delivery: Delivery) -> dict[str, bytes]:
    message = delivery.message
    headers = {"content-type": CONTENT_TYPE_DEFAULT}
    if target.write_metadata:
        headers.update((k.lower(), v) for k, v in message.draft.attributes.items() if _is_header(k.lower(), v))
        headers["x-goog-pubsub-subscription-name"] = subscription
        headers["x-goog-pubsub-message-id"] = message.message_id
        headers["x-goog-pubsub-publish-time"] = message.published_text
        if message.draft.ordering_key:
            headers["x-goog-pubsub-ordering-key"] = message.draft.ordering_key
    return {name: value.encode() for name, value in headers.items()}


def _is_header(name: str, value: str) -> bool:
    if name in _FRAMING_HEADERS or not _HEADER_NAME.fullmatch(name):
        return False
    return not _HEADER_VALUE_FORBIDDEN.search(value)


def _build_envelope(subscription: str, delivery: Delivery, count_attempts: bool) -> dict[str, Any]:
    """Build the JSON of a wrapped push; empty members are absent, as protobuf's JSON has it."""
    message = delivery.message
    inner: dict[str, Any] = {
        "attributes": dict(message.draft.attributes),
        "data": base64.b64encode(message.draft.data).decode(),
        "messageId": message.message_id,
        "message_id": message.message_id,
        "orderingKey": message.draft.ordering_key,
        "publishTime": message.published_text,
        "publish_time": message.published_text,
    }
    envelope: dict[str, Any] = {"message": {k: v for k, v in inner.items() if v}, "subscription": subscription}
    if count_attempts:
        envelope["deliveryAttempt"] = delivery.attempt
    return envelope


def post(endpoint: str, request: PushRequest, timeout_s: float) -> int | None:
    """Post once and return the status; None when nobody answered in time."""
    url = urlsplit(endpoint)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connection = http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=timeout_s)
    try:
        connection.request("POST", path, request.body, {**request.headers, "connection": b"close"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def start_pushing(broker: Broker, subscription: Subscription) -> None:
    """Deliver a push subscription in background threads until it is deleted or the process ends."""
    target = subscription.settings.push
    if target is None:
        return
    for number in range(PUSH_CONCURRENCY_MAX):
        name = f"push-{subscription.settings.name.rsplit('/', 1)[-1]}-{number}"
        threading.Thread(target=_run_pushing, args=(broker, subscription, target), name=name, daemon=True).start()


def _run_pushing(broker: Broker, subscription: Subscription, target: PushTarget) -> None:
    settings = subscription.settings
    count_attempts = settings.dead_letter_topic is not None
    while not (subscription.deleted or broker.closed):
        delivery = broker.take(subscription, IDLE_WAIT_S)
        if delivery is None:
            continue
        request = build_push_request(target, settings.name, delivery, count_attempts)
        status = post(target.endpoint, request, settings.terms.ack_deadline_s)
        broker.settle(subscription, delivery.ack_id, status in SUCCESS_STATUSES)
