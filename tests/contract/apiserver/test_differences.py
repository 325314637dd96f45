"""Where the stand-in differs from kube-apiserver on purpose: what `Traits` says of each server is so."""

import uuid
from typing import Any

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = [{"name": "c", "image": "i"}]


def build_pod(**spec: object) -> dict[str, Any]:
    return {"metadata": {"name": f"pod-{uuid.uuid4().hex[:8]}"}, "spec": {"containers": CONTAINERS, **spec}}


def test_specs_are_validated(server: Any, node: str) -> None:
    refused = 422 if server.traits.validates_specs else 200
    assert server.merge(node, {"spec": {"taints": [{"key": "x", "effect": "Bogus"}]}}).status == refused
    pod = build_pod()
    path = f"{PODS}/{pod['metadata']['name']}"
    assert server.ask("POST", PODS, pod).status == 201
    assert server.merge(path, {"spec": {"nodeName": "another"}}).status == refused
    server.ask("DELETE", f"{path}?gracePeriodSeconds=0")
    created = 422 if server.traits.validates_specs else 201
    assert server.ask("POST", f"{PODS}?dryRun=All", build_pod(containers=[])).status == created


def test_defaults_are_filled_in(server: Any, node: str) -> None:
    spec = server.ask("POST", f"{PODS}?dryRun=All", build_pod()).body["spec"]
    assert ("restartPolicy" in spec, "tolerations" in spec) == (server.traits.fills_in_defaults,) * 2
    assert ("nodeInfo" in server.ask("GET", node).body["status"]) == server.traits.fills_in_defaults


def test_a_deleted_pod_stays_for_its_kubelet(server: Any, node: str) -> None:
    pod = build_pod(nodeName=node.rpartition("/")[2])
    path = f"{PODS}/{pod['metadata']['name']}"
    assert server.ask("POST", PODS, pod).status == 201
    assert server.ask("DELETE", path).body["kind"] == "Pod"
    found = server.ask("GET", path)
    assert (found.status == 200) == server.traits.keeps_deleted_pods
    assert ("deletionTimestamp" in found.body.get("metadata", {})) == server.traits.keeps_deleted_pods
    server.ask("DELETE", f"{path}?gracePeriodSeconds=0")
    assert server.ask("GET", path).status == 404


def test_server_side_apply_is_served(server: Any, node: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.rpartition("/")[2], "labels": {"x": "y"}}}
    reply = server.ask("PATCH", f"{node}?fieldManager=test", body, "application/apply-patch+yaml")
    assert reply.status == (200 if server.traits.applies_server_side else 415)


def test_managers_are_recorded(server: Any, node: str) -> None:
    metadata = server.ask("GET", node).body["metadata"]
    assert ("managedFields" in metadata) == server.traits.records_managers


def test_a_list_of_exactly_a_version_shows_that_moment(server: Any, node: str) -> None:
    name = node.rpartition("/")[2]
    version = server.ask("GET", node).body["metadata"]["resourceVersion"]
    assert server.merge(node, {"metadata": {"annotations": {"a": "2"}}}).status == 200
    query = f"fieldSelector=metadata.name%3D{name}&resourceVersionMatch=Exact&resourceVersion={version}"
    [found] = server.ask("GET", f"{NODES}?{query}").body["items"]
    assert found["metadata"]["annotations"] == {"a": "1" if server.traits.lists_the_past else "2"}
