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


def test_a_body_in_protobuf_is_415(standin: Any) -> None:
    reply = standin.ask("POST", NODES, b"k8s\x00", "application/vnd.kubernetes.protobuf")
    assert (reply.status, reply.body["reason"]) == (415, "UnsupportedMediaType")


def test_a_body_over_three_mebibytes_is_413(server: Any, node: str) -> None:
    reply = server.merge(node, {"metadata": {"annotations": {"a": "x" * (3 * 1024 * 1024)}}})
    message = "Request entity too large: limit is 3145728"
    assert (reply.status, reply.body["message"]) == (413, message)


def test_a_delete_holds_its_preconditions(server: Any, node: str) -> None:
    found = server.ask("GET", node).body["metadata"]
    for preconditions in ({"uid": "another"}, {"resourceVersion": "1"}):
        reply = server.ask("DELETE", node, {"preconditions": preconditions})
        assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    reply = server.ask("DELETE", node, {"preconditions": {"uid": found["uid"]}})
    assert (reply.status, reply.body["status"]) == (200, "Success")
    assert server.ask("GET", node).status == 404


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
    assert server.ask("POST", f"{NODES}/n1", {}).status == 405
    assert server.ask("POST", "/api/v1/pods", {"metadata": {"name": "p"}}).status in (404, 405)


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
