"""Who gets which message: topics, subscriptions and everything that is published, in memory.

Every method may be called from any thread. gRPC and HTTP stand outside, in `service` and `push`.
"""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from infra.local.pubsub.backlog import BACKLOG_MESSAGES_MAX, Backlog, Delivery
from infra.local.pubsub.messages import Draft, Message, build_dead_letter, find_publish_problem
from infra.local.pubsub.resources import (
    BrokerError,
    Problem,
    ProtoMessage,
    Settings,
    check_topic_name,
    parse_subscription,
)

DELETED_TOPIC = "_deleted-topic_"
"""What a subscription names as its topic once that is deleted, as in Pub/Sub."""
RESOURCES_MAX = 1_000
"""Topics, and subscriptions, that may exist at a time."""
FORWARD_RETRY_S = 1.0
"""Delay before a dead letter whose topic is gone or full is delivered, and then forwarded, once more."""
FIRST_MESSAGE_ID = 1_000

T = TypeVar("T")


class Subscription:
    """One subscription: its settings, its backlog, and those who wait for a message of it."""

    def __init__(self, request: ProtoMessage, settings: Settings, backlog: Backlog, lock: threading.RLock) -> None:
        self.request = request
        self.settings = settings
        self.backlog = backlog
        self.arrival = threading.Condition(lock)
        self.deleted = False


class Broker:
    """A Pub/Sub of one process; `monotonic` is the clock that leases and retries are counted by, in seconds."""

    def __init__(
        self, backlog_max: int = BACKLOG_MESSAGES_MAX, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._lock = threading.RLock()
        self._monotonic = monotonic
        self._backlog_max = backlog_max
        self._topics: dict[str, ProtoMessage] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._message_ids = itertools.count(FIRST_MESSAGE_ID)
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def create_topic(self, request: ProtoMessage) -> ProtoMessage:
        """Store a `google.pubsub.v1.Topic` and return it."""
        check_topic_name(request.name)
        with self._lock:
            _refuse_new(request.name, self._topics)
            self._topics[request.name] = request
        return request

    def get_topic(self, name: str) -> ProtoMessage:
        """Return the topic as it was created."""
        with self._lock:
            return _find(name, self._topics)

    def list_topics(self, project: str) -> list[ProtoMessage]:
        """Return a project's topics by name; `project` is `projects/P`."""
        with self._lock:
            return [self._topics[name] for name in sorted(self._topics) if name.startswith(f"{project}/")]

    def delete_topic(self, name: str) -> None:
        """Delete a topic; its subscriptions stay and can be drained."""
        with self._lock:
            _find(name, self._topics)
            del self._topics[name]
            for subscription in self._subscriptions.values():
                if subscription.settings.topic == name:
                    subscription.settings = subscription.settings._replace(topic=DELETED_TOPIC)
                    subscription.request.topic = DELETED_TOPIC

    def create_subscription(self, request: ProtoMessage) -> Subscription:
        """Store a `google.pubsub.v1.Subscription`; it gets what is published from now on."""
        settings = parse_subscription(request)
        with self._lock:
            _refuse_new(request.name, self._subscriptions)
            _find(settings.topic, self._topics)
            if settings.dead_letter_topic is not None:
                _find(settings.dead_letter_topic, self._topics)
            request.ack_deadline_seconds = int(settings.terms.ack_deadline_s)
            backlog = Backlog(settings.terms, self._backlog_max)
            subscription = Subscription(request, settings, backlog, self._lock)
            self._subscriptions[request.name] = subscription
        return subscription

    def get_subscription(self, name: str) -> Subscription:
        """Return a live subscription."""
        with self._lock:
            return _find(name, self._subscriptions)

    def list_subscriptions(self, project: str = "projects") -> list[Subscription]:
        """Return a project's subscriptions by name; `project` is `projects/P`, everything by default."""
        with self._lock:
            names = sorted(name for name in self._subscriptions if name.startswith(f"{project}/"))
            return [self._subscriptions[name] for name in names]

    def delete_subscription(self, name: str) -> None:
        """Delete a subscription and what it has not delivered; who waits for it is woken."""
        with self._lock:
            subscription = self.get_subscription(name)
            del self._subscriptions[name]
            subscription.deleted = True
            subscription.arrival.notify_all()

    def publish(self, topic: str, drafts: Sequence[Draft]) -> list[str]:
        """Publish all drafts or none; returns the message ids.

        `RESOURCE_EXHAUSTED` when one subscription's backlog has no room for what its filter admits.
        """
        problem = find_publish_problem(drafts)
        if problem is not None:
            raise BrokerError(Problem.INVALID_ARGUMENT, problem)
        with self._lock:
            _find(topic, self._topics)
            return self._fan_out(topic, drafts)

    def pull(self, name: str, count: int, wait_s: float) -> list[Delivery]:
        """Lease up to `count` messages, waiting at most `wait_s` for the first; empty when none came."""
        first = self.take(self.get_subscription(name), wait_s)
        if first is None:
            return []
        deliveries = [first]
        with self._lock:
            backlog = self.get_subscription(name).backlog
            while len(deliveries) < count and (delivery := backlog.take(self._monotonic())):
                deliveries.append(delivery)
        return deliveries

    def take(self, subscription: Subscription, wait_s: float) -> Delivery | None:
        """Lease one message, waiting at most `wait_s`; None when none came, or on deletion or close."""
        until = self._monotonic() + wait_s
        with self._lock:
            while not (self._closed or subscription.deleted):
                now = self._monotonic()
                self._expire(subscription, now)
                delivery = subscription.backlog.take(now)
                if delivery is not None or now >= until:
                    # Whoever leaves may have been the one that watched for the next retry: let another look.
                    subscription.arrival.notify()
                    return delivery
                next_at = subscription.backlog.next_event_at()
                wake_at = until if next_at is None else min(until, next_at)
                subscription.arrival.wait(max(0.0, wake_at - now))
        return None

    def settle(self, subscription: Subscription, ack_id: str, succeeded: bool) -> None:
        """End one delivery: acknowledged, or rejected and tried again after the retry delay."""
        with self._lock:
            if succeeded:
                subscription.backlog.acknowledge(ack_id)
            else:
                self._forward(subscription, subscription.backlog.reject(ack_id, self._monotonic()))
                subscription.arrival.notify()

    def acknowledge(self, name: str, ack_ids: Sequence[str]) -> None:
        """Forget delivered messages; expired and unknown ids are ignored, as in Pub/Sub."""
        with self._lock:
            backlog = self.get_subscription(name).backlog
            for ack_id in ack_ids:
                backlog.acknowledge(ack_id)

    def modify_ack_deadline(self, name: str, ack_ids: Sequence[str], seconds: int) -> None:
        """Move leases; 0 seconds gives the messages back."""
        with self._lock:
            subscription = self.get_subscription(name)
            now = self._monotonic()
            for ack_id in ack_ids:
                if seconds:
                    subscription.backlog.extend(ack_id, seconds, now)
                else:
                    self.settle(subscription, ack_id, succeeded=False)

    def expire_leases(self) -> None:
        """End every lease that has run out; called in a loop, so that dead letters move without a reader."""
        with self._lock:
            for subscription in list(self._subscriptions.values()):
                self._expire(subscription, self._monotonic())

    def count_undelivered(self) -> dict[str, int]:
        """Return how many messages of each subscription are not acknowledged yet."""
        with self._lock:
            return {name: len(subscription.backlog) for name, subscription in self._subscriptions.items()}

    def close(self) -> None:
        """Wake everybody who waits; no message is handed out any more."""
        with self._lock:
            self._closed = True
            for subscription in self._subscriptions.values():
                subscription.arrival.notify_all()

    def _fan_out(self, topic: str, drafts: Sequence[Draft]) -> list[str]:
        published_at, now = datetime.now(UTC), self._monotonic()
        messages = [Message(draft, str(next(self._message_ids)), published_at) for draft in drafts]
        readers = [reader for reader in self._subscriptions.values() if reader.settings.topic == topic]
        admitted = [(r, [m for m in messages if r.settings.admits(m.draft.attributes)]) for r in readers]
        for reader, wanted in admitted:
            if not reader.backlog.has_room(len(wanted), sum(message.draft.size_bytes for message in wanted)):
                raise BrokerError(Problem.RESOURCE_EXHAUSTED, f"the backlog of {reader.settings.name} is full")
        for reader, wanted in admitted:
            for message in wanted:
                reader.backlog.add(message, now)
            reader.arrival.notify(len(wanted))
        return [message.message_id for message in messages]

    def _expire(self, subscription: Subscription, now: float) -> None:
        for dead in subscription.backlog.expire(now):
            self._forward(subscription, dead)

    def _forward(self, subscription: Subscription, dead: Delivery | None) -> None:
        """Publish a dead letter; where that is refused, keep the message for a later try."""
        topic = subscription.settings.dead_letter_topic
        if dead is None or topic is None:
            return
        draft = build_dead_letter(dead.message, subscription.settings.name, dead.attempt)
        try:
            _find(topic, self._topics)
            self._fan_out(topic, [draft])
        except BrokerError:
            subscription.backlog.restore(dead, self._monotonic() + FORWARD_RETRY_S)


def _refuse_new(name: str, existing: dict[str, T]) -> None:
    if name in existing:
        raise BrokerError(Problem.ALREADY_EXISTS, f"{name} exists")
    if len(existing) >= RESOURCES_MAX:
        raise BrokerError(Problem.RESOURCE_EXHAUSTED, f"at most {RESOURCES_MAX} of a kind")


def _find(name: str, existing: dict[str, T]) -> T:
    if name not in existing:
        raise BrokerError(Problem.NOT_FOUND, f"no such resource: {name[:300]}")
    return existing[name]
