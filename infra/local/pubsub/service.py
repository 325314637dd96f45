"""How Google's client libraries talk to the broker: the gRPC methods of Publisher and Subscriber that we use.

Messages of google.pubsub.v1 on the wire, generic handlers, no generated code. What a request means is decided by
the broker.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from google.pubsub_v1 import types

from infra.local.pubsub.backlog import Delivery
from infra.local.pubsub.broker import Broker, Subscription
from infra.local.pubsub.messages import Draft
from infra.local.pubsub.push import start_pushing
from infra.local.pubsub.resources import BrokerError, Problem, ProtoMessage

HANDLER_THREADS_MAX = 32
"""Requests served at a time; a waiting pull occupies one."""
REQUESTS_WAITING_MAX = 256
"""Requests accepted at a time; more are refused with RESOURCE_EXHAUSTED."""
WIRE_BYTES_MAX = 16 * 1024 * 1024
"""Largest request read at all, above Pub/Sub's own limit, so that the refusal is Pub/Sub's and not gRPC's."""
PULL_WAIT_MAX_S = 1.0
"""Longest wait of an empty pull; clients pull again."""
PULL_ANSWER_S = 0.1
"""What an answer to a pull gets to arrive in before its caller gives up and the lease is nobody's."""
PULL_MESSAGES_MAX = 1_000
MODIFY_DEADLINE_MAX_S = 600

LOCAL_SERVICE = "gpureport.local.PubSub"
COUNT_UNDELIVERED = "CountUndelivered"

_STATUS = {problem: getattr(grpc.StatusCode, problem.name) for problem in Problem}

ProtoType = Any
"""A class of `google.pubsub_v1.types`, for its `pb()`."""
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


def build_server(broker: Broker) -> grpc.Server:
    """Build the gRPC server in front of a broker; ports are added and started by the caller."""
    options = [("grpc.max_receive_message_length", WIRE_BYTES_MAX), ("grpc.so_reuseport", 0)]
    pool = ThreadPoolExecutor(HANDLER_THREADS_MAX, thread_name_prefix="grpc")
    server = grpc.server(pool, options=options, maximum_concurrent_rpcs=REQUESTS_WAITING_MAX)
    server.add_generic_rpc_handlers((_build_publisher(broker), _build_subscriber(broker), _build_local(broker)))
    return server


def _build_publisher(broker: Broker) -> grpc.GenericRpcHandler:
    methods = _PublisherMethods(broker)
    return grpc.method_handlers_generic_handler(
        "google.pubsub.v1.Publisher",
        {
            "CreateTopic": _unary(types.Topic, methods.create_topic),
            "GetTopic": _unary(types.GetTopicRequest, methods.get_topic),
            "ListTopics": _unary(types.ListTopicsRequest, methods.list_topics),
            "DeleteTopic": _unary(types.DeleteTopicRequest, methods.delete_topic),
            "Publish": _unary(types.PublishRequest, methods.publish),
        },
    )


def _build_subscriber(broker: Broker) -> grpc.GenericRpcHandler:
    methods = _SubscriberMethods(broker)
    return grpc.method_handlers_generic_handler(
        "google.pubsub.v1.Subscriber",
        {
            "CreateSubscription": _unary(types.Subscription, methods.create_subscription),
            "GetSubscription": _unary(types.GetSubscriptionRequest, methods.get_subscription),
            "UpdateSubscription": _unary(types.UpdateSubscriptionRequest, methods.update_subscription),
            "ListSubscriptions": _unary(types.ListSubscriptionsRequest, methods.list_subscriptions),
            "DeleteSubscription": _unary(types.DeleteSubscriptionRequest, methods.delete_subscription),
            "Pull": _timed(types.PullRequest, methods.pull),
            "Acknowledge": _unary(types.AcknowledgeRequest, methods.acknowledge),
            "ModifyAckDeadline": _unary(types.ModifyAckDeadlineRequest, methods.modify_ack_deadline),
        },
    )


def _build_local(broker: Broker) -> grpc.GenericRpcHandler:
    """Build the one method that Pub/Sub does not have: how much is not delivered yet, by subscription."""

    def count(_request: Empty, _context: grpc.ServicerContext) -> Struct:
        counts = Struct()
        counts.update(dict(broker.count_undelivered()))
        return counts

    handler = grpc.unary_unary_rpc_method_handler(
        count, request_deserializer=Empty.FromString, response_serializer=Struct.SerializeToString
    )
    return grpc.method_handlers_generic_handler(LOCAL_SERVICE, {COUNT_UNDELIVERED: handler})


def _unary(request_type: ProtoType, method: Callable[[ProtoMessage], ProtoMessage]) -> Handler:
    return _timed(request_type, lambda request, _remaining_s: method(request))


def _timed(request_type: ProtoType, method: Callable[[ProtoMessage, float], ProtoMessage]) -> Handler:
    """Serve a method that is told how long its caller still waits; a refusal becomes the gRPC status of its name."""

    def serve(request: ProtoMessage, context: grpc.ServicerContext) -> ProtoMessage:
        try:
            return method(request, context.time_remaining() or 0.0)
        except BrokerError as error:
            context.abort(_STATUS[error.problem], str(error))

    return grpc.unary_unary_rpc_method_handler(
        serve,
        request_deserializer=request_type.pb().FromString,
        response_serializer=lambda response: response.SerializeToString(),
    )


class _PublisherMethods:
    """google.pubsub.v1.Publisher."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def create_topic(self, request: ProtoMessage) -> ProtoMessage:
        return self._broker.create_topic(request)

    def get_topic(self, request: ProtoMessage) -> ProtoMessage:
        return self._broker.get_topic(request.topic)

    def list_topics(self, request: ProtoMessage) -> ProtoMessage:
        return types.ListTopicsResponse.pb()(topics=self._broker.list_topics(request.project))

    def delete_topic(self, request: ProtoMessage) -> ProtoMessage:
        self._broker.delete_topic(request.topic)
        return Empty()

    def publish(self, request: ProtoMessage) -> ProtoMessage:
        drafts = [Draft(m.data, dict(m.attributes), m.ordering_key) for m in request.messages]
        return types.PublishResponse.pb()(message_ids=self._broker.publish(request.topic, drafts))


class _SubscriberMethods:
    """google.pubsub.v1.Subscriber."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def create_subscription(self, request: ProtoMessage) -> ProtoMessage:
        subscription = self._broker.create_subscription(request)
        start_pushing(self._broker, subscription)
        return subscription.request

    def get_subscription(self, request: ProtoMessage) -> ProtoMessage:
        return self._broker.get_subscription(request.subscription).request

    def update_subscription(self, request: ProtoMessage) -> ProtoMessage:
        self._broker.get_subscription(request.subscription.name)
        if "filter" in request.update_mask.paths:
            raise BrokerError(Problem.INVALID_ARGUMENT, "a subscription's filter can't be changed")
        raise BrokerError(Problem.UNIMPLEMENTED, "delete the subscription and create it with the new settings")

    def list_subscriptions(self, request: ProtoMessage) -> ProtoMessage:
        found = self._broker.list_subscriptions(request.project)
        return types.ListSubscriptionsResponse.pb()(subscriptions=[item.request for item in found])

    def delete_subscription(self, request: ProtoMessage) -> ProtoMessage:
        self._broker.delete_subscription(request.subscription)
        return Empty()

    def pull(self, request: ProtoMessage, remaining_s: float) -> ProtoMessage:
        if request.max_messages < 1:
            raise BrokerError(Problem.INVALID_ARGUMENT, "max_messages is at least 1")
        subscription = self._broker.get_subscription(request.subscription)
        if subscription.settings.push is not None:
            raise BrokerError(Problem.FAILED_PRECONDITION, "a push subscription can't be pulled from")
        wait_s = 0.0 if request.return_immediately else max(0.0, min(PULL_WAIT_MAX_S, remaining_s - PULL_ANSWER_S))
        count = min(request.max_messages, PULL_MESSAGES_MAX)
        deliveries = self._broker.pull(request.subscription, count, wait_s)
        return types.PullResponse.pb()(received_messages=[_build_received(subscription, d) for d in deliveries])

    def acknowledge(self, request: ProtoMessage) -> ProtoMessage:
        self._broker.acknowledge(request.subscription, request.ack_ids)
        return Empty()

    def modify_ack_deadline(self, request: ProtoMessage) -> ProtoMessage:
        if not 0 <= request.ack_deadline_seconds <= MODIFY_DEADLINE_MAX_S:
            raise BrokerError(Problem.INVALID_ARGUMENT, f"ack_deadline_seconds is 0 to {MODIFY_DEADLINE_MAX_S}")
        self._broker.modify_ack_deadline(request.subscription, request.ack_ids, request.ack_deadline_seconds)
        return Empty()


def _build_received(subscription: Subscription, delivery: Delivery) -> ProtoMessage:
    message = delivery.message
    published = Timestamp()
    published.FromDatetime(message.published_at)
    pubsub_message = types.PubsubMessage.pb()(
        data=message.draft.data,
        attributes=message.draft.attributes,
        message_id=message.message_id,
        publish_time=published,
        ordering_key=message.draft.ordering_key,
    )
    counted = subscription.settings.dead_letter_topic is not None
    return types.ReceivedMessage.pb()(
        ack_id=delivery.ack_id, message=pubsub_message, delivery_attempt=delivery.attempt if counted else 0
    )
