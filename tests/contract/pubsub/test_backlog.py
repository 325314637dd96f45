"""The broker's backlog by itself: laws that hold whatever its readers do."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from infra.local.pubsub.backlog import Backlog, Delivery, Terms
from infra.local.pubsub.messages import Draft, Message

TERMS = Terms(ack_deadline_s=10, retry_delay_s=1, attempts_max=5)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "take", "acknowledge", "reject", "expire"]), st.floats(0, 15)))


def build_message(number: int) -> Message:
    return Message(Draft(b"12345", {}), str(number), datetime(2026, 11, 30, tzinfo=UTC))


class Run:
    """A backlog, and what became of each message that was put into it."""

    def __init__(self) -> None:
        self.backlog = Backlog(TERMS, messages_max=1000)
        self.now = 0.0
        self.added = 0
        self.leased: list[Delivery] = []
        self.acknowledged: list[str] = []
        self.dead: list[Delivery] = []

    def step(self, action: str, passes_s: float) -> None:
        self.now += passes_s
        if action == "add":
            self.backlog.add(build_message(self.added), self.now)
            self.added += 1
        elif action == "take":
            delivery = self.backlog.take(self.now)
            self.leased += [delivery] if delivery else []
        elif action == "expire":
            self.dead += self.backlog.expire(self.now)
        elif self.leased and action == "acknowledge":
            delivery = self.leased.pop()
            if self.backlog.acknowledge(delivery.ack_id):
                self.acknowledged.append(delivery.message.message_id)
        elif self.leased:
            dead = self.backlog.reject(self.leased.pop().ack_id, self.now)
            self.dead += [dead] if dead else []


@given(STEPS)
def test_backlog_loses_no_message_and_ends_each_once(steps: list[tuple[str, float]]) -> None:
    run = Run()
    for action, passes_s in steps:
        run.step(action, passes_s)
    ended = run.acknowledged + [delivery.message.message_id for delivery in run.dead]
    assert len(set(ended)) == len(ended)
    assert len(run.backlog) + len(ended) == run.added
    assert all(delivery.attempt == TERMS.attempts_max for delivery in run.dead)


@given(STEPS)
def test_backlog_is_empty_once_everything_is_taken_and_acknowledged(steps: list[tuple[str, float]]) -> None:
    run = Run()
    for action, passes_s in steps:
        run.step(action, passes_s)
    run.step("expire", 1000)
    while delivery := run.backlog.take(run.now + 1000):
        assert run.backlog.acknowledge(delivery.ack_id)
    assert len(run.backlog) == 0
    assert run.backlog.next_event_at() is None
    assert run.backlog.has_room(1, 256 * 1024 * 1024)


def test_backlog_delivers_in_the_order_of_publishing() -> None:
    backlog = Backlog(TERMS)
    for number in range(50):
        backlog.add(build_message(number), now=0)
    taken = [delivery.message.message_id for _ in range(50) if (delivery := backlog.take(0))]
    assert taken == [str(number) for number in range(50)]


def test_backlog_has_no_room_beyond_its_bytes() -> None:
    backlog = Backlog(TERMS)
    backlog.add(build_message(0), now=0)
    assert backlog.has_room(1, 256 * 1024 * 1024 - 5)
    assert not backlog.has_room(1, 256 * 1024 * 1024 - 4)


def test_backlog_extends_a_lease_by_the_seconds_asked() -> None:
    backlog = Backlog(TERMS)
    backlog.add(build_message(0), now=0)
    delivery = backlog.take(0)
    assert delivery is not None
    backlog.extend(delivery.ack_id, 30, now=5)
    backlog.expire(34)
    assert backlog.acknowledge(delivery.ack_id)
