"""How long is waited, and what time it is: backoff, the server's clock, and the mailbox that wakes the loop."""

import select
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.apiserver.backoff import RETRY_AFTER_S_MAX, Backoff
from agent.apiserver.client import Served
from agent.apiserver.mailbox import Mailbox
from agent.apiserver.server_clock import ServerClock
from gpureport.contract.nodes import NodeState

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)


def test_backoff_doubles_up_to_its_maximum() -> None:
    backoff = Backoff(30, 600, lambda: 1.0)
    assert [backoff.decide_wait_s() for _ in range(7)] == [30, 60, 120, 240, 480, 600, 600]
    backoff.reset()
    assert backoff.decide_wait_s() == 30


@given(failures=st.integers(0, 200), jitter=st.floats(0, 1), asked=st.one_of(st.none(), st.floats(0, 1e9)))
def test_backoff_is_never_zero_and_never_endless(failures: int, jitter: float, asked: float | None) -> None:
    backoff = Backoff(1, 60, lambda: jitter)
    for _ in range(failures):
        backoff.decide_wait_s()
    wait_s = backoff.decide_wait_s(asked)
    assert 0.5 <= wait_s <= RETRY_AFTER_S_MAX * 1.2
    if asked is not None:
        assert wait_s >= min(asked, RETRY_AFTER_S_MAX)


def test_server_clock_goes_on_from_the_last_answer() -> None:
    clock = ServerClock()
    with pytest.raises(ValueError, match="no server"):
        clock.read(0)
    clock.see(AT, 100.0)
    clock.see(None, 200.0)
    assert clock.read(103.5) == AT + timedelta(seconds=3.5)
    assert clock.read(90.0) == AT


def served(**members: str) -> Served:
    return Served(NodeState("n1", "uid", True, True, **members), "1", None)


def is_awake(mailbox: Mailbox) -> bool:
    return bool(select.select([mailbox.wake_fd], [], [], 0)[0])


def test_mailbox_holds_the_newest_state_and_wakes_once() -> None:
    mailbox = Mailbox()
    mailbox.put(served(status="collect"))
    mailbox.put(served(status="in-progress"))
    assert is_awake(mailbox)
    delivery = mailbox.take()
    assert delivery is not None
    assert delivery.served is not None
    assert delivery.served.state.status == "in-progress"
    assert not is_awake(mailbox)
    assert mailbox.take() is None


def test_mailbox_does_not_wake_for_what_it_said_before() -> None:
    mailbox = Mailbox()
    mailbox.put(served(status="collect"))
    mailbox.take()
    mailbox.put(served(status="collect"))
    assert not is_awake(mailbox)
    mailbox.put(None)
    delivery = mailbox.take()
    assert delivery is not None
    assert delivery.served is None


def test_mailbox_says_that_a_node_was_never_there() -> None:
    mailbox = Mailbox()
    mailbox.put(None)
    assert is_awake(mailbox)
