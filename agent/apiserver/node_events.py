"""Events about the agent's own Node, as `kubectl describe node` shows them: sent aside, each once, in bounded time.

Events are for people: none is worth holding up the agent, and one that cannot be sent is said in the log. Which there
are is decided in `agent.handshake.announcements`.
"""

import http.client
import json
import ssl
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from agent.apiserver.connection import Endpoint, open_connection, read_token
from agent.apiserver.errors import ApiError, Forbidden, LostRace, Unavailable, build_error
from agent.handshake.announcements import Announcement
from gpureport.contract.instants import format_instant

PATH = "/api/v1/namespaces/default/events"
"""Events about an object without a namespace stand in `default` (validation/events.go of Kubernetes)."""

COMPONENT = "gpu-report-agent"
MESSAGE_BYTES_MAX = 1024
PENDING_MAX = 16
"""More than a day's worth; what comes beyond drops the oldest."""

REQUEST_TIMEOUT_S = 4.0
TRIES_MAX = 4
RETRY_S = 1.0
"""Grows with each try; an apiserver that has just started refuses for a tenth of a second."""
ANSWER_BYTES_MAX = 64 * 1024


class _Pending(NamedTuple):
    announcement: Announcement
    at: datetime
    tries: int = 0


class NodeEvents:
    """Sends Events from a thread of its own, which starts with the first and ends when none is left."""

    def __init__(
        self, endpoint: Endpoint, node_name: str, tls: ssl.SSLContext | None, say: Callable[[str, str], None]
    ) -> None:
        self._endpoint = endpoint
        self._node_name = node_name
        self._tls = tls
        self._say = say
        self._pending: deque[_Pending] = deque(maxlen=PENDING_MAX)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    def add(self, announcement: Announcement, at: datetime) -> None:
        """Have an Event sent; `at` is the apiserver's time. Never waits."""
        with self._changed:
            self._pending.append(_Pending(announcement, at))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="node-events", daemon=True)
                self._thread.start()

    def flush(self, timeout_s: float) -> bool:
        """Wait until all are sent or given up, at most so long; return whether that is so."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._thread is None, timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._pending:
                    self._thread = None
                    self._changed.notify_all()
                    return
                pending = self._pending.popleft()
            again = self._send(pending)
            if again is not None:
                with self._changed:
                    self._pending.appendleft(again)
                    if not self._is_stopping:
                        self._changed.wait(RETRY_S * again.tries)

    def _send(self, pending: _Pending) -> _Pending | None:
        """Send one; return it when it is to be tried again."""
        tries = pending.tries + 1
        try:
            self._post(build_event(pending.announcement, self._node_name, pending.at))
        except LostRace:
            return None  # of that name there is one already: it was sent before
        except (Unavailable, Forbidden) as error:
            if tries < TRIES_MAX:
                return pending._replace(tries=tries)
            self._say("node-events", f"an Event is not sent: {error}")
        except ApiError as error:
            self._say("node-events", f"an Event is not sent: {error}")
        return None

    def _post(self, event: dict[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {read_token(self._endpoint)}", "Content-Type": "application/json"}
        try:
            connection = open_connection(self._endpoint, self._tls)
            try:
                connection.sock.settimeout(REQUEST_TIMEOUT_S)
                connection.request("POST", PATH, json.dumps(event).encode(), headers)
                response = connection.getresponse()
                data = response.read(ANSWER_BYTES_MAX)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(0, f"{type(error).__name__}: {error}") from None
        if response.status != 201:
            raise build_error(response.status, data, response.headers.get("Retry-After"))


def build_event(announcement: Announcement, node_name: str, at: datetime) -> dict[str, Any]:
    """Build the core/v1 Event; its name is the run's and the reason's, so that the same one is never there twice."""
    instant = format_instant(at)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"gpu-report.{announcement.run_id}.{announcement.reason.lower()}", "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": announcement.node_uid},
        "type": announcement.type,
        "reason": announcement.reason,
        "message": announcement.message.encode()[:MESSAGE_BYTES_MAX].decode(errors="ignore"),
        "source": {"component": COMPONENT, "host": node_name},
        "firstTimestamp": instant,
        "lastTimestamp": instant,
        "count": 1,
    }
