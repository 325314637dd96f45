"""What stands in Pub/Sub and Cloud Storage before the first event: topics, subscriptions and buckets.

The same shape as in production: push with payload unwrapping and metadata, a filter, a retry policy, a dead letter.
"""

from datetime import timedelta

import grpc
from google.api_core.exceptions import AlreadyExists
from google.cloud import pubsub_v1, storage
from google.pubsub_v1.services.publisher.transports.grpc import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports.grpc import SubscriberGrpcTransport

from gpureport.contract.events import REPORT_ARCHIVED, REPORT_REJECTED, REPORTS, RESULTS, TOPICS

PROJECT = "local"
STAGING = "staging"
ARCHIVE = "archive"
DEAD_LETTER = "dead-letter"

REDELIVERY_S = 1
"""Seconds between deliveries; ten in production, where a function's cold start is the usual cause."""
ATTEMPTS_MAX = 100
"""Deliveries before the dead letter: more than a minute and a half of a function being away."""
ACK_DEADLINE_S = 60
"""Seconds a function has for one event, which is also the push's HTTP time-out."""
CALL_S_MAX = 10.0

REPORT_FILTER = 'hasPrefix(attributes.ce-type, "dev.gpureport.report.")'
RESULT_FILTER = f'attributes.ce-type = "{REPORT_ARCHIVED}" OR attributes.ce-type = "{REPORT_REJECTED}"'


def topic_path(topic: str) -> str:
    """Return a topic's full name."""
    return f"projects/{PROJECT}/topics/{topic}"


def subscription_path(subscription: str) -> str:
    """Return a subscription's full name."""
    return f"projects/{PROJECT}/subscriptions/{subscription}"


def ensure_topics(pubsub: str) -> None:
    """Create the topics; `pubsub` is HOST:PORT of a server without TLS."""
    with grpc.insecure_channel(pubsub) as channel:
        publisher = pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=channel))
        for topic in (*TOPICS, DEAD_LETTER):
            try:
                publisher.create_topic(name=topic_path(topic), timeout=CALL_S_MAX)
            except AlreadyExists:
                continue


def ensure_subscriptions(pubsub: str, archive_report_url: str, write_status_url: str) -> None:
    """Create the push subscriptions of both functions, and pull ones to look at: `dead-letter` and `results`."""
    with grpc.insecure_channel(pubsub) as channel:
        subscriber = pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
        for subscription in (
            _push("archive-report", REPORTS, archive_report_url, REPORT_FILTER),
            _push("write-status", RESULTS, write_status_url, RESULT_FILTER),
            {"name": subscription_path("dead-letter"), "topic": topic_path(DEAD_LETTER)},
            {"name": subscription_path("results"), "topic": topic_path(RESULTS)},
        ):
            try:
                subscriber.create_subscription(request=subscription, timeout=CALL_S_MAX)
            except AlreadyExists:
                continue


def ensure_buckets(storage_url: str) -> None:
    """Create the buckets."""
    from google.auth.credentials import AnonymousCredentials

    client = storage.Client(
        project=PROJECT, credentials=AnonymousCredentials(), client_options={"api_endpoint": storage_url}
    )
    for bucket in (STAGING, ARCHIVE):
        if client.lookup_bucket(bucket, timeout=CALL_S_MAX) is None:
            client.create_bucket(bucket, timeout=CALL_S_MAX)
    client.close()


def _push(name: str, topic: str, url: str, message_filter: str) -> dict[str, object]:
    return {
        "name": subscription_path(name),
        "topic": topic_path(topic),
        "filter": message_filter,
        "ack_deadline_seconds": ACK_DEADLINE_S,
        "push_config": {"push_endpoint": url, "no_wrapper": {"write_metadata": True}},
        "retry_policy": {
            "minimum_backoff": timedelta(seconds=REDELIVERY_S),
            "maximum_backoff": timedelta(seconds=REDELIVERY_S),
        },
        "dead_letter_policy": {
            "dead_letter_topic": topic_path(DEAD_LETTER),
            "max_delivery_attempts": ATTEMPTS_MAX,
        },
    }
