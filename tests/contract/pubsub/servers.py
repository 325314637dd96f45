"""The two servers that the suite runs on, how a test talks to them, and where they differ."""

import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import grpc
from google.api_core import exceptions
from google.protobuf.duration_pb2 import Duration
from google.pubsub_v1 import PublisherClient, SubscriberClient, types
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

PROJECT = "local"
START_TIMEOUT_S = 40.0
STOP_TIMEOUT_S = 10.0
CALL_TIMEOUT_S = 10.0
LOOK_TIMEOUT_S = 1.0
"""How long a test looks for a message that should not come."""
POLL_PERIOD_S = 0.02


class Traits(NamedTuple):
    """Where the two servers differ; Pub/Sub itself is as the broker, as far as its documentation says."""

    honours_filters: bool
    """A filter decides what is delivered, and a bad one is refused; else it is stored and ignored."""
    enforces_request_limit: bool
    """A publish of more than 10 MB is refused."""
    enforces_attribute_limits: bool
    """More than 100 attributes, keys over 256 and values over 1,024 bytes, reserved keys are refused."""
    accepts_202: bool
    """A push that is answered 202 is acknowledged; else it is redelivered."""
    sends_delivery_attempt: bool
    """A wrapped push of a subscription with a dead-letter topic tells its attempt."""
    omits_empty_data: bool
    """A wrapped push of a message without data has no `data`; else it has an empty one."""
    keeps_ordering_key: bool
    """The ordering key reaches a subscription without ordered delivery."""
    pushes_in_flight: int
    """Requests in flight per push subscription."""
    honours_minimum_backoff: bool
    """The first retry waits for the retry policy's minimum; else for 1 s."""
    ack_deadline_min_s: int
    """Shortest ack deadline that is taken."""
    refuses_pull_from_push: bool
    """A subscription with a push endpoint can't be pulled from; else a pull finds nothing."""
    refuses_foreign_endpoints: bool
    """A push endpoint off the loopback addresses is refused."""
    refuses_unsupported: bool
    """Ordered and exactly-once delivery are refused; else they are accepted."""
    bounds_backlog: bool
    """A publish that would overfill a subscription's backlog is refused."""
    counts_undelivered: bool
    """The messages not acknowledged yet can be asked for."""


BROKER = Traits(
    honours_filters=True,
    enforces_request_limit=True,
    enforces_attribute_limits=True,
    accepts_202=True,
    sends_delivery_attempt=True,
    omits_empty_data=True,
    keeps_ordering_key=True,
    pushes_in_flight=8,
    honours_minimum_backoff=True,
    ack_deadline_min_s=10,
    refuses_pull_from_push=True,
    refuses_foreign_endpoints=True,
    refuses_unsupported=True,
    bounds_backlog=True,
    counts_undelivered=True,
)
EMULATOR = Traits(
    honours_filters=False,
    enforces_request_limit=False,
    enforces_attribute_limits=False,
    accepts_202=False,
    sends_delivery_attempt=False,
    omits_empty_data=False,
    keeps_ordering_key=False,
    pushes_in_flight=2,
    honours_minimum_backoff=False,
    ack_deadline_min_s=0,
    refuses_pull_from_push=False,
    refuses_foreign_endpoints=False,
    refuses_unsupported=False,
    bounds_backlog=False,
    counts_undelivered=False,
)

BACKLOG_MAX = 200
"""What the broker is started with, small so that a test can fill it."""


class Server(NamedTuple):
    """One running server."""

    name: str
    address: str
    traits: Traits


def build_command(name: str, folder: Path) -> list[str]:
    """Build the command line that serves; it writes its address to `folder/ready`."""
    ready = ["--ready-file", str(folder / "ready")]
    if name == "broker":
        return [sys.executable, "-m", "infra.local.pubsub", *ready, "--backlog-max", str(BACKLOG_MAX)]
    return [sys.executable, "-m", "infra.local.pubsub.emulator", *ready, "--log-file", str(folder / "emulator.log")]


@contextmanager
def run_server(name: str, folder: Path) -> Iterator[Server]:
    """Serve in a process of its own until the block ends; it fails, by name, where the server can't start."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(build_command(name, folder), stdout=output, stderr=subprocess.STDOUT)
    try:
        ready = folder / "ready"
        wait_until(lambda: ready.exists() or process.poll() is not None, START_TIMEOUT_S)
        if not ready.exists():
            raise AssertionError(f"{name} does not start: {(folder / 'output').read_text()[-500:]}")
        yield Server(name, ready.read_text().strip(), BROKER if name == "broker" else EMULATOR)
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)


def wait_until(holds: Callable[[], bool], timeout_s: float) -> None:
    """Poll until the condition holds; an `AssertionError` after the time-out."""
    until = monotonic() + timeout_s
    pause = threading.Event()
    while not holds():
        if monotonic() > until:
            raise AssertionError(f"still not so after {timeout_s} s")
        pause.wait(POLL_PERIOD_S)


class PubSub:
    """One test's own topics and subscriptions on a server; whatever it made is deleted by `close`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.traits = server.traits
        self._channel = grpc.insecure_channel(server.address)
        self.publisher = PublisherClient(transport=PublisherGrpcTransport(channel=self._channel))
        self.subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=self._channel))
        self._subscriptions: list[str] = []
        self._topics: list[str] = []

    def create_topic(self) -> str:
        """Create a topic under a fresh name and return that."""
        name = f"projects/{PROJECT}/topics/t{uuid.uuid4().hex}"
        self.publisher.create_topic(name=name, timeout=CALL_TIMEOUT_S)
        self._topics.append(name)
        return name

    def subscribe(self, topic: str, **settings: Any) -> str:
        """Create a subscription with these fields of google.pubsub.v1.Subscription and return its name."""
        name = f"projects/{PROJECT}/subscriptions/s{uuid.uuid4().hex}"
        request = {"name": name, "topic": topic, **settings}
        self.subscriber.create_subscription(request=request, timeout=CALL_TIMEOUT_S)
        self._subscriptions.append(name)
        return name

    def publish(self, topic: str, data: bytes = b"x", attributes: Mapping[str, str] | None = None) -> str:
        """Publish one message and return its id."""
        return self.publish_all(topic, [{"data": data, "attributes": attributes or {}}])[0]

    def publish_all(self, topic: str, messages: list[dict[str, Any]]) -> list[str]:
        """Publish messages in one request, with no retry, and return their ids."""
        request = {"topic": topic, "messages": messages}
        answer = self.publisher.publish(request=request, retry=None, timeout=CALL_TIMEOUT_S)
        return list(answer.message_ids)

    def pull(self, subscription: str, count: int = 1, timeout_s: float = 15.0) -> list[types.ReceivedMessage]:
        """Pull until that many messages have come, without acknowledging them."""
        until = monotonic() + timeout_s
        received: list[types.ReceivedMessage] = []
        while len(received) < count:
            if monotonic() > until:
                raise AssertionError(f"{len(received)} of {count} messages after {timeout_s} s")
            received += self.pull_once(subscription, count - len(received), CALL_TIMEOUT_S)
        return received

    def pull_once(
        self, subscription: str, count: int = 10, timeout_s: float = LOOK_TIMEOUT_S
    ) -> list[types.ReceivedMessage]:
        """Pull what comes within the time-out; empty when nothing does."""
        request = {"subscription": subscription, "max_messages": count}
        try:
            answer = self.subscriber.pull(request=request, retry=None, timeout=timeout_s)
        except exceptions.DeadlineExceeded:
            return []
        return list(answer.received_messages)

    def acknowledge(self, subscription: str, received: list[types.ReceivedMessage]) -> None:
        """Acknowledge deliveries."""
        ids = [one.ack_id for one in received]
        self.subscriber.acknowledge(subscription=subscription, ack_ids=ids, timeout=CALL_TIMEOUT_S)

    def reject(self, subscription: str, received: list[types.ReceivedMessage]) -> None:
        """Give deliveries back at once."""
        request = {
            "subscription": subscription,
            "ack_ids": [one.ack_id for one in received],
            "ack_deadline_seconds": 0,
        }
        self.subscriber.modify_ack_deadline(request=request, timeout=CALL_TIMEOUT_S)

    def close(self) -> None:
        """Delete what was made, and the connection."""
        for name in self._subscriptions:
            self.subscriber.delete_subscription(subscription=name, timeout=CALL_TIMEOUT_S)
        for name in self._topics:
            self.publisher.delete_topic(topic=name, timeout=CALL_TIMEOUT_S)
        self._channel.close()


def build_push(url: str, *, unwrapped: bool = False, write_metadata: bool = True) -> dict[str, Any]:
    """Build a push_config for one of the two delivery forms."""
    if not unwrapped:
        return {"push_endpoint": url}
    return {"push_endpoint": url, "no_wrapper": {"write_metadata": write_metadata}}


def build_retry(seconds: float) -> dict[str, Any]:
    """Build a retry_policy with that minimum."""
    whole = int(seconds)
    return {"minimum_backoff": Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))}
