"""How a request gets to the apiserver: one connection that everybody's requests go over, each with its own token."""

import http.client
import json
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from infra.local.cluster_access import ClusterAccess
from tests.kubernetes.requests import Object, Request

ANSWER_S_MAX = 20.0
IDLE_S_MAX = 30.0
"""An apiserver closes a connection that was idle for 90 s; as other tests may run in between, ours is closed before."""


class Wire:
    """A connection to one server, kept open: a thousand requests would otherwise be a thousand TLS handshakes."""

    def __init__(self, access: ClusterAccess) -> None:
        context = ssl.create_default_context(cafile=access.ca_file)
        self._connection = http.client.HTTPSConnection(
            urlsplit(access.server).netloc, context=context, timeout=ANSWER_S_MAX
        )
        self._used_at_s = time.monotonic()

    def send(self, token: str, request: Request) -> tuple[int, Object]:
        """Send a request and return status and answer, empty where that is no JSON object."""
        body = None if request.body is None else json.dumps(request.body)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": request.content_type}
        idle_s, self._used_at_s = time.monotonic() - self._used_at_s, time.monotonic()
        if idle_s > IDLE_S_MAX:
            self._connection.close()
        try:
            self._connection.request(request.method, request.path, body, headers)
            response = self._connection.getresponse()
            return response.status, _parse(response.read())
        except http.client.HTTPException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()


def _parse(raw: bytes) -> Object:
    try:
        answer: Any = json.loads(raw)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
