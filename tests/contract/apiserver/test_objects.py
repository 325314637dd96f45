"""How kube-apiserver creates, validates, replaces and deletes objects. Right answers: kube-apiserver 1.36, measured."""

import http.client
from contextlib import closing
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

NODES = "/api/v1/nodes"


def test_every_answer_has_a_date(server: Any, node: str) -> None:
    for reply in (server.ask("GET", node), server.ask("GET", f"{NODES}/absent"), server.ask("GET", "/healthz")):
        assert parsedate_to_datetime(reply.headers["Date"]).tzinfo is not None


def test_a_created_object_gets_its_system_fields(server: Any, node: str) -> None:
    found = server.ask("GET", node).body
    assert (found["kind"], found["apiVersion"]) == ("Node", "v1")
    assert found["metadata"]["resourceVersion"].isdigit()
    assert len(found["metadata"]["uid"]) == 36
    assert found["metadata"]["creationTimestamp"].endswith("Z")


def test_an_absent_object_is_404(server: Any) -> None:
    reply = server.ask("GET", f"{NODES}/absent")
    assert (reply.status, reply.body["reason"]) == (404, "NotFound")
    assert reply.body["message"] == 'nodes "absent" not found'
    assert reply.body["details"] == {"name": "absent", "kind": "nodes"}
    assert server.merge(f"{NODES}/absent", {}).status == 404
    assert server.ask("DELETE", f"{NODES}/absent").status == 404


def test_an_absent_object_of_a_group_is_named_with_its_group(server: Any) -> None:
    reply = server.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/absent")
    assert reply.body["message"] == 'leases.coordination.k8s.io "absent" not found'
    assert reply.body["details"]["group"] == "coordination.k8s.io"


def test_a_second_object_of_the_same_name_is_409_already_exists(server: Any, node: str) -> None:
    name = node.rpartition("/")[2]
    reply = server.ask("POST", NODES, {"metadata": {"name": name}})
    assert (reply.status, reply.body["reason"]) == (409, "AlreadyExists")


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"bad": "not ok!"}}, "metadata.labels"),
        ({"labels": {"bad": "x" * 64}}, "metadata.labels"),
        ({"labels": {"b@d": "x"}}, "metadata.labels"),
        ({"labels": {"Ex.io/k": "x"}}, "metadata.labels"),
        ({"labels": {"/k": "x"}}, "metadata.labels"),
        ({"annotations": {"b@d": "x"}}, "metadata.annotations"),
        ({"annotations": {f"ex.io/{'k' * 64}": "x"}}, "metadata.annotations"),
        ({"annotations": {"a": "x" * 262144}}, "metadata.annotations"),
        ({"name": "Upper"}, "metadata.name"),
        ({"name": "a" * 254}, "metadata.name"),
        ({"name": ""}, "metadata.name"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_metadata_is_422_with_causes(server: Any, metadata: dict[str, Any], field: str) -> None:
    reply = server.ask("POST", NODES, {"metadata": {"name": "never-stored", **metadata}})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert {cause["field"] for cause in reply.body["details"]["causes"]} == {field}


def test_the_annotation_limit_is_inclusive_and_keys_may_have_capitals(server: Any, node: str) -> None:
    assert server.merge(node, {"metadata": {"annotations": {"a": None, "b": "x" * 262143}}}).status == 200
    assert server.merge(node, {"metadata": {"annotations": {"b": None, "Ex.io/K": "v"}}}).status == 200


def test_an_empty_label_value_is_a_label(server: Any, node: str) -> None:
    reply = server.merge(node, {"metadata": {"labels": {"cloud.google.com/trigger-gpu-report": ""}}})
    assert reply.body["metadata"]["labels"]["cloud.google.com/trigger-gpu-report"] == ""


def test_an_annotation_that_is_no_text_is_422_by_patch_and_400_by_post(server: Any, node: str) -> None:
    reply = server.merge(node, {"metadata": {"annotations": {"flag": True}}})
    assert reply.status == 422
    assert "json: cannot unmarshal bool into Go struct field" in reply.body["message"]
    assert reply.body["details"]["causes"]
    assert server.ask("POST", NODES, {"metadata": {"name": "x", "annotations": {"flag": True}}}).status == 400


def test_a_replace_needs_the_version_it_read(server: Any, node: str) -> None:
    found = server.ask("GET", node).body
    newer = {**found, "metadata": {**found["metadata"], "annotations": {"b": "2"}}}
    assert server.ask("PUT", node, newer).status == 200
    reply = server.ask("PUT", node, newer)
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")


def test_an_object_of_another_kind_is_400(server: Any, node: str) -> None:
    name = node.rpartition("/")[2]
    assert server.ask("PUT", node, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}}).status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff"])
def test_a_body_that_is_no_object_is_400(server: Any, body: bytes) -> None:
    assert server.ask("POST", NODES, body).status == 400


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "image/png"])
def test_a_body_of_another_type_is_415(server: Any, content_type: str) -> None:
    reply = server.ask("POST", NODES, {"metadata": {"name": "never-stored"}}, content_type)
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": []},
        {"metadata": {"name": "x", "labels": []}},
        {"metadata": {"name": "x", "resourceVersion": 1}},
        {"metadata": {"name": "x"}, "spec": []},
        {"metadata": {"name": "x"}, "status": "Ready"},
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}},
        {"kind": "Node", "apiVersion": "v2", "metadata": {"name": "x"}},
    ],
    ids=str,
)
def test_a_member_of_the_wrong_type_is_400(server: Any, body: dict[str, Any]) -> None:
    reply = server.ask("POST", NODES, body)
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


def test_an_unknown_member_is_dropped(server: Any, node: str) -> None:
    reply = server.merge(node, {"gadget": {"x": 1}, "metadata": {"annotations": {"b": "2"}}})
    assert (reply.status, reply.body["metadata"]["annotations"]) == (200, {"a": "1", "b": "2"})
    assert "gadget" not in server.ask("GET", node).body
    assert ("Warning" in reply.headers) == server.traits.warns


def test_a_new_node_is_tainted_until_it_is_ready(server: Any, node: str) -> None:
    found = server.ask("GET", node).body
    assert found["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    reply = server.merge(node, {"spec": {"taints": None}})
    assert (reply.status, "taints" in reply.body["spec"]) == (200, False)


def test_an_object_is_not_created_at_a_version(server: Any) -> None:
    assert server.ask("POST", NODES, {"metadata": {"name": "x", "resourceVersion": "5"}}).status == 500
    zero = {"metadata": {"generateName": "zero-", "resourceVersion": "0"}}
    created = server.ask("POST", NODES, zero)
    assert created.status == 201
    server.ask("DELETE", f"{NODES}/{created.body['metadata']['name']}")


def test_a_body_over_three_mebibytes_is_413(server: Any, node: str) -> None:
    reply = server.merge(node, {"metadata": {"annotations": {"a": "x" * (3 * 1024 * 1024)}}})
    message = "Request entity too large: limit is 3145728"
    assert (reply.status, reply.body["message"]) == (413, message)


def test_a_delete_holds_its_preconditions(server: Any, node: str) -> None:
    found = server.ask("GET", node).body["metadata"]
    for preconditions, why in (
        ({"uid": "another"}, "the UID in"),
        ({"resourceVersion": "1"}, "the ResourceVersion in"),
    ):
        reply = server.ask("DELETE", node, {"preconditions": preconditions})
        assert (reply.status, reply.body["reason"]) == (409, "Conflict")
        assert reply.body["message"].startswith(f'Operation cannot be fulfilled on Node "{found["name"]}": {why}')
    reply = server.ask("DELETE", node, {"preconditions": {"uid": found["uid"]}})
    assert (reply.status, reply.body["status"]) == (200, "Success")
    assert server.ask("GET", node).status == 404


def test_a_delete_with_a_body_takes_its_options_from_there_alone(server: Any, node: str) -> None:
    assert server.ask("DELETE", f"{node}?dryRun=All").status == 200
    assert server.ask("DELETE", node, {"dryRun": ["All"]}).status == 200
    assert server.ask("GET", node).status == 200
    assert server.ask("DELETE", f"{node}?dryRun=All", {}).status == 200
    assert server.ask("GET", node).status == 404


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"kind":"Node","apiVersion":"v1"}'])
def test_a_delete_with_a_body_that_is_no_options_is_400(server: Any, node: str, body: bytes) -> None:
    assert server.ask("DELETE", node, body).status == 400
    assert server.ask("DELETE", node, {"propagationPolicy": "Bogus"}).status == 422
    assert server.ask("GET", node).status == 200


def test_a_node_with_a_finalizer_goes_when_that_is_taken_away(server: Any, node: str) -> None:
    assert server.merge(node, {"metadata": {"finalizers": ["example.com/guard"]}}).status == 200
    name = node.rpartition("/")[2]
    with server.watch(NODES, fieldSelector=f"metadata.name={name}") as watch:
        assert watch.next_name() == ("ADDED", name)
        assert server.ask("DELETE", node).body["kind"] == "Node"
        deleting = watch.next()
        assert (deleting["type"], deleting["object"]["metadata"]["deletionTimestamp"][-1]) == ("MODIFIED", "Z")
        assert server.merge(node, {"metadata": {"annotations": {"b": "2"}}}).status == 200
        assert watch.next_name() == ("MODIFIED", name)
        assert server.merge(node, {"metadata": {"finalizers": None}}).status == 200
        assert watch.next_name() == ("DELETED", name)
    assert server.ask("GET", node).status == 404


def test_a_deletion_is_asked_for_by_delete_alone(server: Any, node: str) -> None:
    reply = server.merge(node, {"metadata": {"deletionTimestamp": "2026-11-30T09:15:00Z"}})
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "metadata.deletionTimestamp")


def test_a_recreated_node_has_another_uid(server: Any, node: str) -> None:
    name = node.rpartition("/")[2]
    uid = server.ask("GET", node).body["metadata"]["uid"]
    server.ask("DELETE", node)
    reply = server.ask("POST", NODES, {"metadata": {"name": name, "uid": uid}})
    assert reply.status == 201
    assert reply.body["metadata"]["uid"] != uid


def test_an_object_needs_its_namespace(server: Any) -> None:
    reply = server.ask("POST", "/api/v1/namespaces/absent/configmaps", {"metadata": {"name": "x"}})
    assert (reply.status, reply.body["message"]) == (404, 'namespaces "absent" not found')
    other = {"metadata": {"name": "x", "namespace": "kube-system"}}
    assert server.ask("POST", "/api/v1/namespaces/default/configmaps", other).status == 400


def test_a_generated_name_begins_as_asked(server: Any) -> None:
    reply = server.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "x-"}})
    assert reply.status == 201
    assert reply.body["metadata"]["name"].startswith("x-")


def test_an_unserved_path_is_404_and_a_wrong_method_405(server: Any) -> None:
    assert server.ask("GET", "/api/v1/gadgets").status == 404
    assert server.ask("GET", f"{NODES}/n1%2Fgadget").body["details"] == {}
    assert server.ask("POST", f"{NODES}/n1", {}).status == 405
    assert server.ask("POST", "/api/v1/pods", {"metadata": {"name": "p"}}).status in (404, 405)


def test_an_unserved_group_is_404_in_plain_text(server: Any) -> None:
    for path in ("/apis/gadgets.example.com/v1/gadgets", "/gadgets"):
        reply = server.ask("GET", path)
        assert (reply.status, reply.raw) == (404, b"404 page not found\n")
        assert reply.headers["Content-Type"].startswith("text/plain")


def test_an_escaped_slash_in_a_name_reaches_a_subresource(server: Any, node: str) -> None:
    assert server.ask("GET", f"{node}%2Fstatus").body["kind"] == "Node"


def test_a_lease_is_created_and_replaced(server: Any) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    server.ask("DELETE", f"{leases}/contract")
    created = server.ask("POST", leases, {"metadata": {"name": "contract"}, "spec": {"holderIdentity": "me"}})
    assert (created.status, created.body["kind"]) == (201, "Lease")
    other = {**created.body, "spec": {"holderIdentity": "you"}}
    assert server.ask("PUT", f"{leases}/contract", other).body["spec"] == {"holderIdentity": "you"}


def test_a_connection_serves_several_requests(server: Any, node: str) -> None:
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    with closing(server.connect()) as connection:
        for _ in range(3):
            connection.request("GET", node, headers=headers)
            response = connection.getresponse()
            assert response.status == http.client.OK
            response.read()
            assert not response.will_close
