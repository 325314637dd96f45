"""Saved objects in files, and a cluster that answers from memory in pages."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpureport.ports import Refused, Unavailable

CASES = Path(__file__).parents[1] / "triage" / "cases"


class MemoryCluster:
    """A cluster of given objects; `refuses` names the kinds that it denies, `is_down` makes every call fail."""

    def __init__(self, nodes: list[Any], pods: list[Any]) -> None:
        self.objects = {"nodes": nodes, "pods": pods}
        self.refuses: set[str] = set()
        self.is_down = False
        self.listed: list[str] = []

    def list_pages(self, kind: str, limit: int = 500) -> Iterator[bytes]:
        self._check(kind)
        self.listed.append(kind)
        items = self.objects[kind]
        for start in range(0, max(len(items), 1), limit):
            yield json.dumps({"kind": "List", "items": items[start : start + limit]}).encode()

    def read_pod(self, namespace: str, name: str) -> bytes | None:
        self._check("pod")
        for pod in self.objects["pods"]:
            if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (namespace, name):
                return json.dumps(pod).encode()
        return None

    def _check(self, kind: str) -> None:
        if self.is_down:
            raise Unavailable("https://127.0.0.1:1: connection refused")
        if kind in self.refuses:
            raise Refused(f"403 Forbidden: cannot list {kind}")


@pytest.fixture
def case() -> Callable[[str], dict[str, Any]]:
    """Load a collected case by its id."""

    def load(case_id: str) -> dict[str, Any]:
        (path,) = CASES.glob(f"{case_id}-*.json")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    return load


@pytest.fixture
def cluster(case: Callable[[str], dict[str, Any]]) -> Callable[[str], MemoryCluster]:
    """Build the cluster of a collected case."""

    def build(case_id: str) -> MemoryCluster:
        found = case(case_id)
        return MemoryCluster(found["nodes"]["items"], found["pods"]["items"])

    return build


@pytest.fixture
def saved(case: Callable[[str], dict[str, Any]], tmp_path: Path) -> Callable[[str], str]:
    """Save a collected case as `kubectl get nodes,pods -A -o json` would, and return the file's path."""

    def save(case_id: str) -> str:
        found = case(case_id)
        path = tmp_path / f"{case_id}.json"
        items = found["nodes"]["items"] + found["pods"]["items"]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return str(path)

    return save
