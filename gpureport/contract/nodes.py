"""What a Node says about reports: the few members that we read of a Node object, and the patches that we send to it.

A patch is RFC 6902, tests first: on the uid, and on every value that was decided from. kube-apiserver applies it as a
whole or answers 422; there `test` with null means "must be absent", as long as the map is there (evanphx/json-patch).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpureport.contract.keys import Keys


class NodeState(NamedTuple):
    """The members of one Node that this project reads; a value is None when the key is absent."""

    name: str
    uid: str
    has_labels: bool
    has_annotations: bool
    trigger: str | None = None
    disable: str | None = None
    status: str | None = None
    run: str | None = None
    output: str | None = None


class Change(NamedTuple):
    """One key of a Node: the value that was decided from and the value to be; None is absent, equal ones only test."""

    kind: str
    key: str
    before: str | None
    after: str | None


LABELS = "labels"
ANNOTATIONS = "annotations"


def read_node_state(node: Mapping[str, Any], keys: Keys) -> NodeState:
    """Read a Node object as the API returns it; `KeyError` when it has no name or uid, which no Node lacks."""
    metadata = node["metadata"]
    labels = metadata.get(LABELS)
    annotations = metadata.get(ANNOTATIONS)
    label = (labels or {}).get
    annotation = (annotations or {}).get
    return NodeState(
        name=metadata["name"],
        uid=metadata["uid"],
        has_labels=labels is not None,
        has_annotations=annotations is not None,
        trigger=label(keys.trigger),
        disable=label(keys.disable),
        status=annotation(keys.status),
        run=annotation(keys.run),
        output=annotation(keys.output),
    )


def escape(token: str) -> str:
    """Write a key as one reference token of a JSON Pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def build_patch(state: NodeState, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Build the compare-and-swap patch for some keys of the Node that `state` describes."""
    operations: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": state.uid}]
    present = {LABELS: state.has_labels, ANNOTATIONS: state.has_annotations}
    for kind in (LABELS, ANNOTATIONS):
        of_kind = [change for change in changes if change.kind == kind]
        if not of_kind:
            continue
        if present[kind]:
            operations += [_test(change) for change in of_kind]
        else:
            operations += _make_map(kind, of_kind)
        operations += [_write(change) for change in of_kind if change.before != change.after]
    return operations


def _path(change: Change) -> str:
    return f"/metadata/{change.kind}/{escape(change.key)}"


def _test(change: Change) -> dict[str, Any]:
    return {"op": "test", "path": _path(change), "value": change.before}


def _make_map(kind: str, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Test that the map is absent, and add it when something is to be put into it."""
    operations: list[dict[str, Any]] = [{"op": "test", "path": f"/metadata/{kind}", "value": None}]
    if any(change.after is not None for change in changes):
        operations.append({"op": "add", "path": f"/metadata/{kind}", "value": {}})
    return operations


def _write(change: Change) -> dict[str, Any]:
    if change.after is None:
        return {"op": "remove", "path": _path(change)}
    return {"op": "add", "path": _path(change), "value": change.after}
