"""The `Nodes` port, on the fake and on the adapter: one suite, so that the fake can stand for the cluster."""

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpureport.adapters.kubernetes_cluster import KubernetesCluster
from gpureport.ports import Nodes, PatchOutcome, Refused
from tests.fakes.nodes import MemoryNodes

KEY = "cloud.google.com/gpu-report-status"
POINTER = "/metadata/annotations/cloud.google.com~1gpu-report-status"


class Case:
    """One Node behind one implementation of the port."""

    def __init__(self, nodes: Nodes, name: str, now: Callable[[], datetime]) -> None:
        self.nodes = nodes
        self.name = name
        self.now = now

    def read(self) -> dict[str, Any]:
        served = self.nodes.read_node(self.name)
        assert served is not None
        return served.node

    def test_uid(self) -> dict[str, Any]:
        return {"op": "test", "path": "/metadata/uid", "value": self.read()["metadata"]["uid"]}

    def patch(self, *operations: dict[str, Any]) -> PatchOutcome:
        return self.nodes.patch_node(self.name, [self.test_uid(), *operations])


SERVERS = {
    "KubernetesCluster over HTTP": "standin",
    "KubernetesCluster over TLS": "tls_standin",
    "KubernetesCluster on kube-apiserver": "kube_apiserver",
}


@pytest.fixture(params=["MemoryNodes", *SERVERS])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    name = f"port-{uuid.uuid4().hex[:8]}"
    node = {"metadata": {"name": name, "labels": {"role": "gpu"}, "annotations": {"a": "1"}}}
    if request.param == "MemoryNodes":
        memory = MemoryNodes(node)
        yield Case(memory, name, lambda: memory.now)
        return
    server = request.getfixturevalue(SERVERS[request.param])
    assert server.ask("POST", "/api/v1/nodes", node).status == 201
    cluster = KubernetesCluster.from_endpoint(server.url, lambda: server.token or "any", server.ca)
    yield Case(cluster, name, lambda: datetime.now(UTC))
    cluster.close()


def test_a_node_is_read_as_json_with_the_instant_of_the_answer(case: Case) -> None:
    served = case.nodes.read_node(case.name)
    assert served is not None
    assert served.node["kind"] == "Node"
    assert served.node["metadata"]["annotations"] == {"a": "1"}
    assert served.served_at.tzinfo == UTC
    assert abs(served.served_at - case.now()) < timedelta(seconds=10)


def test_an_absent_node_is_none(case: Case) -> None:
    assert case.nodes.read_node("no-such-node") is None


def test_a_patch_whose_tests_hold_is_applied_as_a_whole(case: Case) -> None:
    before = case.read()["metadata"]["resourceVersion"]
    test = {"op": "test", "path": POINTER, "value": None}
    want = PatchOutcome.APPLIED
    assert case.patch(test, {"op": "add", "path": POINTER, "value": "in-progress"}) is want
    metadata = case.read()["metadata"]
    assert metadata["annotations"] == {"a": "1", KEY: "in-progress"}
    assert metadata["resourceVersion"] != before


def test_a_patch_with_a_test_that_does_not_hold_is_a_conflict_and_changes_nothing(case: Case) -> None:
    add = {"op": "add", "path": POINTER, "value": "in-progress"}
    assert case.patch(add, {"op": "test", "path": "/metadata/annotations/a", "value": "2"}) is PatchOutcome.CONFLICT
    assert case.read()["metadata"]["annotations"] == {"a": "1"}


def test_a_patch_for_another_uid_is_a_conflict(case: Case) -> None:
    other = {"op": "test", "path": "/metadata/uid", "value": "another"}
    assert case.nodes.patch_node(case.name, [other]) is PatchOutcome.CONFLICT


def test_a_patch_for_an_older_version_is_a_conflict(case: Case) -> None:
    stale = {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}
    assert case.patch(stale, {"op": "add", "path": POINTER, "value": "x"}) is PatchOutcome.CONFLICT


def test_a_patch_under_an_absent_map_is_a_conflict(case: Case) -> None:
    assert case.patch({"op": "remove", "path": "/metadata/annotations"}) is PatchOutcome.APPLIED
    assert case.patch({"op": "add", "path": POINTER, "value": "x"}) is PatchOutcome.CONFLICT
    assert "annotations" not in case.read()["metadata"]


def test_the_last_annotation_takes_the_map_with_it(case: Case) -> None:
    assert case.patch({"op": "remove", "path": "/metadata/annotations/a"}) is PatchOutcome.APPLIED
    assert "annotations" not in case.read()["metadata"]


def test_a_patch_of_an_absent_node_is_gone(case: Case) -> None:
    assert case.nodes.patch_node("no-such-node", [case.test_uid()]) is PatchOutcome.GONE


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/metadata/labels/bad", "value": "not ok!"},
        {"op": "add", "path": "/metadata/annotations/b@d", "value": "x"},
        {"op": "add", "path": "/metadata/annotations/big", "value": "x" * 262144},
        {"op": "add", "path": "/metadata/annotations/flag", "value": True},
        {"op": "add", "path": "/metadata/uid", "value": "another"},
        {"op": "replace", "path": "/metadata/name", "value": "another"},
    ],
    ids=["label value", "annotation key", "too long", "no text", "uid", "name"],
)
def test_a_patch_with_a_bad_value_is_refused_in_few_words(case: Case, operation: dict[str, Any]) -> None:
    with pytest.raises(Refused) as caught:
        case.patch(operation)
    assert isinstance(case.nodes, MemoryNodes) or len(str(caught.value)) <= 300
    assert case.read()["metadata"]["annotations"] == {"a": "1"}


def test_a_patch_that_changes_nothing_keeps_the_version(case: Case) -> None:
    before = case.read()["metadata"]["resourceVersion"]
    assert case.patch({"op": "add", "path": "/metadata/annotations/a", "value": "1"}) is PatchOutcome.APPLIED
    assert case.read()["metadata"]["resourceVersion"] == before


def test_the_fake_fails_a_patch_without_a_test_of_the_uid() -> None:
    nodes = MemoryNodes({"metadata": {"name": "n1"}})
    with pytest.raises(AssertionError, match="/metadata/uid"):
        nodes.patch_node("n1", [{"op": "add", "path": "/metadata/labels", "value": {}}])
