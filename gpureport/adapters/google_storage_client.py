"""How is Cloud Storage reached: one client, opened at its first use, and what its failures mean by their type.

What is asked of a bucket stands in `google_storage`.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from gpureport.adapters.first_use import LOADING
from gpureport.ports import Refused, Unavailable

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.cloud import storage

RETRY_DELAY_MIN_S = 0.2
RETRY_DELAY_MAX_S = 8.0

RETRYABLE_STATUSES = frozenset({408, 410, 429})
"""Beside 5xx. 410 is a resumable upload's session that is gone: a new upload starts from the beginning."""

DETAIL_CHARS_MAX = 200
"""How much of the server's words stands in an error."""

QUIET_SWITCH = "DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA"
"""Without it the library asks, from a thread of its own, for each bucket's metadata to label traces: one more request
a process, and a permission that agents lack. Source: google-cloud-storage 3.17, `_opentelemetry_tracing`."""


class Opened(NamedTuple):
    """The vendor's client, and how often it repeats a request."""

    client: storage.Client
    retry: Retry


class StorageClient:
    """The way to Cloud Storage for any number of buckets and threads; nothing is imported before the first use."""

    def __init__(self, project: str | None, retry_deadline_s: float) -> None:
        self._project = project
        self._retry_deadline_s = retry_deadline_s
        self._opened: Opened | None = None

    def open(self) -> Opened:
        """Return the client, the same at each call; `Refused` without credentials."""
        if self._opened is None:
            with LOADING, ERRORS_BY_TYPE:
                if self._opened is None:
                    self._opened = self._build()
        return self._opened

    def _build(self) -> Opened:
        os.environ.setdefault(QUIET_SWITCH, "true")
        from google.cloud import storage
        from google.cloud.storage.retry import DEFAULT_RETRY

        client = storage.Client(project=self._project)
        _settle_environment(client)
        retry = DEFAULT_RETRY.with_timeout(self._retry_deadline_s)
        return Opened(client, retry.with_delay(initial=RETRY_DELAY_MIN_S, maximum=RETRY_DELAY_MAX_S))


def _settle_environment(client: storage.Client) -> None:
    """Take proxies and authorities from the environment here, once, and not at each request.

    There `requests` goes through all variables twice and looks for a .netrc, a sixth of what a request costs. The
    library has no public way to a setting of its session.
    """
    session = client._http
    settled = session.merge_environment_settings(client.api_endpoint, {}, None, None, None)
    session.proxies, session.verify = settled["proxies"], settled["verify"]
    session.trust_env = False


class _ErrorsByType:
    """Turns the vendor's exceptions into ours, by type and status; foreign text is cut short. A context manager."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = None if error is None else _translate(error)
        if ours is not None:
            raise ours from error


ERRORS_BY_TYPE = _ErrorsByType()
"""Keeps no state: the same one serves every call."""


def _translate(error: BaseException) -> Unavailable | Refused | None:
    """Sort a failure; None for what is not the vendor's."""
    import requests
    import urllib3
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
    from google.cloud.storage.exceptions import InvalidResponse

    if isinstance(error, GoogleAPICallError):
        return _build_error(int(error.code or 0), error)
    if isinstance(error, InvalidResponse):
        return _build_error(int(error.response.status_code), error)
    if isinstance(error, DefaultCredentialsError):
        return Refused(_describe(error))
    later = (RetryError, GoogleAuthError, ConnectionError, TimeoutError)
    if isinstance(error, (*later, requests.RequestException, urllib3.exceptions.HTTPError)):
        return Unavailable(_describe(error))
    return None


def _build_error(status: int, error: Exception) -> Unavailable | Refused:
    kind = Unavailable if status >= 500 or status in RETRYABLE_STATUSES else Refused
    return kind(_describe(error))


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:DETAIL_CHARS_MAX]}"
