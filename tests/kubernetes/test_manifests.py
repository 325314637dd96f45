"""What the apiserver makes of the manifests: no warning, no mistake in an expression, each object in its place."""

import copy
from typing import Any

import pytest

from gpureport.contract.keys import OUTPUT_BYTES_MAX, RUN_BYTES_MAX, STATUS_BYTES_MAX
from tests.kubernetes.cluster import NAMESPACE, RBAC, RealCluster, wait_until
from tests.kubernetes.conftest import Applied
from tests.kubernetes.mutants import MANIFESTS, read_policies
from tests.kubernetes.requests import KEYS, NODES, STRATEGIC, Object

GROUP = "admissionregistration.k8s.io"
KINDS = ("validatingadmissionpolicy", "validatingadmissionpolicybinding")
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/name%3Dgpu-report-agent"


def check_types(cluster: RealCluster, name: str) -> list[Object]:
    """Return what the controller-manager's type checking says of a policy."""

    def look() -> Any:
        policy = cluster.expect("GET", f"{POLICIES}/{name}")
        return policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"]

    wait_until(look, f"type checking of {name}")
    status: Object = cluster.expect("GET", f"{POLICIES}/{name}")["status"]
    found: list[Object] = status["typeChecking"].get("expressionWarnings", [])
    return found


def test_manifests_are_applied_without_a_warning(applied: Applied) -> None:
    lines = applied.said.splitlines()
    assert [line for line in lines if not line.endswith(" created")] == []
    assert len(lines) > 10


def test_manifests_applied_again_change_nothing(cluster: RealCluster) -> None:
    done = cluster.kubectl("apply", "-k", str(MANIFESTS))

    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if not line.endswith(" unchanged")] == []


def test_agents_are_started_after_the_policies(applied: Applied) -> None:
    names = [line.split()[0] for line in applied.said.splitlines()]
    assert names[-1] == "daemonset.apps/agent"
    assert [name for name in names[:-1] if name.endswith("binding.admissionregistration.k8s.io/gpu-report-agent")]


def test_policies_can_be_applied_by_themselves(cluster: RealCluster) -> None:
    selected = ("-l", "app.kubernetes.io/component=policy", "--dry-run=server", "-o", "name")
    done = cluster.kubectl("apply", "-k", str(MANIFESTS), *selected)

    assert sorted(done.stdout.split()) == sorted(f"{kind}.{GROUP}/{name}" for kind in KINDS for name in read_policies())
    assert done.stderr == ""


@pytest.mark.parametrize("name", read_policies())
def test_policy_has_no_mistake_that_type_checking_finds(name: str, cluster: RealCluster) -> None:
    assert check_types(cluster, name) == []


@pytest.mark.parametrize("name", read_policies())
def test_type_checking_looks_at_the_policy(name: str, cluster: RealCluster) -> None:
    policy = copy.deepcopy(read_policies()[name])
    policy["metadata"]["name"] = f"{name}-mistaken"
    policy["spec"]["validations"].append({"expression": "object.metadata.nmae == ''"})
    cluster.ensure(POLICIES, policy)

    assert "undefined field 'nmae'" in str(check_types(cluster, f"{name}-mistaken"))


@pytest.mark.parametrize("name", read_policies())
def test_policy_denies_and_fails_closed_without_parameters(name: str, cluster: RealCluster) -> None:
    spec = cluster.expect("GET", f"{POLICIES}/{name}")["spec"]
    assert (spec["failurePolicy"], spec.get("paramKind")) == ("Fail", None)
    assert {rule["reason"] for rule in spec["validations"]} == {"Forbidden"}

    binding = cluster.expect("GET", f"{BINDINGS}/{name}")["spec"]
    assert (binding["policyName"], binding["validationActions"]) == (name, ["Deny", "Audit"])
    assert "matchResources" not in binding


def test_events_role_stands_in_default_alone(cluster: RealCluster) -> None:
    for kind in ("roles", "rolebindings"):
        found = cluster.expect("GET", f"{RBAC}/{kind}")["items"]
        ours = [one["metadata"] for one in found if "gpu-report" in str(one["metadata"]["name"])]
        assert [(one["namespace"], one["name"]) for one in ours] == [("default", "gpu-report-agent-events")]


def test_policies_know_the_keys_and_caps_of_the_contract(cluster: RealCluster) -> None:
    caps = {"status": STATUS_BYTES_MAX, "run": RUN_BYTES_MAX, "output": OUTPUT_BYTES_MAX}
    for name, ours in (
        ("gpu-report-agent", ("status", "run", "output")),
        ("gpu-report-write-status", ("status", "output")),
    ):
        variables = {one["name"]: one["expression"] for one in read_policies()[name]["spec"]["variables"]}
        assert variables["caps"] == "{" + ", ".join(f"variables.{key}: {caps[key]}" for key in ours) + "}"
        for key in ("status", "run", "output", "trigger"):
            assert variables.get(key, f"'{getattr(KEYS, key)}'") == f"'{getattr(KEYS, key)}'"


def test_daemonset_puts_a_privileged_pod_on_gpu_nodes_alone(cluster: RealCluster) -> None:
    accelerated = {"metadata": {"name": "accelerated", "labels": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}}
    cluster.ensure(NODES, accelerated)
    cluster.ensure(NODES, {"metadata": {"name": "plain"}})
    ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    cluster.expect("PATCH", f"{NODES}/accelerated/status", ready, STRATEGIC)

    wait_until(lambda: cluster.expect("GET", PODS)["items"], "a Pod of the DaemonSet")

    wanted = {str(pod["spec"]["affinity"]["nodeAffinity"]) for pod in cluster.expect("GET", PODS)["items"]}
    assert len(wanted) == 1
    assert "'accelerated'" in wanted.pop()
    (pod,) = cluster.expect("GET", PODS)["items"]
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["privileged"] is True
    assert (pod["spec"]["automountServiceAccountToken"], pod["spec"]["serviceAccountName"]) == (False, "agent")
    maps = {
        one["valueFrom"]["configMapKeyRef"]["name"] for one in container["env"] if "configMapKeyRef" in one["valueFrom"]
    }
    (named,) = maps
    told = cluster.expect("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{named}")["data"]
    assert set(told) == {"cluster", "project", "staging-bucket"}
