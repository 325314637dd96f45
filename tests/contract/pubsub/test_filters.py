"""Filters, on the broker; and on Google's emulator, which ignores them."""

import pytest
from google.api_core import exceptions

from tests.contract.pubsub.servers import PubSub

MESSAGES = {
    "collected": {"ce-type": "dev.gpureport.report.collected.v1", "ce-severity": "info"},
    "failed": {"ce-type": "dev.gpureport.report.failed.v1", "ce-severity": "warning", "ce-reason": "timeout"},
    "xid": {"ce-type": "dev.gpureport.gpu.xid.v1", "ce-severity": "warning", "odd key": 'a"b'},
}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('attributes.ce-type = "dev.gpureport.gpu.xid.v1"', ["xid"]),
        ('attributes.ce-type="dev.gpureport.gpu.xid.v1"', ["xid"]),
        ('attributes.ce-type != "dev.gpureport.gpu.xid.v1"', ["collected", "failed"]),
        ('attributes.ce-reason != "timeout"', ["collected", "xid"]),
        ("attributes:ce-reason", ["failed"]),
        ("NOT attributes:ce-reason", ["collected", "xid"]),
        ("-attributes:ce-reason", ["collected", "xid"]),
        ('hasPrefix(attributes.ce-type, "dev.gpureport.report.")', ["collected", "failed"]),
        ('hasPrefix(attributes.ce-reason, "")', ["failed"]),
        ('attributes.ce-severity = "info" OR attributes:ce-reason', ["collected", "failed"]),
        ('attributes.ce-severity = "warning" AND NOT attributes:ce-reason', ["xid"]),
        (
            'hasPrefix(attributes.ce-type, "dev.") AND (attributes:ce-reason OR attributes.ce-severity = "info")',
            ["collected", "failed"],
        ),
        ('NOT (attributes:ce-reason OR attributes.ce-severity = "info")', ["xid"]),
        (r'attributes."odd key" = "a\"b"', ["xid"]),
        (r'attributes.ce-reason = "\u0074imeout"', ["failed"]),
        ('attributes.ce-reason = "Timeout"', []),
    ],
)
def test_filter_decides_what_is_delivered_where_it_is_honoured(pubsub: PubSub, text: str, want: list[str]) -> None:
    topic = pubsub.create_topic()
    subscription = pubsub.subscribe(topic, filter=text)
    messages = [{"data": name.encode(), "attributes": attributes} for name, attributes in MESSAGES.items()]
    pubsub.publish_all(topic, messages)
    assert pubsub.subscriber.get_subscription(subscription=subscription).filter == text
    expected = want if pubsub.traits.honours_filters else list(MESSAGES)
    received = pubsub.pull(subscription, len(expected))
    received += pubsub.pull_once(subscription, timeout_s=0.3)
    assert sorted(one.message.data.decode() for one in received) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "attributes.a",
        "attributes.a = b",
        '"b" = attributes.a',
        'attributes.a = "b',
        'attributes.a == "b"',
        'attributes.a = "b" and attributes.c = "d"',
        'attributes.a = "b" AND attributes:c OR attributes:d',
        'attributes.a = "b" AND',
        '(attributes.a = "b"',
        'attributes.a = "b")',
        'attributes.a = "b" attributes:c',
        'hasPrefix(attributes.a "b")',
        'hasSuffix(attributes.a, "b")',
        r'attributes.a = "\q"',
        "attributes:a/b",
        'data = "x"',
        "NOT",
        " ",
        "(" * 100 + "attributes:a" + ")" * 100,
        f'attributes.a = "{"b" * 256}"',
    ],
)
def test_filter_of_bad_syntax_is_refused_where_filters_are_honoured(pubsub: PubSub, text: str) -> None:
    topic = pubsub.create_topic()
    if pubsub.traits.honours_filters:
        with pytest.raises(exceptions.InvalidArgument):
            pubsub.subscribe(topic, filter=text)
    else:
        pubsub.subscribe(topic, filter=text)
