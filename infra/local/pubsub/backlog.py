"""Which message of one subscription is delivered next, and what becomes of one that was not acknowledged.

Decisions over values: `now` comes in as monotonic seconds. Who waits, who delivers and where dead letters go belong
to the broker.
"""

import heapq
from typing import NamedTuple

from infra.local.pubsub.messages import Message

BACKLOG_MESSAGES_MAX = 10_000
"""Undelivered messages of one subscription: a runaway publisher fails loudly before memory does."""
BACKLOG_BYTES_MAX = 256 * 1024 * 1024


class Delivery(NamedTuple):
    """One message handed out once; `ack_id` names this delivery, `attempt` counts from 1."""

    message: Message
    ack_id: str
    attempt: int


class Terms(NamedTuple):
    """What one subscription was created with, as far as delivery goes."""

    ack_deadline_s: float
    retry_delay_s: float
    attempts_max: int | None = None
    """Deliveries before a message is a dead letter; None delivers for ever."""


class _Lease(NamedTuple):
    delivery: Delivery
    expires_at: float


class Backlog:
    """The undelivered messages of one subscription: waiting, or leased to somebody who has not answered yet."""

    def __init__(self, terms: Terms, messages_max: int = BACKLOG_MESSAGES_MAX) -> None:
        self._terms = terms
        self._messages_max = messages_max
        self._waiting: list[tuple[float, int, int, Message]] = []
        self._leases: dict[str, _Lease] = {}
        self._size_bytes = 0
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._leases)

    def has_room(self, count: int, size_bytes: int) -> bool:
        """Tell whether so many more messages, of that size in all, fit."""
        return len(self) + count <= self._messages_max and self._size_bytes + size_bytes <= BACKLOG_BYTES_MAX

    def add(self, message: Message, now: float) -> None:
        """Take a new message in; the caller has asked `has_room`."""
        self._size_bytes += message.draft.size_bytes
        self._wait(message, attempts=0, due_at=now)

    def take(self, now: float) -> Delivery | None:
        """Lease the message that is due first; None when none is."""
        if not self._waiting or self._waiting[0][0] > now:
            return None
        _, _, attempts, message = heapq.heappop(self._waiting)
        delivery = Delivery(message, f"{message.message_id}-{attempts + 1}", attempts + 1)
        self._leases[delivery.ack_id] = _Lease(delivery, now + self._terms.ack_deadline_s)
        return delivery

    def acknowledge(self, ack_id: str) -> bool:
        """Forget a delivered message; False when that delivery is no longer leased, which changes nothing."""
        lease = self._leases.pop(ack_id, None)
        if lease is not None:
            self._size_bytes -= lease.delivery.message.draft.size_bytes
        return lease is not None

    def extend(self, ack_id: str, seconds: float, now: float) -> None:
        """Move the end of a lease to so many seconds from now; an unknown one is ignored."""
        lease = self._leases.get(ack_id)
        if lease is not None:
            self._leases[ack_id] = lease._replace(expires_at=now + seconds)

    def reject(self, ack_id: str, now: float) -> Delivery | None:
        """End a lease without success: the message waits for its retry, or comes back as a dead letter."""
        lease = self._leases.pop(ack_id, None)
        return None if lease is None else self._retry(lease.delivery, now)

    def expire(self, now: float) -> list[Delivery]:
        """Reject every delivery whose lease has run out; returns the dead letters."""
        late = [ack_id for ack_id, lease in self._leases.items() if lease.expires_at <= now]
        dead = [self.reject(ack_id, now) for ack_id in late]
        return [delivery for delivery in dead if delivery is not None]

    def restore(self, delivery: Delivery, due_at: float) -> None:
        """Take a dead letter back that could not be forwarded."""
        self._size_bytes += delivery.message.draft.size_bytes
        self._wait(delivery.message, delivery.attempt, due_at)

    def next_event_at(self) -> float | None:
        """Say when `take` or `expire` may have something to do; None while the backlog is empty."""
        instants = [lease.expires_at for lease in self._leases.values()]
        if self._waiting:
            instants.append(self._waiting[0][0])
        return min(instants, default=None)

    def _retry(self, delivery: Delivery, now: float) -> Delivery | None:
        limit = self._terms.attempts_max
        if limit is not None and delivery.attempt >= limit:
            self._size_bytes -= delivery.message.draft.size_bytes
            return delivery
        self._wait(delivery.message, delivery.attempt, now + self._terms.retry_delay_s)
        return None

    def _wait(self, message: Message, attempts: int, due_at: float) -> None:
        self._sequence += 1
        heapq.heappush(self._waiting, (due_at, self._sequence, attempts, message))
