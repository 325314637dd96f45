"""kubectl: what an operator types must work, on the stand-in as on the real one, with the kubectl of that version."""

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.parts.catalogue import CONTROL_PLANE, require

Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(server: Any, tmp_path: Path) -> Kubectl:
    """Run kubectl with a kubeconfig and a home of its own, and return what it printed."""
    program = require(CONTROL_PLANE) / "kubectl"
    config = tmp_path / "kubeconfig"
    config.write_text(format_kubeconfig(server))

    def run(*arguments: str) -> str:
        environment = {"HOME": str(tmp_path), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [str(program), *arguments], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def format_kubeconfig(server: Any) -> str:
    cluster = {"server": server.url, "certificate-authority": str(server.ca)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "local",
        "clusters": [{"name": "local", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": server.token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
    }
    return json.dumps(document)


@pytest.fixture
def node_name(server: Any) -> str:
    name = f"kubectl-{uuid.uuid4().hex[:8]}"
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    node = {
        "metadata": {"name": name, "labels": {"role": "gpu"}, "annotations": {"a": "1"}},
        "spec": {"taints": [taint]},
        "status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}},
    }
    assert server.ask("POST", "/api/v1/nodes", node).status == 201
    return name


def test_kubectl_gets_nodes_as_json(kubectl: Kubectl, node_name: str) -> None:
    listed = json.loads(kubectl("get", "nodes", "-o", "json"))
    assert node_name in [item["metadata"]["name"] for item in listed["items"]]
    one = json.loads(kubectl("get", "node", node_name, "-o", "json"))
    assert one["status"]["allocatable"] == {"nvidia.com/gpu": "8"}
    assert node_name in kubectl("get", "no", "-l", "role=gpu")


def test_kubectl_gets_pods_of_all_namespaces_as_json(kubectl: Kubectl, server: Any) -> None:
    name = f"pod-{uuid.uuid4().hex[:8]}"
    pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert server.ask("POST", "/api/v1/namespaces/default/pods", pod).status == 201
    listed = json.loads(kubectl("get", "pods", "-A", "-o", "json"))
    assert name in [item["metadata"]["name"] for item in listed["items"]]


def test_kubectl_gets_nodes_and_pods_in_one_list(kubectl: Kubectl, node_name: str) -> None:
    listed = json.loads(kubectl("get", "nodes,pods", "-A", "-o", "json"))
    assert node_name in [item["metadata"]["name"] for item in listed["items"] if item["kind"] == "Node"]


def test_kubectl_labels_and_unlabels_a_node(kubectl: Kubectl, node_name: str) -> None:
    assert "labeled" in kubectl("label", "node", node_name, "cloud.google.com/trigger-gpu-report=true")
    labels = json.loads(kubectl("get", "node", node_name, "-o", "json"))["metadata"]["labels"]
    assert labels["cloud.google.com/trigger-gpu-report"] == "true"
    assert "unlabeled" in kubectl("label", "node", node_name, "cloud.google.com/trigger-gpu-report-")


def test_kubectl_annotates_a_node(kubectl: Kubectl, node_name: str) -> None:
    kubectl("annotate", "node", node_name, "cloud.google.com/gpu-report-status=collect")
    shown = kubectl(
        "get", "node", node_name, "-o", r"jsonpath={.metadata.annotations.cloud\.google\.com/gpu-report-status}"
    )
    assert shown == "collect"


def test_kubectl_patches_a_node_by_json_patch(kubectl: Kubectl, node_name: str) -> None:
    patch = [{"op": "test", "path": "/metadata/annotations/a", "value": "1"}, {"op": "remove", "path": "/spec/taints"}]
    kubectl("patch", "node", node_name, "--type=json", "-p", json.dumps(patch))
    assert "taints" not in json.loads(kubectl("get", "node", node_name, "-o", "json"))["spec"]


def test_kubectl_cordons_and_taints_a_node(kubectl: Kubectl, node_name: str) -> None:
    assert "cordoned" in kubectl("cordon", node_name)
    assert "tainted" in kubectl("taint", "node", node_name, "maintenance=yes:NoExecute")
    spec = json.loads(kubectl("get", "node", node_name, "-o", "json"))["spec"]
    assert spec["unschedulable"] is True
    assert {"nvidia.com/gpu", "maintenance"} <= {taint["key"] for taint in spec["taints"]}


def test_kubectl_describes_a_node_with_the_events_about_it(kubectl: Kubectl, node_name: str, server: Any) -> None:
    uid = server.ask("GET", f"/api/v1/nodes/{node_name}").body["metadata"]["uid"]
    event = {
        "metadata": {"name": f"{node_name}.1"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": uid},
        "reason": "GpuReportStarted",
        "message": "The bug report is being collected",
        "type": "Normal",
        "source": {"component": "gpu-report-agent"},
        "lastTimestamp": "2026-11-30T09:15:00Z",
    }
    assert server.ask("POST", "/api/v1/namespaces/default/events", event).status == 201
    described = kubectl("describe", "node", node_name)
    assert "nvidia.com/gpu" in described
    assert "GpuReportStarted" in described
    assert "GpuReportStarted" in kubectl("get", "events", "-o", "yaml")


def test_kubectl_deletes_a_node(kubectl: Kubectl, node_name: str) -> None:
    assert "deleted" in kubectl("delete", "node", node_name, "--timeout=10s")
    assert node_name not in kubectl("get", "nodes", "-o", "name")


def test_kubectl_watches_a_node(kubectl: Kubectl, node_name: str) -> None:
    shown = kubectl("get", "node", node_name, "--watch", "-o", "name", "--request-timeout=1s")
    assert shown.splitlines()[0] == f"node/{node_name}"


def test_kubectl_applies_a_pod_from_a_manifest(kubectl: Kubectl, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stuck"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    manifest.write_text(json.dumps(pod))
    assert "created" in kubectl("apply", "-f", str(manifest))
    assert json.loads(kubectl("get", "pod", "stuck", "-o", "json"))["status"]["phase"] == "Pending"
    manifest.write_text(json.dumps({**pod, "metadata": {"name": "stuck", "labels": {"team": "a"}}}))
    assert "configured" in kubectl("apply", "-f", str(manifest))
    assert kubectl("get", "pods", "-l", "team=a", "-o", "name").strip() == "pod/stuck"
    assert "deleted" in kubectl("delete", "-f", str(manifest))
    assert "created" in kubectl("create", "-f", str(manifest))
    assert "deleted" in kubectl("delete", "-f", str(manifest))


def test_kubectl_reads_the_version_and_the_resources(kubectl: Kubectl) -> None:
    assert "v1.36" in kubectl("version")
    assert "leases" in kubectl("api-resources", "-o", "name")
