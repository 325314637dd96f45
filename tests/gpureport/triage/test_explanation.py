"""The evidence that a word stands on: nearest node, what lost it, who holds the GPUs, the likely cause of `other`."""

from collections.abc import Callable
from typing import Any

import pytest

from gpureport.triage.evidence import Stage
from gpureport.triage.explanation import NODES_SHOWN_MAX, explain
from gpureport.triage.verdict import Verdict

Build = Callable[..., dict[str, Any]]
Judge = Callable[..., Verdict]


def test_label_mismatch_names_the_values_that_exist(node: Build, pod: Build, judge: Judge) -> None:
    cluster = [node("a", gpus="1", labels={"model": "l4"}), node("b", gpus="1", labels={"model": "h100"})]
    found = explain(judge(pod(gpus="1", nodeSelector={"model": "a100"}), cluster))
    assert "model=a100" in found.message
    assert "h100, l4" in found.message
    assert found.nodes[0].detail == "model=a100 (has l4)"


def test_taint_names_each_taint_with_its_count(node: Build, pod: Build, judge: Judge) -> None:
    taint = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoExecute"}]}
    found = explain(judge(pod(gpus="1"), [node(f"n{i}", gpus="1", **taint) for i in range(3)]))
    assert "dedicated=x:NoExecute (on 3)" in found.message
    assert found.nodes[0].lost_at is Stage.TAINTS


def test_no_gpu_node_names_what_is_offered_instead(node: Build, pod: Build, judge: Judge) -> None:
    shared = node()
    shared["status"]["allocatable"]["nvidia.com/gpu.shared"] = "4"
    assert "nvidia.com/gpu.shared" in explain(judge(pod(gpus="1"), [shared])).message


def test_exhausted_names_the_holders_and_the_nearest_node(node: Build, pod: Build, judge: Judge) -> None:
    holder = pod("holder", gpus="2", nodeName="full", status={"phase": "Running"})
    holder["metadata"]["deletionTimestamp"] = "2026-11-30T09:15:00Z"
    cluster = [node("full", gpus="2"), node("half", gpus="1"), node("broken", gpus="8", allocatable="0")]
    found = explain(judge(pod(gpus="2"), cluster, [holder]))
    assert found.word == "exhausted"
    assert [(held.node, held.holder.name, held.holder.terminating) for held in found.holders] == [
        ("full", "holder", True)
    ]
    assert found.nodes[0].node == "half"
    assert "broken" in found.notes[0]


def test_exhausted_says_when_waiting_does_not_help(node: Build, pod: Build, judge: Judge) -> None:
    found = explain(judge(pod(gpus="4"), [node("a", gpus="1"), node("b", gpus="2")]))
    assert "largest matching node offers 2" in found.message
    assert "waiting does not help" in found.fix


def test_gpu_node_behind_a_taint_is_nearer_than_an_open_node_without_gpus(
    node: Build, pod: Build, judge: Judge
) -> None:
    tainted = node("gpu", gpus="1", unschedulable=True)
    found = explain(judge(pod(gpus="1"), [node("cpu"), tainted]))
    assert [item.node for item in found.nodes] == ["gpu", "cpu"]


def test_evidence_is_bounded_and_counts_the_rest(node: Build, pod: Build, judge: Judge) -> None:
    found = explain(judge(pod(gpus="1"), [node(f"n{i:04}") for i in range(100)]))
    assert len(found.nodes) == NODES_SHOWN_MAX
    assert found.nodes_total == 100


def test_failed_pod_tells_the_kubelets_reason(pod: Build, judge: Judge) -> None:
    failed = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no device"}
    found = explain(judge(pod(gpus="1", nodeName="n", status=failed), []))
    assert found.word == "ok"
    assert "UnexpectedAdmissionError" in found.message


ANTI_AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
PREFERENCE = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}, "gated"),
        ({"resourceClaims": [{"name": "nic"}]}, "resource-claim"),
        ({"schedulerName": "mine"}, "unknown-scheduler"),
        ({"overhead": {"cpu": "32"}}, "resource-short"),
        ({"affinity": ANTI_AFFINITY}, "pod-affinity"),
        ({"affinity": PREFERENCE}, "not-blocked"),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, "topology-spread"),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}, "not-blocked"),
        ({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}, "volume"),
        ({"volumes": [{"emptyDir": {}}]}, "not-blocked"),
        ({}, "not-blocked"),
    ],
)
def test_other_names_the_likely_cause(spec: dict[str, Any], want: str, node: Build, pod: Build, judge: Judge) -> None:
    assert explain(judge(pod(gpus="1", **spec), [node(gpus="1")])).cause == want


def test_room_for_pods_on_the_node_counts(node: Build, pod: Build, judge: Judge) -> None:
    full = node(gpus="1")
    full["status"]["allocatable"]["pods"] = "1"
    found = explain(judge(pod(gpus="1"), [full], [pod("daemon", nodeName="n", status={"phase": "Running"})]))
    assert found.cause == "resource-short"
    assert "pods (on 1)" in found.message


def test_nominated_pod_waits_for_its_victims(node: Build, pod: Build, judge: Judge) -> None:
    found = explain(judge(pod(gpus="1", status={"nominatedNodeName": "n"}), [node(gpus="1")]))
    assert found.cause == "nominated"


def test_scheduler_condition_is_shown_and_decides_nothing(node: Build, pod: Build, judge: Judge) -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: taint"}
    found = explain(judge(pod(gpus="1", status={"conditions": [said]}), [node()]))
    assert found.word == "no-gpu-node"
    assert found.condition is not None
    assert found.condition.message == "0/1 nodes: taint"
