"""Reads and patches the agent's own Node, and nothing else: one request at a time, everything bounded.

Instants come from the server's Date header. What is written is decided in `agent.handshake`.
"""

import http.client
import json
import ssl
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from agent.apiserver.connection import Endpoint, open_connection, read_token
from agent.apiserver.errors import Unavailable, build_error
from gpureport.contract.instants import parse_http_date
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import NodeState, read_node_state

REQUEST_TIMEOUT_S = 10.0
"""For each read from the socket. A stalled etcd answers after 34 s; by then the agent has backed off and asks anew."""
BODY_BYTES_MAX = 16 * 1024 * 1024
"""A Node with the most labels and annotations that Kubernetes allows is below 2 MiB."""
JSON_PATCH = "application/json-patch+json"


class Served(NamedTuple):
    """The Node as one answer showed it; `served_at` is the server's clock, None when it did not say."""

    state: NodeState
    resource_version: str
    served_at: datetime | None


class NodeClient:
    """Reads and patches one Node. Every method may raise `ApiError`, by its kind."""

    def __init__(
        self,
        endpoint: Endpoint,
        node_name: str,
        keys: Keys,
        agent_version: str,
        *,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.endpoint = endpoint
        self.node_name = node_name
        self.tls = tls
        self._keys = keys
        self._path = f"/api/v1/nodes/{node_name}"
        self._user_agent = f"gpureport-agent/{agent_version}"
        self._connection: http.client.HTTPConnection | None = None

    def read_node(self) -> Served:
        """Read the Node consistently, as the store has it."""
        return self._serve("GET", None)

    def patch_node(self, operations: Sequence[dict[str, Any]]) -> Served:
        """Apply one RFC 6902 patch as a whole and return the Node after it."""
        return self._serve("PATCH", json.dumps(operations, separators=(",", ":")).encode())

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read_state(self, document: dict[str, Any]) -> NodeState:
        """Read the members we know out of a Node object; `Unavailable` when it is none, or another Node."""
        try:
            state = read_node_state(document, self._keys)
        except (KeyError, TypeError, AttributeError):
            raise Unavailable(0, "the answer is not a Node") from None
        if state.name != self.node_name:
            raise Unavailable(0, f"the answer is about Node {state.name!r}, not {self.node_name}")
        return state

    def headers(self) -> dict[str, str]:
        """Build the headers of a request, the token as its file has it now."""
        return {
            "Authorization": f"Bearer {read_token(self.endpoint)}",
            "Accept": "application/json",
            "User-Agent": self._user_agent,
        }

    def _serve(self, method: str, body: bytes | None) -> Served:
        headers = self.headers() | ({"Content-Type": JSON_PATCH} if body is not None else {})
        response, data = self._exchange(method, body, headers)
        if response.status != 200:
            raise build_error(response.status, data, response.headers.get("Retry-After"))
        document = load_document(data)
        return Served(self.read_state(document), find_version(document), find_date(response))

    def _exchange(
        self, method: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        is_reused = self._connection is not None
        try:
            return self._exchange_once(method, body, headers)
        except Unavailable:
            # A kept connection may have been closed meanwhile. Only a read is repeated at once: of a patch nobody
            # knows whether it was done.
            if not is_reused or method != "GET":
                raise
            return self._exchange_once(method, body, headers)

    def _exchange_once(
        self, method: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            if self._connection is None:
                self._connection = open_connection(self.endpoint, self.tls)
                self._connection.sock.settimeout(REQUEST_TIMEOUT_S)
            self._connection.request(method, self._path, body, headers)
            response = self._connection.getresponse()
            data = response.read(BODY_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unavailable(0, f"{method} {self.node_name}: {type(error).__name__}: {error}") from None
        if response.will_close or len(data) > BODY_BYTES_MAX:
            self.close()
        if len(data) > BODY_BYTES_MAX:
            raise Unavailable(response.status, f"the answer has more than {BODY_BYTES_MAX} bytes")
        return response, data


def load_document(data: bytes) -> dict[str, Any]:
    """Decode one JSON object; `Unavailable` when it is none."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise Unavailable(0, "the answer is not JSON") from None
    if not isinstance(document, dict):
        raise Unavailable(0, "the answer is not a JSON object")
    return document


def find_version(document: dict[str, Any]) -> str:
    """Read an object's resourceVersion; empty when it has none."""
    metadata = document.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else ""


def find_date(response: http.client.HTTPResponse) -> datetime | None:
    """Read the Date header, if the server sent one that can be read."""
    text = response.headers.get("Date")
    try:
        return None if text is None else parse_http_date(text)
    except (ValueError, TypeError):
        return None
