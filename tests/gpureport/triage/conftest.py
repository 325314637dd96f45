"""Builders of small objects, as the API writes them: what a test does not name is left out."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpureport.triage.decoding import decode_nodes, decode_pod, decode_pods
from gpureport.triage.index import Index, Options
from gpureport.triage.verdict import Verdict, classify

GPU = "nvidia.com/gpu"


def node(
    name: str = "n", *, gpus: Any = None, allocatable: Any = None, labels: Any = None, **spec: Any
) -> dict[str, Any]:
    capacity = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    offered = dict(capacity)
    if gpus is not None:
        capacity[GPU] = gpus
        offered[GPU] = gpus
    if allocatable is not None:
        offered[GPU] = allocatable
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": offered},
    }


def pod(name: str = "p", *, gpus: Any = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main"}
    if gpus is not None:
        container["resources"] = {"limits": {GPU: gpus}, "requests": {GPU: gpus}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"containers": [container], **spec},
        "status": {"phase": "Pending", **(status or {})},
    }


def judge(
    subject: dict[str, Any], nodes: list[dict[str, Any]], pods: list[dict[str, Any]] | None = None, **options: Any
) -> Verdict:
    read_nodes = decode_nodes(json.dumps({"items": nodes}).encode()).items
    read_pods = decode_pods(json.dumps({"items": [subject, *(pods or [])]}).encode()).items
    index = Index.build(read_nodes, read_pods, Options(**options))
    return classify(index, decode_pod(json.dumps(subject).encode()))


@pytest.fixture(name="node")
def node_builder() -> Callable[..., dict[str, Any]]:
    return node


@pytest.fixture(name="pod")
def pod_builder() -> Callable[..., dict[str, Any]]:
    return pod


@pytest.fixture(name="judge")
def judge_objects() -> Callable[..., Verdict]:
    return judge
