"""The index answers as a reading of the rules Node by Node does, on any small cluster.

The reading below goes over plain JSON, knows no set and no cache, and is written from the rules, not from the index.
"""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpureport.triage.decoding import decode_nodes, decode_pod, decode_pods
from gpureport.triage.evidence import count_stages, rank_nodes
from gpureport.triage.explanation import explain
from gpureport.triage.index import Index, Options
from gpureport.triage.verdict import classify

GPU = "nvidia.com/gpu"

keys = st.sampled_from(["zone", "model"])
values = st.sampled_from(["a", "b", "7"])
labels = st.dictionaries(keys, values, max_size=2)
effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
taints = st.lists(st.fixed_dictionaries({"key": keys, "value": values, "effect": effects}), max_size=2)
tolerations = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "key": keys,
            "operator": st.sampled_from(["Exists", "Equal"]),
            "value": values,
            "effect": effects,
        },
    ),
    max_size=2,
)
expressions = st.builds(
    lambda key, operator, listed: {"key": key, "operator": operator, "values": listed},
    keys,
    st.sampled_from(["In", "NotIn"]),
    st.lists(values, min_size=1, max_size=2),
)
amounts = st.sampled_from([0, 1, 1, 2, 2, 3, 3])
mostly_none = st.one_of(st.just({}), st.just({}), labels)
tolerates_all = st.just([{"operator": "Exists"}])


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for name in draw(
        st.lists(
            st.sampled_from(["n1", "n2", "n3", "n4"]),
            min_size=draw(st.sampled_from([0, 2, 3, 3])),
            max_size=4,
            unique=True,
        )
    ):
        capacity = draw(amounts)
        found.append(
            {
                "metadata": {"name": name, "labels": draw(labels)},
                "spec": {"taints": draw(taints), "unschedulable": draw(st.sampled_from([False, False, False, True]))},
                "status": {"capacity": {GPU: str(capacity)}, "allocatable": {GPU: str(min(capacity, draw(amounts)))}},
            }
        )
    return found


@st.composite
def pods(draw: st.DrawFn, name: str) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": [{"resources": {"limits": {GPU: str(draw(amounts))}}}],
        "nodeSelector": draw(mostly_none),
        "tolerations": draw(st.one_of(tolerations, tolerates_all)),
        "priority": draw(st.integers(0, 2)),
    }
    if draw(st.sampled_from([False, False, False, True])):
        terms = [{"matchExpressions": draw(st.lists(expressions, max_size=2))} for _ in range(draw(st.integers(0, 2)))]
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    places = st.sampled_from(["", "", "", "n1", "n2", "gone"])
    status = {"phase": draw(st.sampled_from(["Pending", "Running", "Failed"])), "nominatedNodeName": draw(places)}
    return {
        "metadata": {"name": name, "namespace": draw(st.sampled_from(["a", "b"]))},
        "spec": {**spec, "nodeName": draw(places)},
        "status": status,
    }


clusters = st.tuples(nodes(), st.lists(st.integers(), max_size=4).flatmap(
    lambda numbers: st.tuples(*(pods(f"p{i}") for i, _ in enumerate(numbers)))
), pods("subject"))  # fmt: skip


def need(pod: dict[str, Any]) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["limits"][GPU])


def matches(node: dict[str, Any], pod: dict[str, Any]) -> bool:
    has = node["metadata"]["labels"]
    if any(has.get(key) != value for key, value in pod["spec"]["nodeSelector"].items()):
        return False
    if "affinity" not in pod["spec"]:
        return True
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for term in required["nodeSelectorTerms"]:
        holds = [(has.get(e["key"]) in e["values"]) == (e["operator"] == "In") for e in term["matchExpressions"]]
        if holds and all(holds):
            return True
    return False


def lets_in(node: dict[str, Any], pod: dict[str, Any]) -> bool:
    standing = [taint for taint in node["spec"]["taints"] if taint["effect"] != "PreferNoSchedule"]
    if node["spec"]["unschedulable"]:
        standing.append({"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"})
    for taint in standing:
        for toleration in pod["spec"]["tolerations"]:
            same_effect = toleration.get("effect", taint["effect"]) == taint["effect"]
            same_key = toleration.get("key", taint["key"]) == taint["key"]
            any_value = toleration.get("operator") == "Exists"
            if same_effect and same_key and (any_value or toleration.get("value", "") == taint["value"]):
                break
        else:
            return False
    return True


def left_for(node: dict[str, Any], pod: dict[str, Any], others: list[dict[str, Any]]) -> int:
    left = int(node["status"]["allocatable"][GPU])
    for other in others:
        if other["status"]["phase"] == "Failed":
            continue
        placed = other["spec"]["nodeName"]
        is_before = other["spec"]["priority"] >= pod["spec"]["priority"] and other["metadata"] != pod["metadata"]
        promised = other["status"]["nominatedNodeName"] if not placed and is_before else ""
        if node["metadata"]["name"] in (placed, promised):
            left -= need(other)
    return left


def read_word(cluster: list[dict[str, Any]], others: list[dict[str, Any]], pod: dict[str, Any], strict: bool) -> str:
    if not need(pod) or pod["spec"]["nodeName"]:
        return "ok" if need(pod) else "no-request"
    matching = [node for node in cluster if matches(node, pod)]
    if not matching:
        return "label-mismatch" if pod["spec"]["nodeSelector"] or "affinity" in pod["spec"] else "no-gpu-node"
    gpu_nodes = [node for node in matching if int(node["status"]["capacity"][GPU])]
    open_ones = [node for node in matching if lets_in(node, pod)]
    open_gpu_nodes = [node for node in open_ones if node in gpu_nodes]
    if not open_gpu_nodes:
        return "taint" if not open_ones or (gpu_nodes and not strict) else "no-gpu-node"
    offering = [node for node in open_gpu_nodes if int(node["status"]["allocatable"][GPU])]
    if not offering:
        return "allocatable-zero"
    return "other" if any(left_for(node, pod, others) >= need(pod) for node in offering) else "exhausted"


def build(cluster: list[dict[str, Any]], everyone: list[dict[str, Any]], strict: bool = False) -> Index:
    found_nodes = decode_nodes(json.dumps({"items": cluster}).encode())
    found_pods = decode_pods(json.dumps({"items": everyone}).encode())
    assert not found_nodes.unreadable
    assert not found_pods.unreadable
    return Index.build(found_nodes.items, found_pods.items, Options(strict_order=strict))


@settings(max_examples=400)
@given(clusters, st.booleans())
def test_index_says_the_word_that_a_reading_node_by_node_gives(cluster: Any, strict: bool) -> None:
    found, others, subject = cluster
    everyone = [*others, subject]
    index = build(found, everyone, strict)
    for pod in everyone:
        want = read_word(found, everyone, pod, strict)
        assert classify(index, decode_pod(json.dumps(pod).encode())).word == want


@given(clusters)
def test_stage_counts_only_fall_and_every_node_is_lost_once_or_fits(cluster: Any) -> None:
    found, others, subject = cluster
    verdict = classify(build(found, [*others, subject]), decode_pod(json.dumps(subject).encode()))
    counts = [count.nodes for count in count_stages(verdict)]
    evidence = list(rank_nodes(verdict))
    assert counts == sorted(counts, reverse=True)
    assert sorted(node.node for node in evidence) == sorted(node["metadata"]["name"] for node in found)
    assert sum(node.lost_at is None for node in evidence) == counts[-1]
    assert all(node.detail for node in evidence if verdict.demand)


@given(clusters)
def test_explanation_never_fails_and_names_its_word(cluster: Any) -> None:
    found, others, subject = cluster
    verdict = classify(build(found, [*others, subject]), decode_pod(json.dumps(subject).encode()))
    told = explain(verdict)
    assert told.word == verdict.word
    assert told.message
    assert bool(told.cause) == (told.word == "other")


@given(clusters)
def test_word_does_not_depend_on_the_order_of_nodes_and_pods(cluster: Any) -> None:
    found, others, subject = cluster
    pod = decode_pod(json.dumps(subject).encode())
    forth = classify(build(found, [*others, subject]), pod).word
    assert classify(build(found[::-1], [subject, *others[::-1]]), pod).word == forth
