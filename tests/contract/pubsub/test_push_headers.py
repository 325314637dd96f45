"""Attributes that are no HTTP headers, on the broker; Google's emulator keeps some such messages for ever."""

import pytest

from tests.contract.pubsub.push_sink import PushSink
from tests.contract.pubsub.servers import PubSub, Server, build_push


@pytest.mark.parametrize(
    ("attributes", "want"),
    [
        ({"host": "elsewhere"}, {}),
        ({"Transfer-Encoding": "chunked"}, {}),
        ({"content-length": "1"}, {}),
        ({"a b": "1"}, {}),
        ({"a:b": "1"}, {}),
        ({"grün": "1"}, {}),
        ({"k": "1\r\nx-injected: 1"}, {}),
        ({"k": "1\nx-injected: 1"}, {}),
        ({"k": "a\tb"}, {"k": "a\tb"}),
        ({"x-goog-pubsub-message-id": "forged"}, {}),
        ({"Mixed-Case": "1"}, {"mixed-case": "1"}),
    ],
)
def test_attribute_that_is_no_header_is_left_out_and_the_message_arrives(
    broker: Server, sink: PushSink, attributes: dict[str, str], want: dict[str, str]
) -> None:
    pubsub = PubSub(broker)
    topic = pubsub.create_topic()
    pubsub.subscribe(topic, push_config=build_push(sink.url, unwrapped=True))
    message_id = pubsub.publish(topic, b"data", {**attributes, "ce-id": "1"})
    (request,) = sink.wait_for(1)
    pubsub.close()
    headers = dict(request.headers)
    framing = {"host": sink.url.split("/")[2], "content-length": "4", "connection": "close"}
    assert request.body == b"data"
    assert {name: headers.pop(name) for name in framing} == framing
    assert headers.pop("x-goog-pubsub-message-id") == message_id
    for name in ("accept-encoding", "x-goog-pubsub-subscription-name", "x-goog-pubsub-publish-time"):
        headers.pop(name)
    assert headers == {"content-type": "application/x-www-form-urlencoded", "ce-id": "1", **want}
