"""How kube-apiserver lists: selectors, pages, versions. Right answers: kube-apiserver 1.36, measured."""

import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def group(server: Any) -> Iterator[str]:
    """Three Nodes g…-1 to g…-3 with the labels group=g… and index=1 to 3, the third unschedulable; and their Pods."""
    group = f"g{uuid.uuid4().hex[:8]}"
    names = [f"{group}-{index}" for index in (1, 2, 3)]
    for index, name in enumerate(names, 1):
        node = {"metadata": {"name": name, "labels": {"group": group, "index": str(index)}}, "spec": {}}
        if index == 3:
            node["spec"] = {"unschedulable": True}
        assert server.ask("POST", NODES, node).status == 201
        pod = {
            "metadata": {"name": name, "labels": {"group": group}},
            "spec": {"nodeName": name, "containers": [{"name": "c", "image": "i"}]},
        }
        assert server.ask("POST", "/api/v1/namespaces/default/pods", pod).status == 201
    server.merge(f"/api/v1/namespaces/default/pods/{group}-2/status", {"status": {"phase": "Succeeded"}})
    yield group
    for name in names:
        server.ask("DELETE", f"{NODES}/{name}")
        server.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")


def list_suffixes(server: Any, path: str, **query: str) -> list[str]:
    """List what matches, and return what stands behind the dash of each name."""
    text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    reply = server.ask("GET", f"{path}?{text}")
    assert reply.status == 200, reply.body
    return [item["metadata"]["name"].rpartition("-")[2] for item in reply.body["items"]]


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("group=GROUP", ["1", "2", "3"]),
        ("group==GROUP,index!=2", ["1", "3"]),
        ("group=GROUP,index in (1, 2)", ["1", "2"]),
        ("group=GROUP,index notin (1,2)", ["3"]),
        ("group=GROUP,index", ["1", "2", "3"]),
        ("group=GROUP,!index", []),
        ("group=GROUP,absent!=x", ["1", "2", "3"]),
        ("group in (GROUP),index=", []),
    ],
)
def test_a_label_selector_selects(server: Any, group: str, selector: str, want: list[str]) -> None:
    assert list_suffixes(server, NODES, labelSelector=selector.replace("GROUP", group)) == want


@pytest.mark.parametrize(
    ("path", "selector", "want"),
    [
        (NODES, "metadata.name=GROUP-1", ["1"]),
        (NODES, "spec.unschedulable=true", ["3"]),
        (NODES, "spec.unschedulable=false", ["1", "2"]),
        ("/api/v1/pods", "spec.nodeName=GROUP-1", ["1"]),
        ("/api/v1/pods", "status.phase!=Succeeded", ["1", "3"]),
        ("/api/v1/namespaces/kube-system/pods", "status.phase!=Succeeded", []),
    ],
)
def test_a_field_selector_selects(server: Any, group: str, path: str, selector: str, want: list[str]) -> None:
    selected = selector.replace("GROUP", group)
    assert list_suffixes(server, path, labelSelector=f"group={group}", fieldSelector=selected) == want


@pytest.mark.parametrize(
    "query",
    [
        "fieldSelector=spec.foo%3Dx",
        "fieldSelector=metadata.name",
        "labelSelector=" + quote("a in (b"),
        "labelSelector=" + quote("a=b=c"),
        "limit=abc",
        "continue=abc",
        "resourceVersion=abc",
        "timeoutSeconds=abc",
        "labelSelector=" + quote("b@d=x"),
        "labelSelector=" + quote("a=" + "x" * 64),
    ],
)
def test_a_malformed_query_is_400(server: Any, query: str) -> None:
    reply = server.ask("GET", f"{NODES}?{query}")
    assert (reply.status, reply.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("resourceVersionMatch=Exact", "resourceVersionMatch"),
        ("resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch"),
        ("resourceVersionMatch=Bogus&resourceVersion=5", "resourceVersionMatch"),
        ("sendInitialEvents=true", "sendInitialEvents"),
    ],
)
def test_options_that_do_not_go_together_are_422(server: Any, query: str, field: str) -> None:
    reply = server.ask("GET", f"{NODES}?{query}")
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, field)
    assert (reply.body["details"]["kind"], reply.body["details"]["group"]) == ("ListOptions", "meta.k8s.io")


def test_a_list_names_its_kind_once(server: Any, group: str) -> None:
    listed = server.ask("GET", NODES).body
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert listed["metadata"]["resourceVersion"].isdigit()
    assert all("kind" not in item for item in listed["items"])


def test_pages_show_one_moment(server: Any, group: str) -> None:
    query = f"labelSelector=group%3D{group}&limit=1"
    first = server.ask("GET", f"{NODES}?{query}").body
    server.merge(f"{NODES}/{group}-2", {"metadata": {"annotations": {"later": "1"}}})
    second = read_next(server, query, first)
    third = read_next(server, query, second)
    names = [page["items"][0]["metadata"]["name"] for page in (first, second, third)]
    assert names == [f"{group}-{index}" for index in (1, 2, 3)]
    assert "later" not in second["items"][0]["metadata"].get("annotations", {})
    assert first["metadata"]["resourceVersion"] == third["metadata"]["resourceVersion"]


def test_the_last_page_may_be_empty_where_a_selector_leaves_out_what_follows(server: Any, group: str) -> None:
    after = f"{group}-4"
    assert server.ask("POST", NODES, {"metadata": {"name": after}}).status == 201
    query = f"labelSelector=group%3D{group}&limit=3"
    first = server.ask("GET", f"{NODES}?{query}").body
    assert len(first["items"]) == 3
    last = read_next(server, query, first)
    assert (last["items"], last["metadata"].get("continue", "")) == ([], "")
    server.ask("DELETE", f"{NODES}/{after}")


def read_next(server: Any, query: str, page: dict[str, Any]) -> Any:
    return server.ask("GET", f"{NODES}?{query}&continue={quote(page['metadata']['continue'])}").body


def test_a_page_says_how_many_are_left(server: Any, group: str) -> None:
    total = len(server.ask("GET", NODES).body["items"])
    assert server.ask("GET", f"{NODES}?limit=1").body["metadata"]["remainingItemCount"] == total - 1


def test_version_zero_has_no_pages(server: Any, group: str) -> None:
    listed = server.ask("GET", f"{NODES}?limit=1&resourceVersion=0").body
    assert len(listed["items"]) >= 3
    assert not listed["metadata"].get("continue")


def test_a_continue_token_with_a_version_is_400(server: Any, group: str) -> None:
    token = server.ask("GET", f"{NODES}?limit=1").body["metadata"]["continue"]
    assert server.ask("GET", f"{NODES}?limit=1&continue={quote(token)}&resourceVersion=5").status == 400


def test_an_object_is_read_not_older_than_a_version(server: Any, group: str) -> None:
    path = f"{NODES}/{group}-1"
    found = server.ask("GET", path).body
    for version in ("0", "1", found["metadata"]["resourceVersion"]):
        assert (
            server.ask("GET", f"{path}?resourceVersion={version}").body["metadata"]["uid"] == found["metadata"]["uid"]
        )
    assert server.ask("GET", f"{path}?resourceVersion=abc").status == 500


@pytest.mark.parametrize("path", [NODES, f"{NODES}/absent"])
def test_a_version_in_the_future_is_504(server: Any, path: str) -> None:
    reply = server.ask("GET", f"{path}?resourceVersion=99999999999")
    assert (reply.status, reply.body["reason"], reply.headers["Retry-After"]) == (504, "Timeout", "1")
    assert reply.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_an_expired_continue_token_is_410_with_a_token_to_go_on(server: Any, group: str) -> None:
    query = f"labelSelector=group%3D{group}"
    token = server.ask("GET", f"{NODES}?{query}&limit=1").body["metadata"]["continue"]
    server.merge(f"{NODES}/{group}-2", {"metadata": {"annotations": {"expired": "1"}}})
    server.forget_history()
    reply = server.ask("GET", f"{NODES}?{query}&limit=1&continue={quote(token)}")
    assert (reply.status, reply.body["reason"]) == (410, "Expired")
    usable = quote(reply.body["metadata"]["continue"])
    rest = server.ask("GET", f"{NODES}?{query}&limit=500&continue={usable}").body
    assert [item["metadata"]["name"] for item in rest["items"]] == [f"{group}-2", f"{group}-3"]
