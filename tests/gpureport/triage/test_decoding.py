"""What becomes of bytes: whole objects, odd ones, and what is no object at all."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.triage.decoding import NotObjects, decode_nodes, decode_objects, decode_pod, decode_pods
from gpureport.triage.explanation import explain
from gpureport.triage.index import Index
from gpureport.triage.verdict import classify

Build = Callable[..., dict[str, Any]]


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_list_of_mixed_kinds_is_sorted(node: Build, pod: Build) -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}}
    device_class = {"kind": "DeviceClass", "spec": {"extendedResourceName": "nvidia.com/gpu"}}
    found = decode_objects(dump({"kind": "List", "items": [node(), pod(), service, device_class]}))
    assert ([n.metadata.name for n in found.nodes], [p.metadata.name for p in found.pods]) == (["n"], ["p"])
    assert [c.spec.extended_resource_name for c in found.device_classes] == ["nvidia.com/gpu"]


@pytest.mark.parametrize("items", [[], None])
def test_empty_typed_list_is_a_cluster_without_such_objects(items: Any) -> None:
    found = decode_objects(dump({"kind": "NodeList", "items": items}))
    assert (found.has_nodes, found.has_pods) == (True, False)


def test_items_of_a_typed_list_need_no_kind(pod: Build) -> None:
    subject = pod()
    del subject["kind"]
    assert len(decode_objects(dump({"kind": "PodList", "items": [subject]})).pods) == 1


def test_single_object_is_taken(node: Build) -> None:
    assert len(decode_objects(dump(node())).nodes) == 1


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'"x"', b"nodes:\n- a", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000,
     b'{"kind":"Service","metadata":{"name":"s"}}', b'{"kind":"List","items":[{"kind":"Secret"}]}', b"{}"],
    ids=lambda data: repr(data[:20]),
)  # fmt: skip
def test_bytes_that_hold_no_objects_are_refused(data: bytes) -> None:
    with pytest.raises(NotObjects):
        decode_objects(data)


def test_truncated_dump_is_refused(node: Build) -> None:
    data = dump({"kind": "List", "items": [node()]})
    for end in range(len(data)):
        with pytest.raises(NotObjects):
            decode_objects(data[:end])


def test_null_counts_as_absent(pod: Build, node: Build) -> None:
    subject = pod(gpus="1", tolerations=None, nodeSelector=None, affinity={"nodeAffinity": None}, priority=None)
    assert decode_pod(dump(subject)).spec.tolerations == ()
    assert decode_nodes(dump({"items": [node(taints=None)]})).items[0].spec.taints == ()


def test_odd_object_costs_itself_alone_and_is_named(pod: Build) -> None:
    page = decode_pods(dump({"items": [pod("a"), pod("bad", tolerations="all"), pod("c")]}))
    assert [p.metadata.name for p in page.items] == ["a", "c"]
    assert page.unreadable[0].where == "Pod bad"
    assert "tolerations" in page.unreadable[0].message


def test_unreadable_pod_that_was_asked_about_is_an_error(pod: Build) -> None:
    with pytest.raises(NotObjects, match="containers"):
        decode_pod(dump(pod(containers="none")))


def test_large_annotations_are_skipped(pod: Build) -> None:
    subject = pod()
    subject["metadata"]["annotations"] = {"big": "x" * 10_000_000}
    assert decode_pod(dump(subject)).metadata.name == "p"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
spec_fields = st.sampled_from(
    ["containers", "initContainers", "nodeName", "nodeSelector", "tolerations", "affinity", "overhead", "priority",
     "schedulingGates", "resourceClaims", "volumes", "topologySpreadConstraints", "taints", "unschedulable"]
)  # fmt: skip


@given(st.dictionaries(spec_fields, json_values, max_size=3), st.dictionaries(spec_fields, json_values, max_size=3))
def test_any_value_in_any_field_is_read_or_named(pod_spec: dict[str, Any], node_spec: dict[str, Any]) -> None:
    usual = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
    pods = [{"kind": "Pod", "metadata": {"name": "p"}, "spec": {**usual, **pod_spec}}]
    nodes = [{"kind": "Node", "metadata": {"name": "n"}, "spec": node_spec}]
    found = decode_objects(dump({"kind": "List", "items": pods + nodes}))
    assert len(found.nodes) + len(found.pods) + len(found.unreadable) == 2
    index = Index.build(found.nodes, found.pods)
    for pod in found.pods:
        assert explain(classify(index, pod)).message


@given(json_values)
def test_any_json_is_taken_or_refused(value: Any) -> None:
    with suppress(NotObjects):
        found = decode_objects(dump(value))
        assert found.has_nodes or found.has_pods or found.device_classes or not (found.nodes or found.pods)
