"""The objects of the demonstration: two GPU nodes, and a Pod that can't run because one of them is sick."""

import time
from typing import Any

from infra.local.cluster_access import MERGE_PATCH, ClusterAccess, ClusterError

SICK_NODE = "gpu-node-1"
HEALTHY_NODE = "gpu-node-2"
NODES = (SICK_NODE, HEALTHY_NODE)
NAMESPACE = "training"
STUCK_POD = "trainer-0"

GPU = "nvidia.com/gpu"
ACCELERATOR = "cloud.google.com/gke-accelerator"
GPUS_PER_NODE = 8

SERVICE_ACCOUNT_S_MAX = 20.0
"""Seconds until a new Namespace has the ServiceAccount that a Pod there needs; a controller makes it."""

LOOK_S = 0.05


def create_objects(cluster: ClusterAccess) -> list[str]:
    """Create what is not there yet, and return the paths of what was created; `ClusterError` when it is refused."""
    objects = (
        ("/api/v1/namespaces", _object("Namespace", NAMESPACE)),
        ("/api/v1/nodes", _node(SICK_NODE, "nvidia-h100-80gb", allocatable=0)),
        ("/api/v1/nodes", _node(HEALTHY_NODE, "nvidia-l4", allocatable=GPUS_PER_NODE)),
        (f"/api/v1/namespaces/{NAMESPACE}/pods", _pod()),
    )
    created = [f"{path}/{body['metadata']['name']}" for path, body in objects if _create(cluster, path, body)]
    for path, body in objects:
        if body["kind"] == "Node":
            # A real apiserver taints a Node at its creation as not ready; a controller or a kubelet takes that away.
            cluster.expect("PATCH", f"{path}/{body['metadata']['name']}", {"spec": body["spec"]}, MERGE_PATCH)
    return created


def remove_objects(cluster: ClusterAccess, paths: list[str]) -> None:
    """Delete what `create_objects` created, last first; `ClusterError` when the cluster does not answer."""
    for path in reversed(paths):
        cluster.call("DELETE", path)


def _create(cluster: ClusterAccess, path: str, body: dict[str, Any]) -> bool:
    until = time.monotonic() + SERVICE_ACCOUNT_S_MAX
    status, answer = cluster.call("POST", path, body)
    while status == 403 and body["kind"] == "Pod" and time.monotonic() < until:
        time.sleep(LOOK_S)
        status, answer = cluster.call("POST", path, body)
    if status not in (201, 409):
        raise ClusterError(f"POST {cluster.server}{path}: {status} {str(answer.get('message', ''))[:300]}")
    return status == 201


def _object(kind: str, name: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **members}


def _node(name: str, accelerator: str, allocatable: int) -> dict[str, Any]:
    machine = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti"}
    node = _object(
        "Node",
        name,
        spec={"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]},
        status={
            "capacity": {**machine, GPU: str(GPUS_PER_NODE)},
            "allocatable": {**machine, GPU: str(allocatable)},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    )
    node["metadata"]["labels"] = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ACCELERATOR: accelerator,
    }
    return node


def _pod() -> dict[str, Any]:
    gpus = {GPU: "1"}
    pod = _object(
        "Pod",
        STUCK_POD,
        spec={
            "nodeSelector": {ACCELERATOR: "nvidia-h100-80gb"},
            "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [{"name": "cuda", "image": "cuda", "resources": {"limits": gpus, "requests": gpus}}],
        },
        status={"phase": "Pending"},
    )
    pod["metadata"]["namespace"] = NAMESPACE
    return pod
