"""A `gpureport.ports.Publisher` in memory, for tests of whatever publishes."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError
from gpureport.contract.pubsub_binding import format_message, parse_message
from gpureport.ports import Refused, Unavailable

PUBLISHED_MAX = 100_000
"""Events kept; more is a test that runs away."""


class Published(NamedTuple):
    """One event as a subscriber would read it."""

    topic: str
    event: Event
    message_id: str


class MemoryPublisher:
    """Keeps what is published to the given topics, in order; `failure`, once set, is raised instead."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.published: list[Published] = []
        self.failure: Unavailable | Refused | None = None
        self._topics = frozenset(topics)
        self._message_ids = itertools.count(1)

    def publish(self, topic: str, event: Event) -> str:
        """Keep one event and return its message id; `Refused` for an unknown topic or an event against the contract."""
        try:
            data, attributes = format_message(event)
        except ContractError as error:
            raise Refused(f"publish to {topic}: {error}") from error
        if self.failure is not None:
            raise self.failure
        if topic not in self._topics or len(self.published) >= PUBLISHED_MAX:
            raise Refused(f"publish to {topic}: no such topic, or more than {PUBLISHED_MAX} events")
        message_id = str(next(self._message_ids))
        self.published.append(Published(topic, parse_message(data, attributes), message_id))
        return message_id
