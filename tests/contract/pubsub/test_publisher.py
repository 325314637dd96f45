"""The `Publisher` port: the fake, and Google's client on the broker and on Google's emulator."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from time import monotonic
from typing import NamedTuple

import pytest

from gpureport.adapters.google_pubsub import GooglePublisher
from gpureport.contract.events import REPORT_COLLECTED, Event, build_run_event
from gpureport.contract.pubsub_binding import parse_message
from gpureport.ports import Publisher, Refused, Unavailable
from tests.contract.pubsub.servers import BACKLOG_MAX, PROJECT, PubSub, Server
from tests.fakes.publisher import MemoryPublisher

EVENT = build_run_event(
    REPORT_COLLECTED,
    cluster="prod",
    node="n1",
    run_id="7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b",
    at=datetime(2026, 11, 30, 9, 15, tzinfo=UTC),
    data={"text": "größer"},
)


class Subject(NamedTuple):
    """A publisher, a topic that it may publish to, and how to read what arrived there."""

    publisher: Publisher
    topic: str
    read: Callable[[int], list[tuple[str, Event]]]


def build_fake() -> Subject:
    publisher = MemoryPublisher(["reports"])
    return Subject(publisher, "reports", lambda count: [(p.message_id, p.event) for p in publisher.published[:count]])


@pytest.fixture(params=["fake", "broker", "emulator"])
def subject(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Subject]:
    """Each publisher in turn; Google's finds its server by the environment, as Google's own tools do."""
    if request.param == "fake":
        yield build_fake()
        return
    server: Server = request.getfixturevalue(request.param)
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", server.address)
    pubsub = PubSub(server)
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)

    def read(count: int) -> list[tuple[str, Event]]:
        messages = [one.message for one in pubsub.pull(subscription, count)]
        return [(m.message_id, parse_message(m.data, dict(m.attributes))) for m in messages]

    with GooglePublisher(PROJECT) as publisher:
        yield Subject(publisher, topic.rsplit("/", 1)[-1], read)
    pubsub.close()


def test_publisher_delivers_events_as_they_were_under_the_ids_it_returned(subject: Subject) -> None:
    events = [EVENT, EVENT._replace(id="another")]
    want = [(subject.publisher.publish(subject.topic, event), event) for event in events]
    assert len({message_id for message_id, _ in want}) == 2
    assert sorted(subject.read(2), key=lambda pair: pair[1].id) == sorted(want, key=lambda pair: pair[1].id)


def test_publisher_refuses_a_missing_topic(subject: Subject) -> None:
    with pytest.raises(Refused):
        subject.publisher.publish("missing", EVENT)


def test_publisher_refuses_an_event_against_the_contract(subject: Subject) -> None:
    with pytest.raises(Refused):
        subject.publisher.publish(subject.topic, EVENT._replace(source="x" * 1025))


def test_publisher_gives_every_thread_its_own_id(subject: Subject) -> None:
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(subject.publisher.publish(subject.topic, EVENT))) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(set(ids)) == 16


def test_fake_publisher_raises_the_failure_it_is_given() -> None:
    publisher = MemoryPublisher(["reports"])
    publisher.failure = Unavailable("down")
    with pytest.raises(Unavailable):
        publisher.publish("reports", EVENT)
    assert publisher.published == []


def test_google_publisher_opens_a_new_connection_after_close(broker: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", broker.address)
    pubsub = PubSub(broker)
    topic = pubsub.create_topic().rsplit("/", 1)[-1]
    publisher = GooglePublisher(PROJECT)
    first = publisher.publish(topic, EVENT)
    publisher.close()
    assert publisher.publish(topic, EVENT) != first
    publisher.close()
    publisher.close()
    pubsub.close()


def test_google_publisher_is_unavailable_while_a_backlog_is_full(
    broker: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", broker.address)
    pubsub = PubSub(broker)
    topic = pubsub.create_topic()
    pubsub.subscribe(topic)
    pubsub.publish_all(topic, [{"data": b"x"}] * BACKLOG_MAX)
    with GooglePublisher(PROJECT) as publisher, pytest.raises(Unavailable):
        publisher.publish(topic.rsplit("/", 1)[-1], EVENT)
    pubsub.close()


def test_google_publisher_is_unavailable_in_time_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{port}")
    started_at = monotonic()
    with GooglePublisher(PROJECT, timeout_s=1.0) as publisher, pytest.raises(Unavailable):
        publisher.publish("reports", EVENT)
    assert monotonic() - started_at < 4


def test_google_publisher_is_unavailable_in_time_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{silent.getsockname()[1]}")
        started_at = monotonic()
        with GooglePublisher(PROJECT, timeout_s=1.0) as publisher, pytest.raises(Unavailable):
            publisher.publish("reports", EVENT)
        assert monotonic() - started_at < 4


def test_google_publisher_imports_no_google_library_before_it_publishes() -> None:
    script = (
        "import sys; from gpureport.adapters.google_pubsub import GooglePublisher; GooglePublisher('p').close();"
        "print({'grpc', 'google.api_core', 'google.auth', 'google.protobuf', 'google.pubsub_v1'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.strip() == "set()"
