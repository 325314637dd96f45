"""Follows the agent's own Node: one GET, then watch requests from its resourceVersion, for as long as it lives.

Runs in a thread of its own and only puts states into the mailbox: it decides and writes nothing.
"""

import http.client
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

from agent.apiserver.backoff import Backoff
from agent.apiserver.client import BODY_BYTES_MAX, NodeClient, Served, find_version, load_document
from agent.apiserver.connection import open_connection
from agent.apiserver.errors import ApiError, Expired, Gone, Unavailable, build_error
from agent.apiserver.mailbox import Mailbox

WATCH_TIMEOUT_S = 300
"""After this the server ends a watch and the next one begins: the measure of a fleet's requests per second."""
SILENCE_S_MAX = 15.0
"""A watch that is silent for longer than its time-out plus this is dead: the server ends it in time if it lives."""
RETRY_FIRST_S = 1.0
RETRY_MOST_S = 60.0
QUICK_END_S = 1.0
"""A watch that ends sooner is followed by a wait, so that a server which ends all at once is not hammered."""
MISSING_RETRY_S = 10.0
"""A Node that does not exist is looked for so often at first; it appears when the kubelet registers."""

Monotonic = Callable[[], float]
Report = Callable[[str, str], None]
"""Takes a topic and a sentence about a standing condition, an empty one when it is over."""


class NodeWatch:
    """Follows one Node until `stop`. Its methods never raise."""

    def __init__(  # noqa: PLR0913 (each is a part of the world that a test replaces)
        self,
        client: NodeClient,
        mailbox: Mailbox,
        report: Report,
        *,
        jitter: Callable[[], float],
        monotonic: Monotonic,
        timeout_s: int = WATCH_TIMEOUT_S,
    ) -> None:
        self._client = client
        self._mailbox = mailbox
        self._report = report
        self._jitter = jitter
        self._monotonic = monotonic
        self._timeout_s = timeout_s
        self._backoff = Backoff(RETRY_FIRST_S, RETRY_MOST_S, jitter)
        self._missing = Backoff(MISSING_RETRY_S, RETRY_MOST_S, jitter)
        self._stopping = threading.Event()
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def ensure_running(self) -> None:
        """Begin to follow; begin anew, after a wait, when a fault of ours has ended it."""
        if self._thread is not None and self._thread.is_alive():
            return
        wait_s = 0.0
        if self._thread is not None:
            wait_s = self._backoff.decide_wait_s()
            self._report("watch", f"a fault has ended it; it begins anew in {wait_s:.1f} s")
        self._thread = threading.Thread(target=self._run, args=(wait_s,), name="watch", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """End it, waiting at most `timeout_s` for the thread."""
        self._stopping.set()
        connection = self._socket
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self, wait_s: float) -> None:
        self._stopping.wait(wait_s)
        try:
            self._follow_for_ever()
        finally:
            self._mailbox.wake()

    def _follow_for_ever(self) -> None:
        version: str | None = None
        while not self._stopping.is_set():
            started_s = self._monotonic()
            wait_s = 0.0
            try:
                if version is None:
                    version = self._read()
                version = self._follow(version)
                self._report("watch", "")
                if self._monotonic() - started_s < QUICK_END_S:
                    wait_s = self._backoff.decide_wait_s()
                else:
                    self._backoff.reset()
            except Expired:
                version = None
                wait_s = self._backoff.decide_wait_s()
            except Gone as error:
                version = None
                self._mailbox.put(None)
                self._report("watch", f"the Node does not exist: {error}")
                wait_s = self._missing.decide_wait_s(error.retry_after_s)
            except ApiError as error:
                # What was missed while nobody watched comes with the next watch, or as `Expired`.
                self._report("watch", f"{type(error).__name__}: {error}")
                wait_s = self._backoff.decide_wait_s(error.retry_after_s)
            self._stopping.wait(wait_s)

    def _read(self) -> str:
        try:
            served = self._client.read_node()
        finally:
            self._client.close()
        self._mailbox.put(served)
        self._missing.reset()
        return served.resource_version

    def _follow(self, version: str) -> str:
        """Watch until the server ends it; return the resourceVersion to go on from."""
        timeout_s = int(self._timeout_s * (0.8 + 0.2 * self._jitter())) or 1
        try:
            connection = open_connection(self._client.endpoint, self._client.tls)
        except OSError as error:
            raise Unavailable(0, f"{type(error).__name__}: {error}") from None
        self._socket = connection.sock
        try:
            connection.sock.settimeout(timeout_s + SILENCE_S_MAX)
            connection.request("GET", self._path(version, timeout_s), headers=self._client.headers())
            response = connection.getresponse()
            if response.status != 200:
                raise build_error(response.status, response.read(BODY_BYTES_MAX), response.headers.get("Retry-After"))
            return self._take_events(response, version)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(0, f"the watch broke: {type(error).__name__}: {error}") from None
        finally:
            self._socket = None
            connection.close()

    def _take_events(self, response: http.client.HTTPResponse, version: str) -> str:
        while line := response.readline(BODY_BYTES_MAX):
            event = load_document(line)
            kind, item = event.get("type"), event.get("object")
            if not isinstance(item, dict):
                raise Unavailable(0, "a watch event without an object")
            if kind == "ERROR":
                code = item.get("code")
                raise build_error(code if isinstance(code, int) else 500, json.dumps(item).encode(), None)
            version = find_version(item) or version
            if kind == "DELETED":
                self._mailbox.put(None)
            elif kind in ("ADDED", "MODIFIED"):
                self._mailbox.put(Served(self._client.read_state(item), version, None))
            self._backoff.reset()
        return version

    def _path(self, version: str, timeout_s: int) -> str:
        selector = quote(f"metadata.name={self._client.node_name}", safe="")
        return (
            f"/api/v1/nodes?watch=1&allowWatchBookmarks=true&fieldSelector={selector}"
            f"&resourceVersion={quote(version)}&timeoutSeconds={timeout_s}"
        )
