"""When did a Node become what somebody waits for? A watch of one Node that notes when each change arrived.

A watch and not repeated reading: asking often would slow down what is measured on a machine of two cores.
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlsplit

from bench.rows import NotMeasured
from infra.local.cluster_access import ClusterAccess

WAIT_S_MAX = 60.0


class Seen(NamedTuple):
    """One state of the Node, and when it arrived, in seconds of the system's clock."""

    at_s: float
    node: dict[str, Any]

    @property
    def annotations(self) -> dict[str, str]:
        """The Node's annotations."""
        found: dict[str, str] = self.node["metadata"].get("annotations") or {}
        return found


class NodeWatch:
    """A watch of one Node; a context manager. One thread."""

    def __init__(self, cluster: ClusterAccess, node: str, wait_s_max: float = WAIT_S_MAX) -> None:
        address = urlsplit(cluster.server)
        if address.scheme == "https":
            context = ssl.create_default_context(cafile=cluster.ca_file or None)
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                address.netloc, timeout=wait_s_max, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(address.netloc, timeout=wait_s_max)
        self._wait_s_max = wait_s_max
        path = f"/api/v1/nodes?watch=true&fieldSelector={quote(f'metadata.name={node}')}"
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {cluster.token}"})
        self._stream = self._connection.getresponse()
        if self._stream.status != http.client.OK:
            raise NotMeasured(f"watching {node}: {self._stream.status}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def wait_for(self, holds: Callable[[Seen], bool], what: str) -> Seen:
        """Read on until a state is the one wanted; `NotMeasured` when it does not come in time."""
        until = time.monotonic() + self._wait_s_max
        while time.monotonic() < until:
            seen = self._read()
            if seen is not None and holds(seen):
                return seen
        raise NotMeasured(f"{what}: not within {self._wait_s_max:.0f} s")

    def _read(self) -> Seen | None:
        try:
            line = self._stream.readline()
        except TimeoutError:
            raise NotMeasured(f"nothing happened on the Node for {self._wait_s_max:.0f} s") from None
        at_s = time.time()
        if not line:
            raise NotMeasured("the watch ended")
        event = json.loads(line)
        return Seen(at_s, event["object"]) if event["type"] in ("ADDED", "MODIFIED") else None
