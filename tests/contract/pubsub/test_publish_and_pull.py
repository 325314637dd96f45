"""Publishing, pulling, acknowledging and dead-lettering, on the broker and on Google's emulator."""

from typing import Any

import pytest
from google.api_core import exceptions
from google.pubsub_v1 import types

from infra.local.pubsub.undelivered import count_undelivered
from tests.contract.pubsub.servers import BACKLOG_MAX, PROJECT, PubSub


def test_message_arrives_as_it_was_published(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    want_id = pubsub.publish(topic, b"\x00\xff", {"ce-type": "grün"})
    (received,) = pubsub.pull(subscription)
    assert received.message.message_id == want_id
    assert received.message.data == b"\x00\xff"
    assert dict(received.message.attributes) == {"ce-type": "grün"}
    assert types.PubsubMessage.pb(received.message).publish_time.seconds > 1_700_000_000
    assert received.delivery_attempt == 0


def test_every_subscription_gets_its_own_copy(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    first, second = pubsub.subscribe(topic), pubsub.subscribe(topic)
    want_id = pubsub.publish(topic)
    pubsub.acknowledge(first, pubsub.pull(first))
    assert pubsub.pull(second)[0].message.message_id == want_id


def test_messages_of_one_request_get_ids_of_their_own(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    want_ids = pubsub.publish_all(topic, [{"data": b"1"}, {"data": b"2"}, {"data": b"3"}])
    received = pubsub.pull(subscription, 3)
    assert sorted(one.message.message_id for one in received) == sorted(want_ids)
    assert len(set(want_ids)) == 3


def test_message_from_before_the_subscription_is_not_delivered(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    pubsub.publish(topic, b"early")
    subscription = pubsub.subscribe(topic)
    pubsub.publish(topic, b"late")
    assert pubsub.pull(subscription)[0].message.data == b"late"


def test_acknowledged_message_does_not_come_again(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish(topic, b"first")
    pubsub.acknowledge(subscription, pubsub.pull(subscription))
    pubsub.publish(topic, b"second")
    assert pubsub.pull(subscription)[0].message.data == b"second"


def test_rejected_message_comes_again_with_the_same_id(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish(topic)
    first = pubsub.pull(subscription)
    pubsub.reject(subscription, first)
    (second,) = pubsub.pull(subscription)
    assert second.message.message_id == first[0].message.message_id
    assert second.ack_id != first[0].ack_id


@pytest.mark.long
def test_message_that_nobody_acknowledges_comes_again_after_the_deadline(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic, ack_deadline_seconds=10)
    pubsub.publish(topic)
    first = pubsub.pull(subscription)
    assert pubsub.pull_once(subscription) == []
    second = pubsub.pull(subscription, timeout_s=20)
    assert second[0].message.message_id == first[0].message.message_id


def test_acknowledging_an_unknown_delivery_changes_nothing(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish(topic)
    received = pubsub.pull(subscription)
    pubsub.acknowledge(subscription, received)
    pubsub.acknowledge(subscription, received)


def test_rejected_message_ends_on_the_dead_letter_topic_with_its_origin(pubsub: PubSub) -> None:
    topic, graveyard = pubsub.create_topic(), pubsub.create_topic()
    reader = pubsub.subscribe(graveyard)
    policy = {"dead_letter_topic": graveyard, "max_delivery_attempts": 5}
    subscription = pubsub.subscribe(topic, dead_letter_policy=policy)
    pubsub.publish(topic, b"poison", {"k": "v"})
    attempts = []
    for _ in range(5):
        received = pubsub.pull(subscription)
        attempts.append(received[0].delivery_attempt)
        pubsub.reject(subscription, received)
    assert pubsub.pull_once(subscription) == []
    (dead,) = pubsub.pull(reader)
    assert attempts == [1, 2, 3, 4, 5]
    assert dead.message.data == b"poison"
    attributes = dict(dead.message.attributes)
    assert attributes.pop("CloudPubSubDeadLetterSourceTopicPublishTime").startswith("20")
    assert attributes == {
        "k": "v",
        "CloudPubSubDeadLetterSourceDeliveryCount": "5",
        "CloudPubSubDeadLetterSourceSubscription": subscription.rsplit("/", 1)[-1],
        "CloudPubSubDeadLetterSourceSubscriptionProject": PROJECT,
    }


def test_publish_to_a_missing_topic_is_refused(pubsub: PubSub) -> None:
    with pytest.raises(exceptions.NotFound):
        pubsub.publish(f"projects/{PROJECT}/topics/missing")


@pytest.mark.parametrize("messages", [[], [{}]], ids=["no message", "empty message"])
def test_publish_of_nothing_is_refused(pubsub: PubSub, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        pubsub.publish_all(pubsub.create_topic(), messages)


def test_message_of_attributes_alone_is_taken(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish(topic, b"", {"k": "v"})
    assert dict(pubsub.pull(subscription)[0].message.attributes) == {"k": "v"}


def test_publish_of_more_than_ten_megabytes_is_refused_where_the_server_says_so(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    if pubsub.traits.enforces_request_limit:
        with pytest.raises(exceptions.InvalidArgument):
            pubsub.publish(topic, bytes(10_000_001))
    else:
        pubsub.publish(topic, bytes(10_000_001))


@pytest.mark.parametrize(
    "attributes",
    [{f"k{n}": "v" for n in range(101)}, {"k" * 257: "v"}, {"k": "v" * 1025}, {"goog-k": "v"}],
    ids=["101 attributes", "long key", "long value", "reserved key"],
)
def test_attributes_beyond_the_limits_are_refused_where_the_server_says_so(
    pubsub: PubSub, attributes: dict[str, str]
) -> None:
    topic = pubsub.create_topic()
    if pubsub.traits.enforces_attribute_limits:
        with pytest.raises(exceptions.InvalidArgument):
            pubsub.publish(topic, attributes=attributes)
    else:
        pubsub.publish(topic, attributes=attributes)


def test_attributes_at_the_limits_are_taken(pubsub: PubSub) -> None:
    attributes = {f"k{n}": "v" for n in range(98)} | {"k" * 256: "v", "k": "v" * 1024}
    assert pubsub.publish(pubsub.create_topic(), attributes=attributes)


def test_publish_beyond_a_backlog_is_refused_as_a_whole_where_the_server_says_so(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish_all(topic, [{"data": b"x"}] * (BACKLOG_MAX - 1))
    if not pubsub.traits.bounds_backlog:
        pubsub.publish_all(topic, [{"data": b"x"}] * 2)
        return
    with pytest.raises(exceptions.ResourceExhausted):
        pubsub.publish_all(topic, [{"data": b"x"}] * 2)
    pubsub.publish(topic)
    assert len(pubsub.pull(subscription, BACKLOG_MAX)) == BACKLOG_MAX
    assert pubsub.pull_once(subscription) == []


def test_undelivered_messages_are_counted_until_they_are_acknowledged(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic)
    pubsub.publish_all(topic, [{"data": b"x"}] * 2)
    received = pubsub.pull(subscription, 2)
    if not pubsub.traits.counts_undelivered:
        with pytest.raises(Exception, match="UNIMPLEMENTED"):
            count_undelivered(pubsub.server.address)
        return
    counts = [count_undelivered(pubsub.server.address)[subscription]]
    for one in received:
        pubsub.acknowledge(subscription, [one])
        counts.append(count_undelivered(pubsub.server.address)[subscription])
    assert counts == [2, 1, 0]
