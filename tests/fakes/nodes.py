"""The Nodes of one cluster in memory, with kube-apiserver's JSON patch, to which contract/apiserver holds it.

A patch that does not test the Node's uid is a mistake that a real server would let pass: here it fails the test.
"""

import copy
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gpureport.ports import PatchOutcome, Refused, ServedNode
from infra.local.apiserver.failures import Failure
from infra.local.apiserver.json_patch import apply_json_patch
from infra.local.apiserver.resources import find_resource
from infra.local.apiserver.routes import Target
from infra.local.apiserver.writes import build_updated


class MemoryNodes:
    """Fulfils `Nodes`; `now` is the server's clock, `failure` is raised by every call while it is set."""

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self.now = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
        self.failure: Exception | None = None
        self.failures: list[Exception] = []
        self.patches: list[tuple[str, list[dict[str, Any]]]] = []
        """Every patch that was applied."""
        self._lock = threading.Lock()
        self._nodes: dict[str, dict[str, Any]] = {}
        self._version = 100
        for node in nodes:
            self.put(node)

    def put(self, node: dict[str, Any]) -> None:
        """Store a Node as it is; one without a uid gets one made from its name."""
        name = node["metadata"]["name"]
        with self._lock:
            uid = {"uid": f"uid-of-{name}", **copy.deepcopy(node["metadata"])}
            self._store(name, {"spec": {}, "status": {}, **copy.deepcopy(node), "metadata": uid})

    def remove(self, name: str) -> None:
        """Delete a Node."""
        with self._lock:
            del self._nodes[name]

    def get(self, name: str) -> dict[str, Any]:
        """Return a copy of a Node that is there."""
        with self._lock:
            return copy.deepcopy(self._nodes[name])

    def read_node(self, name: str) -> ServedNode | None:
        self._fail_if_told()
        with self._lock:
            found = self._nodes.get(name)
            return ServedNode(copy.deepcopy(found), self.now) if found else None

    def patch_node(self, name: str, operations: Sequence[dict[str, Any]]) -> PatchOutcome:
        tested = {operation["path"] for operation in operations if operation["op"] == "test"}
        assert "/metadata/uid" in tested, f"a patch without a test of /metadata/uid: {operations}"
        self._fail_if_told()
        with self._lock:
            if name not in self._nodes:
                return PatchOutcome.GONE
            current = self._nodes[name]
            try:
                updated = _apply(name, current, list(operations))
            except Failure as failure:
                if failure.code == 409 or (failure.code == 422 and not failure.status.get("details", {}).get("causes")):
                    return PatchOutcome.CONFLICT
                raise Refused(str(failure)) from failure
            self.patches.append((name, copy.deepcopy(list(operations))))
            if updated != {key: value for key, value in current.items() if key not in ("kind", "apiVersion")}:
                self._store(name, updated)
            return PatchOutcome.APPLIED

    def _store(self, name: str, node: dict[str, Any]) -> None:
        self._version += 1
        metadata = {**node["metadata"], "resourceVersion": str(self._version)}
        self._nodes[name] = {"kind": "Node", "apiVersion": "v1", **node, "metadata": metadata}

    def _fail_if_told(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
        if self.failure is not None:
            raise self.failure


def _apply(name: str, current: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    resource = find_resource("v1", "nodes")
    assert resource is not None
    target = Target(resource, None, name, "", {})
    return build_updated(target, current, apply_json_patch(current, operations), by_patch=True)
