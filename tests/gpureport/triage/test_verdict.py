"""The order of the questions where it is easy to get wrong; the collected cases are in test_cases."""

from collections.abc import Callable
from typing import Any

from gpureport.triage.verdict import Verdict, is_decided_by_nodes, is_decided_by_pod

Build = Callable[..., dict[str, Any]]
Judge = Callable[..., Verdict]

TAINTED = {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}


def test_tainted_gpu_nodes_beside_open_cpu_nodes_are_taint(node: Build, pod: Build, judge: Judge) -> None:
    cluster = [node("cpu"), node("gpu", gpus="1", **TAINTED)]
    assert judge(pod(gpus="1"), cluster).word == "taint"
    assert judge(pod(gpus="1"), cluster, strict_order=True).word == "no-gpu-node"


def test_tainted_gpu_nodes_with_nothing_allocatable_are_taint_first(node: Build, pod: Build, judge: Judge) -> None:
    assert judge(pod(gpus="1"), [node(gpus="4", allocatable="0", **TAINTED)]).word == "taint"


def test_selector_on_a_cluster_without_nodes_is_label_mismatch(pod: Build, judge: Judge) -> None:
    assert judge(pod(gpus="1", nodeSelector={"a": "b"}), []).word == "label-mismatch"
    assert judge(pod(gpus="1"), []).word == "no-gpu-node"


def test_node_with_allocatable_alone_has_gpus(node: Build, pod: Build, judge: Judge) -> None:
    assert judge(pod(gpus="1"), [node(allocatable="1")]).word == "other"


def test_placed_pod_with_a_claim_and_no_request_is_no_request_and_unplaced_is_named(
    node: Build, pod: Build, judge: Judge
) -> None:
    claims = [{"name": "gpu"}]
    assert judge(pod(resourceClaims=claims, nodeName="n"), [node()]).word == "no-request"
    assert judge(pod(resourceClaims=claims), [node()]).word == "other"


def test_nominated_pod_holds_against_equal_and_lower_priority_only(node: Build, pod: Build, judge: Judge) -> None:
    first = pod("first", gpus="1", priority=5, status={"nominatedNodeName": "n"})
    words = [str(judge(pod(gpus="1", priority=p), [node(gpus="1")], [first]).word) for p in (4, 5, 6)]
    assert words == ["exhausted", "exhausted", "other"]


def test_nomination_holds_nothing_against_the_pod_itself(node: Build, pod: Build, judge: Judge) -> None:
    verdict = judge(pod(gpus="1", status={"nominatedNodeName": "n"}), [node(gpus="1")])
    assert verdict.word == "other"


def test_resource_served_by_a_device_class_is_undecidable_from_nodes(node: Build, pod: Build, judge: Judge) -> None:
    served = frozenset({"nvidia.com/gpu"})
    assert judge(pod(gpus="1"), [node()], dra_resource_names=served).word == "other"
    assert judge(pod(gpus="1"), [node(**TAINTED)], dra_resource_names=served).word == "taint"


def test_pod_that_asks_for_two_resources_needs_both_on_one_node(node: Build, pod: Build, judge: Judge) -> None:
    subject = pod()
    subject["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "1"}}
    gpu, mig = node("gpu", gpus="1"), node("mig")
    mig["status"]["capacity"]["nvidia.com/mig-1g.10gb"] = mig["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] = "1"
    assert judge(subject, [gpu, mig], resource_names=("nvidia.com/*",)).word == "no-gpu-node"
    gpu["status"] = {key: {**amounts, **mig["status"][key]} for key, amounts in gpu["status"].items()}
    assert judge(subject, [gpu, mig], resource_names=("nvidia.com/*",)).word == "other"


def test_verdict_tells_what_it_needed_to_be_decided(node: Build, pod: Build, judge: Judge) -> None:
    by_pod = judge(pod(), [])
    by_nodes = judge(pod(gpus="1"), [node()])
    by_pods = judge(pod(gpus="1"), [node(gpus="1")])
    assert (is_decided_by_pod(by_pod), is_decided_by_pod(by_nodes)) == (True, False)
    assert (is_decided_by_nodes(by_nodes), is_decided_by_nodes(by_pods)) == (True, False)
