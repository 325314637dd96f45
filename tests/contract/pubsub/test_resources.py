"""Topics and subscriptions, on the broker and on Google's emulator."""

import pytest
from google.api_core import exceptions
from google.protobuf.field_mask_pb2 import FieldMask

from tests.contract.pubsub.servers import PROJECT, PubSub, build_push


def test_topic_is_found_and_listed_after_its_creation(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    assert pubsub.publisher.get_topic(topic=topic).name == topic
    assert topic in [item.name for item in pubsub.publisher.list_topics(project=f"projects/{PROJECT}")]


def test_topic_of_a_taken_name_is_refused(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    with pytest.raises(exceptions.AlreadyExists):
        pubsub.publisher.create_topic(name=topic)


@pytest.mark.parametrize("topic_id", ["ab", "1abc", "goog-topic", "a b c"])
def test_topic_of_an_illegal_name_is_refused(pubsub: PubSub, topic_id: str) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        pubsub.publisher.create_topic(name=f"projects/{PROJECT}/topics/{topic_id}")


def test_deleted_topic_leaves_its_subscription_without_a_topic(pubsub: PubSub) -> None:
    name = f"projects/{PROJECT}/topics/to-be-deleted"
    pubsub.publisher.create_topic(name=name)
    subscription = pubsub.subscribe(name)
    pubsub.publisher.delete_topic(topic=name)
    assert pubsub.subscriber.get_subscription(subscription=subscription).topic == "_deleted-topic_"
    with pytest.raises(exceptions.NotFound):
        pubsub.publisher.get_topic(topic=name)


def test_subscription_is_found_and_listed_with_its_defaults(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    name = pubsub.subscribe(topic)
    found = pubsub.subscriber.get_subscription(subscription=name)
    assert (found.topic, found.ack_deadline_seconds) == (topic, 10)
    assert name in [item.name for item in pubsub.subscriber.list_subscriptions(project=f"projects/{PROJECT}")]


def test_subscription_to_a_missing_topic_is_refused(pubsub: PubSub) -> None:
    with pytest.raises(exceptions.NotFound):
        pubsub.subscribe(f"projects/{PROJECT}/topics/missing")


def test_ack_deadline_out_of_the_servers_bounds_is_refused(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    for seconds in (pubsub.traits.ack_deadline_min_s - 1, 601):
        with pytest.raises(exceptions.InvalidArgument):
            pubsub.subscribe(topic, ack_deadline_seconds=seconds)
    for seconds in (pubsub.traits.ack_deadline_min_s, 600):
        pubsub.subscribe(topic, ack_deadline_seconds=seconds)


@pytest.mark.parametrize("attempts", [4, 101])
def test_dead_letter_policy_out_of_bounds_is_refused(pubsub: PubSub, attempts: int) -> None:
    topic = pubsub.create_topic()
    with pytest.raises(exceptions.OutOfRange):
        pubsub.subscribe(topic, dead_letter_policy={"dead_letter_topic": topic, "max_delivery_attempts": attempts})


def test_dead_letter_topic_that_is_missing_is_refused(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    policy = {"dead_letter_topic": f"projects/{PROJECT}/topics/missing", "max_delivery_attempts": 5}
    with pytest.raises(exceptions.NotFound):
        pubsub.subscribe(topic, dead_letter_policy=policy)


def test_filter_of_a_subscription_cannot_be_changed(pubsub: PubSub) -> None:
    name = pubsub.subscribe(pubsub.create_topic(), filter='attributes.a = "1"')
    change = {"subscription": {"name": name, "filter": ""}, "update_mask": FieldMask(paths=["filter"])}
    with pytest.raises(exceptions.InvalidArgument):
        pubsub.subscriber.update_subscription(request=change)


def test_push_endpoint_off_this_machine_is_refused_where_the_server_says_so(pubsub: PubSub) -> None:
    topic = pubsub.create_topic()
    push = build_push("http://192.0.2.1/push")
    if pubsub.traits.refuses_foreign_endpoints:
        with pytest.raises(exceptions.InvalidArgument):
            pubsub.subscribe(topic, push_config=push)
    else:
        pubsub.subscribe(topic, push_config=push)


@pytest.mark.parametrize("setting", ["enable_message_ordering", "enable_exactly_once_delivery"])
def test_unsupported_setting_is_refused_where_the_server_says_so(pubsub: PubSub, setting: str) -> None:
    topic = pubsub.create_topic()
    if pubsub.traits.refuses_unsupported:
        with pytest.raises(exceptions.MethodNotImplemented):
            pubsub.subscribe(topic, **{setting: True})
    else:
        pubsub.subscribe(topic, **{setting: True})


def test_push_subscription_can_not_be_pulled_from_where_the_server_says_so(pubsub: PubSub) -> None:
    name = pubsub.subscribe(pubsub.create_topic(), push_config=build_push("http://127.0.0.1:9/push"))
    if pubsub.traits.refuses_pull_from_push:
        with pytest.raises(exceptions.FailedPrecondition):
            pubsub.pull_once(name)
    else:
        assert pubsub.pull_once(name) == []
