"""The Kubernetes adapter: its errors, its lists, its ways to a cluster. The port's own suite is in test_nodes_port."""

import json
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpureport.adapters.kubernetes_cluster import KubernetesCluster
from gpureport.ports import PatchOutcome, Refused, Unavailable

N1 = "/api/v1/nodes/n1"
ADD = {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}


@pytest.fixture(scope="module")
def node_uid(standin: Any) -> str:
    reply = standin.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    assert reply.status == 201
    return str(reply.body["metadata"]["uid"])


@pytest.fixture
def cluster(standin: Any, node_uid: str) -> Iterator[KubernetesCluster]:
    cluster = KubernetesCluster.from_endpoint(standin.url, lambda: "any")
    yield cluster
    cluster.close()
    standin.ask("DELETE", "/_local/fail")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_server_in_trouble_is_unavailable(cluster: KubernetesCluster, standin: Any, status: int) -> None:
    standin.fail(f"GET {N1}", status, headers={"Retry-After": "1"}, body="upstream is gone")
    with pytest.raises(Unavailable, match=f"{standin.url}: get node n1: {status} upstream is gone"):
        cluster.read_node("n1")
    standin.fail(f"PATCH {N1}", status)
    with pytest.raises(Unavailable, match=f"patch node n1: {status} InternalError: failed on purpose"):
        cluster.patch_node("n1", [ADD])


@pytest.mark.parametrize("status", [400, 401, 403, 405, 413, 415])
def test_a_refusal_is_refused(cluster: KubernetesCluster, standin: Any, status: int) -> None:
    for method in ("GET", "PATCH"):
        standin.fail(f"{method} {N1}", status)
    with pytest.raises(Refused, match=f"get node n1: {status}"):
        cluster.read_node("n1")
    with pytest.raises(Refused, match=f"patch node n1: {status}"):
        cluster.patch_node("n1", [ADD])


def test_a_name_taken_is_not_a_lost_race(cluster: KubernetesCluster, standin: Any) -> None:
    body = json.dumps({"kind": "Status", "reason": "AlreadyExists", "message": "m", "code": 409})
    standin.fail(f"PATCH {N1}", 409, body=body)
    with pytest.raises(Refused, match="409 AlreadyExists"):
        cluster.patch_node("n1", [ADD])


def test_an_error_is_cut_short(cluster: KubernetesCluster, standin: Any) -> None:
    standin.fail(f"GET {N1}", 403, body="x" * 100_000)
    with pytest.raises(Refused) as caught:
        cluster.read_node("n1")
    assert len(str(caught.value)) == 300


def test_a_lost_answer_is_unavailable_and_the_write_is_not_repeated(cluster: KubernetesCluster, standin: Any) -> None:
    assert cluster.read_node("n1") is not None
    standin.ask("DELETE", "/_local/requests")
    standin.fail(f"PATCH {N1}", 0, after=True)
    with pytest.raises(Unavailable, match="PATCH /api/v1/nodes/n1"):
        cluster.patch_node("n1", [ADD])
    served = cluster.read_node("n1")
    assert served is not None
    assert served.node["metadata"]["labels"] == {"x": "y"}
    patches = [entry for entry in standin.ask("GET", "/_local/requests").body if entry["method"] == "PATCH"]
    assert len(patches) == 1


def test_a_write_before_an_answer_comes_is_not_repeated(cluster: KubernetesCluster, standin: Any) -> None:
    standin.ask("DELETE", "/_local/requests")
    standin.fail(f"PATCH {N1}", 0, times=5)
    with pytest.raises(Unavailable):
        cluster.patch_node("n1", [ADD])
    assert len(standin.ask("GET", "/_local/requests").body) == 1


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        cluster = KubernetesCluster.from_endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", lambda: "any")
        with pytest.raises(Unavailable, match="GET /api/v1/nodes/n1"):
            cluster.read_node("n1")


def test_a_server_that_never_answers_is_unavailable_within_ten_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster = KubernetesCluster.from_endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}", lambda: "any")
        started = time.monotonic()
        with pytest.raises(Unavailable, match="timed out"):
            cluster.patch_node("n1", [ADD])
        assert time.monotonic() - started < 10.5


def test_a_certificate_that_is_not_trusted_is_unavailable(server: Any) -> None:
    cluster = KubernetesCluster.from_endpoint(server.url, lambda: server.token)
    with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
        cluster.read_node("n1")


def test_an_answer_that_is_no_node_is_unavailable(cluster: KubernetesCluster, standin: Any) -> None:
    for body in ("<html>", "[]", "{}"):
        standin.fail(f"GET {N1}", 200, body=body)
        with pytest.raises(Unavailable):
            cluster.read_node("n1")


def test_each_request_carries_the_token_of_that_moment(server: Any) -> None:
    tokens = iter(["stale", server.token, ""])
    cluster = KubernetesCluster.from_endpoint(server.url, lambda: next(tokens), server.ca)
    with pytest.raises(Refused, match="401 Unauthorized"):
        cluster.read_node("absent")
    assert cluster.read_node("absent") is None
    with pytest.raises(Refused, match="no token"):
        cluster.read_node("absent")
    cluster.close()


def test_a_name_cannot_leave_its_place_in_the_path(cluster: KubernetesCluster, standin: Any) -> None:
    standin.ask("DELETE", "/_local/requests")
    assert cluster.read_node("../namespaces/default") is None
    assert cluster.read_pod("default", "p/status?x=y") is None
    paths = [entry["path"] for entry in standin.ask("GET", "/_local/requests").body]
    want = ["/api/v1/nodes/..%2Fnamespaces%2Fdefault", "/api/v1/namespaces/default/pods/p%2Fstatus%3Fx%3Dy"]
    assert paths == want


def test_a_null_reaches_the_server_as_null(cluster: KubernetesCluster) -> None:
    absent = {"op": "test", "path": "/metadata/annotations", "value": None}
    assert cluster.patch_node("n1", [absent]) is PatchOutcome.APPLIED


@pytest.fixture
def admin(server: Any) -> Iterator[KubernetesCluster]:
    cluster = KubernetesCluster.from_endpoint(server.url, lambda: server.token, server.ca)
    yield cluster
    cluster.close()


@pytest.fixture
def pods(server: Any) -> Iterator[list[str]]:
    """Five Pods, in the order of their names."""
    names = [f"p{index}-{uuid.uuid4().hex[:8]}" for index in range(5)]
    for name in names:
        pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        assert server.ask("POST", "/api/v1/namespaces/default/pods", pod).status == 201
    yield names
    for name in names:
        server.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")


def test_pods_are_listed_in_pages_and_read_one_by_one(admin: KubernetesCluster, pods: list[str]) -> None:
    pages = [json.loads(page) for page in admin.list_pages("pods", limit=2)]
    assert {len(page["items"]) for page in pages[:-1]} == {2}
    listed = [item["metadata"]["name"] for page in pages for item in page["items"]]
    assert [name for name in listed if name in pods] == pods
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    found = admin.read_pod("default", pods[3])
    assert found is not None
    assert json.loads(found)["metadata"]["name"] == pods[3]
    assert admin.read_pod("default", "absent") is None
    assert admin.read_pod("absent", pods[3]) is None


def test_a_list_that_expires_between_pages_is_unavailable(
    admin: KubernetesCluster, server: Any, pods: list[str]
) -> None:
    pages = admin.list_pages("pods", limit=1)
    next(pages)
    server.merge(f"/api/v1/namespaces/default/pods/{pods[4]}", {"metadata": {"labels": {"later": "1"}}})
    server.forget_history()
    with pytest.raises(Unavailable, match="410 Expired"):
        next(pages)


def test_a_user_without_rights_is_refused(server: Any) -> None:
    cluster = KubernetesCluster.from_endpoint(server.url, lambda: server.nobody, server.ca)
    if server.traits.authorizes:
        with pytest.raises(Refused, match="403 Forbidden"):
            cluster.read_node("absent")
    else:
        assert cluster.read_node("absent") is None
    cluster.close()


def write_kubeconfig(folder: Path, server: Any) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "nowhere",
        "clusters": [
            {"name": "c", "cluster": {"server": server.url, "certificate-authority": str(server.ca)}},
            {"name": "d", "cluster": {"server": "https://127.0.0.1:9"}},
        ],
        "users": [{"name": "u", "user": {"token": server.token}}],
        "contexts": [
            {"name": "local", "context": {"cluster": "c", "user": "u"}},
            {"name": "nowhere", "context": {"cluster": "d", "user": "u"}},
        ],
    }
    path = folder / "config"
    path.write_text(json.dumps(document))
    return path


def test_a_kubeconfig_names_the_cluster_by_context(server: Any, tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path, server)
    local = KubernetesCluster.from_kubeconfig(path, "local")
    assert local.read_node("absent") is None
    local.close()
    with pytest.raises(Unavailable):
        KubernetesCluster.from_kubeconfig(path).read_node("absent")
    with pytest.raises(Refused, match="kubeconfig"):
        KubernetesCluster.from_kubeconfig(path, "absent").read_node("absent")


@pytest.mark.parametrize("content", [None, "", "{", "a: [", "[]", "kind: Config"])
def test_a_kubeconfig_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Refused, match="kubeconfig"):
        KubernetesCluster.from_kubeconfig(path).read_node("n1")


PROGRAM = """
import sys
from gpureport.adapters.kubernetes_cluster import KubernetesCluster
from gpureport.ports import Refused
before = sorted(name for name in sys.modules if name.split(".")[0] in ("kubernetes", "urllib3"))
try:
    node = KubernetesCluster.from_default().read_node("absent")
    print(before, node, "kubernetes.client.api.core_v1_api" in sys.modules)
except Refused as error:
    print(error)
"""


def run_in(folder: Path, **environment: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    surroundings = {"HOME": str(folder), "PYTHONPATH": str(Path(__file__).parents[3]), **environment}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


def test_the_default_is_what_kubectl_would_use_and_the_library_is_imported_at_first_use(
    server: Any, tmp_path: Path
) -> None:
    kube = tmp_path / ".kube"
    kube.mkdir()
    path = write_kubeconfig(kube, server)
    path.write_text(path.read_text().replace('"current-context": "nowhere"', '"current-context": "local"'))
    assert run_in(tmp_path) == "[] None False"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run_in(elsewhere, KUBECONFIG=f"{elsewhere / 'absent'}:{path}") == "[] None False"
    assert run_in(elsewhere).startswith(f"kubeconfig {elsewhere}/.kube/config: ")
