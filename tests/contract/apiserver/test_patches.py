"""How kube-apiserver applies patches. Right answers: kube-apiserver 1.36, measured."""

import threading
from typing import Any

import pytest

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
A = "/metadata/annotations/a"

NOT_APPLIED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "the server rejected our request due to an error in our request",
    "reason": "Invalid",
    "details": {},
    "code": 422,
}


def read_annotations(server: Any, path: str) -> dict[str, str]:
    return server.ask("GET", path).body["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": A, "value": "2"},
        {"op": "test", "path": A, "value": None},
        {"op": "test", "path": "/metadata/annotations/absent", "value": "1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        {"op": "test", "path": "/metadata/uid", "value": "another"},
        {"op": "remove", "path": "/metadata/annotations/absent"},
        {"op": "add", "path": "/metadata/annotations/ex.io/k", "value": "1"},
        {"op": "add", "path": "/spec/taints/5", "value": {"key": "k", "effect": "NoSchedule"}},
        {"op": "add", "path": "/metadata/absent/x", "value": "1"},
        {"op": "move", "from": "/metadata/annotations/absent", "path": A},
        {"op": "frob", "path": A},
        {"op": "test", "path": "", "value": "1"},
        {"op": "test"},
        {},
        None,
    ],
    ids=lambda operation: " ".join(map(str, (operation or {}).values())) or str(operation),
)
def test_a_json_patch_that_does_not_apply_is_422_without_causes(server: Any, node: str, operation: Any) -> None:
    reply = server.patch(node, {"op": "add", "path": "/metadata/annotations/first", "value": "x"}, operation)
    assert (reply.status, reply.body) == (422, NOT_APPLIED)
    assert read_annotations(server, node) == {"a": "1"}


def test_a_test_of_null_holds_for_an_absent_key(server: Any, node: str) -> None:
    absent = {"op": "test", "path": "/metadata/annotations/absent", "value": None}
    assert server.patch(node, absent).status == 200
    assert server.patch(node, {"op": "test", "path": "/metadata/annotations/absent"}).status == 200


def test_an_absent_map_can_be_tested_for_and_added(server: Any, bare_node: str) -> None:
    absent = {"op": "test", "path": "/metadata/annotations", "value": None}
    reply = server.patch(bare_node, absent, {"op": "add", "path": "/metadata/annotations", "value": {"x": "1"}})
    assert (reply.status, reply.body["metadata"]["annotations"]) == (200, {"x": "1"})
    below = {"op": "test", "path": "/metadata/labels/x", "value": None}
    assert server.patch(bare_node, {"op": "remove", "path": "/metadata/annotations"}).status == 200
    assert server.patch(bare_node, {"op": "test", "path": "/metadata/annotations/x", "value": None}).status == 422
    assert server.patch(bare_node, below).status in (200, 422)


def test_replace_adds_a_missing_key(server: Any, node: str) -> None:
    reply = server.patch(node, {"op": "replace", "path": "/metadata/annotations/b", "value": "2"})
    assert (reply.status, reply.body["metadata"]["annotations"]) == (200, {"a": "1", "b": "2"})


def test_a_slash_in_a_key_is_escaped(server: Any, node: str) -> None:
    pointer = "/metadata/annotations/ex.io~1k"
    reply = server.patch(
        node, {"op": "add", "path": pointer, "value": "1"}, {"op": "test", "path": pointer, "value": "1"}
    )
    assert (reply.status, reply.body["metadata"]["annotations"]["ex.io/k"]) == (200, "1")


def test_operations_on_lists_go_by_index(server: Any, node: str) -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("one", "two")]
    assert server.patch(node, {"op": "add", "path": "/spec/taints", "value": taints}).status == 200
    reply = server.patch(
        node,
        {"op": "test", "path": "/spec/taints/0/key", "value": "one"},
        {"op": "add", "path": "/spec/taints/-", "value": {"key": "three", "effect": "NoSchedule"}},
        {"op": "remove", "path": "/spec/taints/0"},
        {"op": "copy", "from": "/spec/taints/0/key", "path": "/metadata/annotations/copied"},
    )
    assert [taint["key"] for taint in reply.body["spec"]["taints"]] == ["two", "three"]
    assert reply.body["metadata"]["annotations"]["copied"] == "two"


def test_null_as_a_value_is_the_empty_text(server: Any, node: str) -> None:
    reply = server.patch(node, {"op": "add", "path": "/metadata/annotations/n", "value": None})
    assert (reply.status, reply.body["metadata"]["annotations"]["n"]) == (200, "")


@pytest.mark.parametrize("body", [b"[]", b"null"])
def test_an_empty_json_patch_changes_nothing(server: Any, node: str, body: bytes) -> None:
    before = server.ask("GET", node).body
    reply = server.ask("PATCH", node, body, JSON_PATCH)
    assert (reply.status, reply.body) == (200, before)


@pytest.mark.parametrize("content_type", [JSON_PATCH, "application/merge-patch+json", STRATEGIC_PATCH])
def test_a_patch_without_a_body_is_400(server: Any, node: str, content_type: str) -> None:
    reply = server.ask("PATCH", node, b"", content_type)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'[{"op":"add","path":1}]',
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (
            b"[1]",
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            b'{"op":"test"}',
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (b'[{"op":', "error decoding patch: unexpected end of JSON input"),
    ],
)
def test_a_json_patch_that_cannot_be_decoded_is_400(server: Any, node: str, body: bytes, message: str) -> None:
    reply = server.ask("PATCH", node, body, JSON_PATCH)
    assert (reply.status, reply.body["reason"], reply.body["message"]) == (400, "BadRequest", message)


def test_a_json_patch_of_too_many_operations_is_413(server: Any, node: str) -> None:
    reply = server.patch(node, *[{"op": "test", "path": A, "value": "1"}] * 10_001)
    message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert (reply.status, reply.body["message"]) == (413, message)


def test_a_stale_version_in_a_patch_is_409(server: Any, node: str) -> None:
    name = node.rpartition("/")[2]
    stale = {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}
    replies = [
        server.patch(node, stale, {"op": "add", "path": A, "value": "2"}),
        server.merge(node, {"metadata": {"resourceVersion": "1", "annotations": {"a": "2"}}}),
        server.ask("PATCH", node, {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}, STRATEGIC_PATCH),
    ]
    for reply in replies:
        assert (reply.status, reply.body["reason"]) == (409, "Conflict")
        assert reply.body["details"] == {"name": name, "kind": "nodes"}
        assert reply.body["message"].startswith(f'Operation cannot be fulfilled on nodes "{name}": the object has been')


def test_version_zero_is_no_check_and_a_version_that_is_no_number_is_500(server: Any, node: str) -> None:
    assert server.merge(node, {"metadata": {"resourceVersion": "0", "annotations": {"a": "2"}}}).status == 200
    assert server.merge(node, {"metadata": {"resourceVersion": "abc"}}).status == 500


def test_the_uid_is_immutable(server: Any, node: str) -> None:
    reply = server.patch(node, {"op": "add", "path": "/metadata/uid", "value": "0"})
    assert reply.status == 422
    cause = {
        "reason": "FieldValueInvalid",
        "message": 'Invalid value: "0": field is immutable',
        "field": "metadata.uid",
    }
    assert reply.body["details"]["causes"][0] == cause


@pytest.mark.parametrize(
    "patch", [{"metadata": {"resourceVersion": 1}}, {"kind": "Pod"}, {"apiVersion": "v2"}, {"spec": "x"}], ids=str
)
def test_a_patch_that_makes_no_node_is_422_with_causes(server: Any, node: str, patch: dict[str, Any]) -> None:
    reply = server.merge(node, patch)
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "patch")


def test_the_name_in_the_url_stands(server: Any, node: str) -> None:
    reply = server.patch(node, {"op": "replace", "path": "/metadata/name", "value": "other"})
    assert reply.status == 400
    assert reply.body["message"].startswith("the name of the object (other) does not match the name on the URL")


def test_a_merge_patch_removes_by_null_and_makes_maps(server: Any, bare_node: str) -> None:
    assert server.merge(bare_node, {"metadata": {"annotations": {"x": "1", "y": "2"}}}).status == 200
    reply = server.merge(bare_node, {"metadata": {"annotations": {"x": None}}})
    assert reply.body["metadata"]["annotations"] == {"y": "2"}


def test_a_merge_patch_that_is_no_object_is_400(server: Any, node: str) -> None:
    assert server.merge(node, []).status == 400


def test_a_strategic_patch_merges_conditions_by_their_type_and_replaces_taints(server: Any, node: str) -> None:
    assert server.merge(node, {"spec": {"taints": None}}).status == 200
    for kind in ("Ready", "Maintenance", "Ready"):
        conditions = [{"type": kind, "status": "True"}]
        body = {"status": {"conditions": conditions}}
        assert server.ask("PATCH", f"{node}/status", body, STRATEGIC_PATCH).status == 200
    for key in ("one", "two"):
        body = {"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}}
        assert server.ask("PATCH", node, body, STRATEGIC_PATCH).status == 200
    found = server.ask("GET", node).body
    assert sorted(condition["type"] for condition in found["status"]["conditions"]) == ["Maintenance", "Ready"]
    assert [taint["key"] for taint in found["spec"]["taints"]] == ["two"]
    removal = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    reply = server.ask("PATCH", f"{node}/status", removal, STRATEGIC_PATCH)
    assert [condition["type"] for condition in reply.body["status"]["conditions"]] == ["Maintenance"]


def test_status_and_spec_are_patched_apart(server: Any, node: str) -> None:
    server.merge(f"{node}/status", {"spec": {"unschedulable": True}, "metadata": {"labels": {"by": "status"}}})
    server.merge(node, {"status": {"phase": "Terminated"}})
    found = server.ask("GET", node).body
    assert "unschedulable" not in found.get("spec", {})
    assert found["metadata"]["labels"]["by"] == "status"
    assert "phase" not in found.get("status", {})


def test_another_content_type_is_415(server: Any, node: str) -> None:
    reply = server.ask("PATCH", node, {}, "text/plain")
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")


def test_a_dry_run_answers_and_stores_nothing(server: Any, node: str) -> None:
    reply = server.merge(f"{node}?dryRun=All", {"metadata": {"annotations": {"dry": "1"}}})
    assert (reply.status, reply.body["metadata"]["annotations"]["dry"]) == (200, "1")
    assert "dry" not in read_annotations(server, node)
    assert server.merge(f"{node}?dryRun=some", {}).status == 422


def test_of_many_writers_each_success_counts_once(server: Any, node: str) -> None:
    assert server.merge(node, {"metadata": {"annotations": {"count": "0"}}}).status == 200
    statuses: list[int] = []

    def increment() -> None:
        for _ in range(5):
            count = read_annotations(server, node)["count"]
            test = {"op": "test", "path": "/metadata/annotations/count", "value": count}
            step = {"op": "replace", "path": "/metadata/annotations/count", "value": str(int(count) + 1)}
            statuses.append(server.patch(node, test, step).status)

    threads = [threading.Thread(target=increment) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(statuses) <= {200, 422}
    assert read_annotations(server, node)["count"] == str(statuses.count(200))
