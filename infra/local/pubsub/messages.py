"""What a message on its way through the broker is, and which messages a topic takes.

Values and Pub/Sub's documented limits; no state, no clock of its own.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

REQUEST_BYTES_MAX = 10_000_000
"""All messages of one publish request (https://cloud.google.com/pubsub/quotas)."""
REQUEST_MESSAGES_MAX = 1_000
ATTRIBUTES_MAX = 100
ATTRIBUTE_KEY_BYTES_MAX = 256
ATTRIBUTE_VALUE_BYTES_MAX = 1_024
ORDERING_KEY_BYTES_MAX = 1_024
RESERVED_KEY_PREFIX = "goog"

DEAD_LETTER_PREFIX = "CloudPubSubDeadLetterSource"


class Draft(NamedTuple):
    """A message as its publisher sent it."""

    data: bytes
    attributes: Mapping[str, str]
    ordering_key: str = ""

    @property
    def size_bytes(self) -> int:
        """What it counts for, in limits and backlogs."""
        return len(self.data) + sum(len(k.encode()) + len(v.encode()) for k, v in self.attributes.items())


class Message(NamedTuple):
    """A published message: the draft, and what the server gave it."""

    draft: Draft
    message_id: str
    published_at: datetime

    @property
    def published_text(self) -> str:
        """The publish time as it stands in push requests and in dead-letter attributes."""
        return format_instant(self.published_at)


def format_instant(instant: datetime) -> str:
    """Write an aware instant as RFC 3339 in UTC, with milliseconds."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def find_publish_problem(drafts: Sequence[Draft]) -> str | None:
    """Say what makes a publish request unacceptable; None when nothing does."""
    if not 1 <= len(drafts) <= REQUEST_MESSAGES_MAX:
        return f"a request carries 1 to {REQUEST_MESSAGES_MAX} messages"
    if sum(draft.size_bytes for draft in drafts) > REQUEST_BYTES_MAX:
        return f"the request is larger than {REQUEST_BYTES_MAX} bytes"
    return next((problem for problem in map(_find_problem, drafts) if problem), None)


def _find_problem(draft: Draft) -> str | None:
    if not draft.data and not draft.attributes:
        return "a message needs data or at least one attribute"
    if len(draft.attributes) > ATTRIBUTES_MAX:
        return f"a message has at most {ATTRIBUTES_MAX} attributes"
    if len(draft.ordering_key.encode()) > ORDERING_KEY_BYTES_MAX:
        return f"an ordering key has at most {ORDERING_KEY_BYTES_MAX} bytes"
    return next((problem for pair in draft.attributes.items() if (problem := _find_attribute_problem(*pair))), None)


def _find_attribute_problem(key: str, value: str) -> str | None:
    if not 1 <= len(key.encode()) <= ATTRIBUTE_KEY_BYTES_MAX:
        return f"an attribute's key has 1 to {ATTRIBUTE_KEY_BYTES_MAX} bytes"
    if key.startswith(RESERVED_KEY_PREFIX):
        return f"keys that start with {RESERVED_KEY_PREFIX} are reserved"
    if len(value.encode()) > ATTRIBUTE_VALUE_BYTES_MAX:
        return f"an attribute's value has at most {ATTRIBUTE_VALUE_BYTES_MAX} bytes"
    return None


def build_dead_letter(message: Message, subscription: str, attempts: int) -> Draft:
    """Build what the dead-letter topic gets: the message, and where it died.

    `subscription` is the full resource name. Source: the four attributes in
    https://cloud.google.com/pubsub/docs/dead-letter-topics.
    """
    _, project, _, subscription_id = subscription.split("/")
    origin = {
        "DeliveryCount": str(attempts),
        "Subscription": subscription_id,
        "SubscriptionProject": project,
        "TopicPublishTime": message.published_text,
    }
    marks = {DEAD_LETTER_PREFIX + key: value for key, value in origin.items()}
    return message.draft._replace(attributes={**message.draft.attributes, **marks})
