"""Push delivery in both forms, retries and dead letters, on the broker and on Google's emulator."""

import base64
import json

import pytest

from tests.contract.pubsub.push_sink import PushSink
from tests.contract.pubsub.servers import PubSub, build_push, build_retry

QUIET_S = 1.5
"""How long a test looks for a redelivery that should not come; the first retry is due after 1 s."""


def test_wrapped_push_carries_the_message_and_its_subscription(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic, push_config=build_push(sink.url))
    message_id = pubsub.publish(topic, b"\x00data", {"k": "v"})
    (request,) = sink.wait_for(1)
    envelope = json.loads(request.body)
    message = envelope["message"]
    assert (request.path, request.headers["content-type"]) == ("/push", "application/json")
    assert envelope["subscription"] == subscription
    assert "deliveryAttempt" not in envelope
    assert base64.b64decode(message["data"]) == b"\x00data"
    assert message["attributes"] == {"k": "v"}
    assert message["messageId"] == message["message_id"] == message_id
    assert message["publishTime"] == message["publish_time"]
    assert message["publishTime"].endswith("Z")


def test_wrapped_push_without_data_omits_it_where_the_server_says_so(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url))
    pubsub.publish(topic, b"", {"k": "v"})
    message = json.loads(sink.wait_for(1)[0].body)["message"]
    want = None if pubsub.traits.omits_empty_data else ""
    assert message.get("data") == want


def test_unwrapped_push_with_metadata_is_a_binary_event(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    attributes = {"ce-type": "t", "ce-id": "run/report.collected", "content-type": "application/json"}
    message_id = pubsub.publish(topic, b'{"a":1}', attributes)
    (request,) = sink.wait_for(1)
    assert request.body == b'{"a":1}'
    assert {name: request.headers[name] for name in attributes} == attributes
    assert request.headers["x-goog-pubsub-subscription-name"] == subscription
    assert request.headers["x-goog-pubsub-message-id"] == message_id
    assert request.headers["x-goog-pubsub-publish-time"].endswith("Z")


def test_unwrapped_push_without_metadata_has_the_data_alone(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True, write_metadata=False))
    pubsub.publish(topic, b"data", {"ce-type": "t"})
    (request,) = sink.wait_for(1)
    assert request.body == b"data"
    assert [name for name in request.headers if name.startswith(("x-goog-pubsub", "ce-"))] == []


def test_unwrapped_push_sends_a_value_in_utf8(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    pubsub.publish(topic, b"x", {"ce-reason": "größe"})
    value = sink.wait_for(1)[0].headers["ce-reason"]
    assert value.encode("latin-1").decode("utf-8") == "größe"


def test_ordering_key_stands_in_the_metadata_where_the_server_says_so(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    pubsub.publish_all(topic, [{"data": b"x", "ordering_key": "n1"}])
    want = "n1" if pubsub.traits.keeps_ordering_key else None
    assert sink.wait_for(1)[0].headers.get("x-goog-pubsub-ordering-key") == want


@pytest.mark.parametrize("status", [200, 201, 204])
def test_push_answered_with_success_does_not_come_again(pubsub: PubSub, sink: PushSink, status: int) -> None:
    sink.answer = status
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url))
    pubsub.publish(topic)
    sink.wait_for(1)
    assert sink.count_after(QUIET_S) == 1


def test_push_answered_202_comes_again_only_where_the_server_says_so(pubsub: PubSub, sink: PushSink) -> None:
    sink.answer = 202
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url))
    pubsub.publish(topic)
    sink.wait_for(1)
    assert (sink.count_after(QUIET_S) == 1) == pubsub.traits.accepts_202


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503])
def test_push_answered_otherwise_comes_again_after_a_second(pubsub: PubSub, sink: PushSink, status: int) -> None:
    sink.answers.append(status)
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    pubsub.publish(topic)
    first, second = sink.wait_for(2)
    assert first.headers["x-goog-pubsub-message-id"] == second.headers["x-goog-pubsub-message-id"]
    assert 0.9 <= second.at - first.at < 5


def test_retry_policy_delays_the_next_push(pubsub: PubSub, sink: PushSink) -> None:
    sink.answers.append(503)
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url), retry_policy=build_retry(2))
    pubsub.publish(topic)
    first, second = sink.wait_for(2)
    want_s = 2.0 if pubsub.traits.honours_minimum_backoff else 1.0
    assert want_s * 0.9 <= second.at - first.at < want_s + 0.9


def test_push_to_an_endpoint_that_starts_late_arrives(pubsub: PubSub, sink: PushSink) -> None:
    late = PushSink()
    url = late.url
    late.close()
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(url, unwrapped=True))
    pubsub.publish(topic, b"patient")
    port = int(url.split(":")[2].split("/")[0])
    reborn = PushSink(port)
    try:
        assert reborn.wait_for(1)[0].body == b"patient"
    finally:
        reborn.close()


@pytest.mark.long
def test_push_without_an_answer_comes_again_after_the_ack_deadline(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url), ack_deadline_seconds=10)
    sink.gate.clear()
    pubsub.publish(topic)
    first, second = sink.wait_for(2, timeout_s=20)[:2]
    assert 9.5 <= second.at - first.at < 15


def test_push_that_always_fails_ends_on_the_dead_letter_topic(pubsub: PubSub, sink: PushSink) -> None:
    sink.answer = 500
    topic, graveyard = pubsub.create_topic(), pubsub.create_topic()
    reader = pubsub.subscribe(graveyard)
    policy = {"dead_letter_topic": graveyard, "max_delivery_attempts": 5}
    subscription = pubsub.subscribe(topic, push_config=build_push(sink.url), dead_letter_policy=policy)
    pubsub.publish(topic, b"poison", {"k": "v"})
    (dead,) = pubsub.pull(reader)
    requests = sink.wait_for(5)
    assert len(requests) == 5
    assert dead.message.data == b"poison"
    assert dead.message.attributes["k"] == "v"
    assert dead.message.attributes["CloudPubSubDeadLetterSourceSubscription"] == subscription.rsplit("/", 1)[-1]
    assert dead.message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    attempts = [json.loads(request.body).get("deliveryAttempt") for request in requests]
    assert attempts == ([1, 2, 3, 4, 5] if pubsub.traits.sends_delivery_attempt else [None] * 5)


def test_pushes_in_flight_are_bounded_and_nothing_is_lost(pubsub: PubSub, sink: PushSink) -> None:
    want = pubsub.traits.pushes_in_flight
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    sink.gate.clear()
    pubsub.publish_all(topic, [{"data": b"%d" % number} for number in range(20)])
    sink.wait_for(want)
    assert sink.count_after(0.5) == want
    sink.gate.set()
    received = sink.wait_for(20)
    assert sink.in_flight_max == want
    assert sorted(int(request.body) for request in received) == list(range(20))


def test_hanging_endpoint_does_not_hold_up_another_subscription(pubsub: PubSub, sink: PushSink) -> None:
    other = PushSink()
    try:
        topic = pubsub.create_topic()
        pubsub.subscribe(topic, push_config=build_push(sink.url))
        pubsub.subscribe(topic, push_config=build_push(other.url))
        sink.gate.clear()
        pubsub.publish_all(topic, [{"data": b"x"}] * 20)
        assert len(other.wait_for(20)) == 20
    finally:
        other.close()


def test_deleted_subscription_is_not_pushed_to_any_more(pubsub: PubSub, sink: PushSink) -> None:
    topic = pubsub.create_topic()
    name = f"projects/local/subscriptions/{topic.rsplit('/', 1)[-1]}"
    pubsub.subscriber.create_subscription(request={"name": name, "topic": topic, "push_config": build_push(sink.url)})
    pubsub.publish(topic)
    sink.wait_for(1)
    pubsub.subscriber.delete_subscription(subscription=name)
    pubsub.publish(topic)
    assert sink.count_after(QUIET_S) == 1


def test_retry_is_not_held_up_by_other_pushes_that_hang(pubsub: PubSub, sink: PushSink) -> None:
    sink.answers.extend([500])
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    pubsub.publish(topic, b"again")
    first = sink.wait_for(1)[0]
    sink.gate.clear()
    pubsub.publish(topic, b"hanging")
    received = sink.wait_until(lambda requests: [one.body for one in requests].count(b"again") == 2)
    assert received[-1].at - first.at < 3
