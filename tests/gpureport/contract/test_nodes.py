"""The patches that are sent to a Node: applied as a whole to the Node that was decided from, to no other."""

import copy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpureport.contract.keys import build_keys
from gpureport.contract.nodes import ANNOTATIONS, LABELS, Change, NodeState, build_patch, escape, read_node_state
from infra.local.apiserver.failures import Failure
from infra.local.apiserver.json_patch import apply_json_patch
from tests.gpureport.contract.contract_values import key_values

KEYS = build_keys("reports.example.com/")
FIELDS = {
    "trigger": (LABELS, KEYS.trigger),
    "disable": (LABELS, KEYS.disable),
    "status": (ANNOTATIONS, KEYS.status),
    "run": (ANNOTATIONS, KEYS.run),
    "output": (ANNOTATIONS, KEYS.output),
}
Node = dict[str, Any]


def without_absent(values: dict[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in values.items() if value is not None}


label_maps = st.fixed_dictionaries({"zone": key_values, KEYS.trigger: key_values, KEYS.disable: key_values})
annotation_maps = st.fixed_dictionaries(
    {"a/b~c": key_values, KEYS.status: key_values, KEYS.run: key_values, KEYS.output: key_values}
)


@st.composite
def node_objects(draw: st.DrawFn) -> Node:
    """A Node with any of our keys and some of others'; each map may be absent."""
    metadata: Node = {"name": draw(st.sampled_from(["n1", "n2"])), "uid": draw(st.sampled_from(["u1", "u2"]))}
    for kind, maps in ((LABELS, label_maps), (ANNOTATIONS, annotation_maps)):
        values = draw(st.none() | maps.map(without_absent))
        if values is not None:
            metadata[kind] = values
    return {"metadata": metadata, "spec": {}}


@st.composite
def changes_of(draw: st.DrawFn, state: NodeState) -> list[Change]:
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), unique=True))
    return [Change(*FIELDS[name], before := getattr(state, name), draw(st.just(before) | key_values)) for name in names]


@st.composite
def decisions(draw: st.DrawFn) -> tuple[Node, list[Change]]:
    node = draw(node_objects())
    return node, draw(changes_of(read_node_state(node, KEYS)))


def read_key(node: Node, change: Change) -> str | None:
    value: str | None = node["metadata"].get(change.kind, {}).get(change.key)
    return value


@given(decisions())
def test_patch_makes_the_wanted_node_of_the_node_it_was_decided_from(decision: tuple[Node, list[Change]]) -> None:
    node, changes = decision

    patched = apply_json_patch(node, build_patch(read_node_state(node, KEYS), changes))

    want = copy.deepcopy(node)
    for change in changes:
        if change.after is not None:
            want["metadata"].setdefault(change.kind, {})[change.key] = change.after
        elif change.before is not None:
            del want["metadata"][change.kind][change.key]
    assert patched == want


@given(decisions(), node_objects())
def test_patch_fails_on_a_node_with_another_uid_or_another_value(
    decision: tuple[Node, list[Change]], other: Node
) -> None:
    node, changes = decision
    assume(
        other["metadata"]["uid"] != node["metadata"]["uid"]
        or any(read_key(other, change) != change.before for change in changes)
    )

    with pytest.raises(Failure) as refused:
        apply_json_patch(other, build_patch(read_node_state(node, KEYS), changes))
    assert refused.value.code == 422


@given(decisions(), key_values)
def test_patch_does_not_mind_what_others_write_beside_it(
    decision: tuple[Node, list[Change]], foreign: str | None
) -> None:
    node, changes = decision
    operations = build_patch(read_node_state(node, KEYS), changes)
    for kind in (LABELS, ANNOTATIONS):
        if kind in node["metadata"] and foreign is not None:
            node["metadata"][kind]["other/key"] = foreign

    patched = apply_json_patch(node, operations)

    assert all(read_key(patched, change) == change.after for change in changes)


@given(decisions())
def test_patch_applied_twice_fails_unless_it_changed_nothing(decision: tuple[Node, list[Change]]) -> None:
    node, changes = decision
    assume(any(change.before != change.after for change in changes))
    operations = build_patch(read_node_state(node, KEYS), changes)
    patched = apply_json_patch(node, operations)

    with pytest.raises(Failure):
        apply_json_patch(patched, operations)


@given(decisions())
def test_patch_tests_everything_before_it_writes(decision: tuple[Node, list[Change]]) -> None:
    node, changes = decision

    operations = build_patch(read_node_state(node, KEYS), changes)

    assert operations[0] == {"op": "test", "path": "/metadata/uid", "value": node["metadata"]["uid"]}
    for kind in (LABELS, ANNOTATIONS):
        ops = [one["op"] for one in operations if one["path"].startswith(f"/metadata/{kind}")]
        assert "test" not in ops[ops.count("test") :]


BARE: Node = {"metadata": {"name": "n1", "uid": "u1"}}


def test_patch_of_a_node_without_annotations_makes_the_map() -> None:
    change = Change(ANNOTATIONS, "example.com/run", None, "{}")

    operations = build_patch(read_node_state(BARE, KEYS), [change])

    assert operations == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.com~1run", "value": "{}"},
    ]
    with_others: Node = {"metadata": {"name": "n1", "uid": "u1", "annotations": {"other": "value"}}}
    with pytest.raises(Failure):
        apply_json_patch(with_others, operations)


def test_patch_that_only_tests_a_node_without_annotations_changes_nothing() -> None:
    operations = build_patch(read_node_state(BARE, KEYS), [Change(ANNOTATIONS, KEYS.status, None, None)])

    assert apply_json_patch(BARE, operations) == BARE


@given(node_objects())
def test_node_state_says_what_the_node_says(node: Node) -> None:
    state = read_node_state(node, KEYS)

    assert (state.name, state.uid) == (node["metadata"]["name"], node["metadata"]["uid"])
    assert state.has_labels is (LABELS in node["metadata"])
    assert state.has_annotations is (ANNOTATIONS in node["metadata"])
    for name, (kind, key) in FIELDS.items():
        assert getattr(state, name) == node["metadata"].get(kind, {}).get(key)


@pytest.mark.parametrize("kind", [LABELS, ANNOTATIONS])
def test_node_state_reads_a_null_map_as_absent(kind: str) -> None:
    state = read_node_state({"metadata": {"name": "n1", "uid": "u1", kind: None}}, KEYS)

    assert state == NodeState("n1", "u1", has_labels=False, has_annotations=False)


@pytest.mark.parametrize("node", [{}, {"metadata": {"name": "n1"}}, {"metadata": {"uid": "u1"}}])
def test_node_state_of_what_is_no_node_is_refused(node: Node) -> None:
    with pytest.raises(KeyError):
        read_node_state(node, KEYS)


@pytest.mark.parametrize(
    ("key", "want"), [("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"), ("/~", "~1~0"), ("plain", "plain"), ("", "")]
)
def test_key_is_escaped_as_one_token(key: str, want: str) -> None:
    assert escape(key) == want


@given(st.text())
def test_escaped_key_leads_to_its_member(key: str) -> None:
    operations = [{"op": "add", "path": f"/map/{escape(key)}", "value": "x"}]

    assert apply_json_patch({"map": {}}, operations) == {"map": {key: "x"}}
