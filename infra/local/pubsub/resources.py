"""Which topics and subscriptions may exist: names, settings, and what this broker does not do.

Requests in, settings or a refusal out. Nothing is stored here.
"""

import re
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from infra.local.pubsub.backlog import Terms
from infra.local.pubsub.filters import FilterSyntaxError, Predicate, parse_filter

ProtoMessage = Any
"""A message of google.pubsub.v1: protobuf makes these classes at run time, so no static type describes them."""

ACK_DEADLINE_MIN_S = 10
ACK_DEADLINE_MAX_S = 600
RETRY_DELAY_MAX_S = 600
ATTEMPTS_MIN = 5
ATTEMPTS_MAX = 100
PUSH_RETRY_DELAY_S = 1.0
"""Delay before a failed push is tried again where the subscription has no retry policy."""

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})

_ID = "(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}"
_TOPIC = re.compile(f"projects/[^/]+/topics/{_ID}")
_SUBSCRIPTION = re.compile(f"projects/[^/]+/subscriptions/{_ID}")

_UNSUPPORTED = (
    "enable_message_ordering",
    "enable_exactly_once_delivery",
    "bigquery_config",
    "cloud_storage_config",
    "message_transforms",
)


class Problem(Enum):
    """Why a request is refused; each stands for the gRPC status of the same name."""

    INVALID_ARGUMENT = "invalid argument"
    NOT_FOUND = "not found"
    ALREADY_EXISTS = "already exists"
    OUT_OF_RANGE = "out of range"
    FAILED_PRECONDITION = "failed precondition"
    RESOURCE_EXHAUSTED = "resource exhausted"
    UNIMPLEMENTED = "unimplemented"


class BrokerError(Exception):
    """A request that the broker refuses; nothing of it was done."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class PushTarget(NamedTuple):
    """Where a push subscription delivers to, and in which form."""

    endpoint: str
    unwrapped: bool
    write_metadata: bool


class Settings(NamedTuple):
    """A subscription as the broker works with it."""

    name: str
    topic: str
    terms: Terms
    admits: Predicate
    push: PushTarget | None
    dead_letter_topic: str | None


def check_topic_name(name: str) -> None:
    """Refuse a name that Pub/Sub would refuse."""
    if not _TOPIC.fullmatch(name):
        raise BrokerError(Problem.INVALID_ARGUMENT, f"not a topic name: {name[:300]!r}")


def parse_subscription(request: ProtoMessage) -> Settings:
    """Read the settings out of a `google.pubsub.v1.Subscription`; whatever would be ignored is refused instead.

    An OIDC token is the exception: it is accepted and none is sent, since nobody here could verify one.
    """
    if not _SUBSCRIPTION.fullmatch(request.name):
        raise BrokerError(Problem.INVALID_ARGUMENT, f"not a subscription name: {request.name[:300]!r}")
    check_topic_name(request.topic)
    _refuse_unsupported(request)
    try:
        admits = parse_filter(request.filter)
    except FilterSyntaxError as error:
        raise BrokerError(Problem.INVALID_ARGUMENT, f"filter: {error}") from error
    push = _parse_push(request.push_config)
    dead_letter_topic, attempts_max = _parse_dead_letter(request)
    terms = Terms(_parse_ack_deadline_s(request), _parse_retry_delay_s(request, push), attempts_max)
    return Settings(request.name, request.topic, terms, admits, push, dead_letter_topic)


def _refuse_unsupported(request: ProtoMessage) -> None:
    present = {field.name for field, _ in request.ListFields()}
    for name in _UNSUPPORTED:
        if name in present:
            raise BrokerError(Problem.UNIMPLEMENTED, f"{name} is not supported here")


def _parse_push(config: ProtoMessage) -> PushTarget | None:
    if not config.push_endpoint:
        return None
    url = urlsplit(config.push_endpoint)
    if url.scheme != "http" or url.hostname not in LOOPBACK_HOSTS:
        raise BrokerError(Problem.INVALID_ARGUMENT, "a push endpoint is http:// on a loopback address here")
    unwrapped = config.WhichOneof("wrapper") == "no_wrapper"
    return PushTarget(config.push_endpoint, unwrapped, unwrapped and config.no_wrapper.write_metadata)


def _parse_dead_letter(request: ProtoMessage) -> tuple[str | None, int | None]:
    if not request.HasField("dead_letter_policy"):
        return None, None
    policy = request.dead_letter_policy
    check_topic_name(policy.dead_letter_topic)
    attempts = policy.max_delivery_attempts or ATTEMPTS_MIN
    if not ATTEMPTS_MIN <= attempts <= ATTEMPTS_MAX:
        raise BrokerError(
            Problem.OUT_OF_RANGE, f"max_delivery_attempts is {ATTEMPTS_MIN} to {ATTEMPTS_MAX}, not {attempts}"
        )
    return policy.dead_letter_topic, attempts


def _parse_ack_deadline_s(request: ProtoMessage) -> float:
    seconds: int = request.ack_deadline_seconds or ACK_DEADLINE_MIN_S
    if not ACK_DEADLINE_MIN_S <= seconds <= ACK_DEADLINE_MAX_S:
        raise BrokerError(
            Problem.INVALID_ARGUMENT, f"ack_deadline_seconds is {ACK_DEADLINE_MIN_S} to {ACK_DEADLINE_MAX_S}"
        )
    return seconds


def _parse_retry_delay_s(request: ProtoMessage, push: PushTarget | None) -> float:
    if not request.retry_policy.HasField("minimum_backoff"):
        return 0.0 if push is None else PUSH_RETRY_DELAY_S
    backoff = request.retry_policy.minimum_backoff
    seconds: float = backoff.seconds + backoff.nanos / 1e9
    if not 0 <= seconds <= RETRY_DELAY_MAX_S:
        raise BrokerError(Problem.INVALID_ARGUMENT, f"minimum_backoff is 0 to {RETRY_DELAY_MAX_S} s")
    return seconds
