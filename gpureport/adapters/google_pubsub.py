"""Publishes events to the topics of one Google Cloud project: `gpureport.ports.Publisher` with google-cloud-pubsub.

What an event is and how it stands in a message is the contract's matter; what to do when publishing fails is the
caller's.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gpureport.adapters.first_use import LOADING
from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError
from gpureport.contract.pubsub_binding import format_message
from gpureport.ports import Refused, Unavailable

if TYPE_CHECKING:
    from google.pubsub_v1 import PublisherClient

TIMEOUT_S = 30.0
"""Longest wait for the server's message id, retries of a broken connection included."""
RETRY_DELAY_MIN_S = 0.1
RETRY_DELAY_MAX_S = 2.0
DETAIL_CHARS_MAX = 200
"""How much of the server's words stands in an error."""


class GooglePublisher:
    """A `Publisher` for one project; to be closed. One instance serves any number of threads.

    It uses the client generated from Pub/Sub's API, below the batching one of the same package: one event a request,
    nothing waits for a batch to fill. Google's libraries are imported at the first publish, which takes 0.3 to 0.5 s:
    a function that publishes nothing does not pay for them. PUBSUB_EMULATOR_HOST is honoured, by Google's library.
    """

    def __init__(self, project: str, timeout_s: float = TIMEOUT_S) -> None:
        self._project = project
        self._timeout_s = timeout_s
        self._client: PublisherClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, topic: str, event: Event) -> str:
        """Publish one event and wait for the server's message id; `topic` is the short name.

        Raises `Unavailable` when no id came within the time-out or the server asked for later, `Refused` when the
        topic is missing or the message is not taken. After `Unavailable` the event may have been published all the
        same: its `ce-id` tells.
        """
        with LOADING:
            from google.api_core import exceptions, retry
            from google.auth.exceptions import GoogleAuthError

        try:
            data, attributes = format_message(event)
        except ContractError as error:
            raise Refused(f"publish to {topic}: {_shorten(error)}") from error
        again = retry.Retry(
            predicate=retry.if_exception_type(exceptions.ServiceUnavailable),
            initial=RETRY_DELAY_MIN_S,
            maximum=RETRY_DELAY_MAX_S,
            timeout=self._timeout_s,
        )
        request = {
            "topic": f"projects/{self._project}/topics/{topic}",
            "messages": [{"data": data, "attributes": attributes}],
        }
        try:
            answer = self._connect().publish(request=request, retry=again, timeout=self._timeout_s)
        except (exceptions.GoogleAPICallError, exceptions.RetryError) as error:
            raise _translate(error)(f"publish to {topic}: {_shorten(error)}") from error
        except GoogleAuthError as error:
            kind = Unavailable if error.retryable else Refused
            raise kind(f"publish to {topic}: {_shorten(error)}") from error
        message_id: str = answer.message_ids[0]
        return message_id

    def close(self) -> None:
        """Close the connection; a later publish opens a new one."""
        with LOADING:
            client, self._client = self._client, None
        if client is not None:
            transport: Any = client.transport
            transport.close()

    def _connect(self) -> "PublisherClient":
        with LOADING:
            if self._client is None:
                from google.pubsub_v1 import PublisherClient

                self._client = PublisherClient()
            return self._client


def _translate(error: Exception) -> type[Unavailable | Refused]:
    """Sort a failure by its type: whether the same call may succeed later."""
    from google.api_core import exceptions

    later = (
        exceptions.RetryError,
        exceptions.TooManyRequests,
        exceptions.Aborted,
        exceptions.Cancelled,
        exceptions.ServerError,
    )
    never = (exceptions.MethodNotImplemented, exceptions.DataLoss)
    return Unavailable if isinstance(error, later) and not isinstance(error, never) else Refused


def _shorten(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:DETAIL_CHARS_MAX]
