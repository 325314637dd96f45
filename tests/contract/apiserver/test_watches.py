"""How kube-apiserver streams changes. Right answers: kube-apiserver 1.36, measured."""

import socket
import time
from typing import Any

import pytest

NODES = "/api/v1/nodes"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def version_of(server: Any) -> str:
    return server.ask("GET", f"{NODES}?limit=1").body["metadata"]["resourceVersion"]


def annotate(server: Any, path: str, value: str) -> None:
    assert server.merge(path, {"metadata": {"annotations": {"a": value}}}).status == 200


def test_a_watch_without_a_version_begins_with_the_objects(server: Any, node: str) -> None:
    with server.watch(NODES, fieldSelector=f"metadata.name={name_of(node)}") as watch:
        assert watch.next_name() == ("ADDED", name_of(node))
        annotate(server, node, "2")
        event = watch.next()
        assert (event["type"], event["object"]["kind"]) == ("MODIFIED", "Node")
        assert event["object"]["metadata"]["annotations"] == {"a": "2"}


def test_a_watch_from_a_version_begins_with_the_changes_since(server: Any, node: str) -> None:
    version = version_of(server)
    annotate(server, node, "2")
    with server.watch(NODES, fieldSelector=f"metadata.name={name_of(node)}", resourceVersion=version) as watch:
        assert watch.next_name() == ("MODIFIED", name_of(node))
        server.ask("DELETE", node)
        event = watch.next()
        assert event["type"] == "DELETED"
        assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)


def test_a_single_object_is_watched_by_its_watch_path(server: Any, node: str) -> None:
    with server.watch(f"/api/v1/watch/nodes/{name_of(node)}") as watch:
        assert watch.next_name() == ("ADDED", name_of(node))


def test_watch_on_a_single_object_is_a_plain_read(server: Any, node: str) -> None:
    assert server.ask("GET", f"{node}?watch=true").body["kind"] == "Node"


def test_what_enters_a_selector_is_added_and_what_leaves_it_is_deleted(server: Any, node: str) -> None:
    version = version_of(server)
    with server.watch(NODES, labelSelector=f"team={name_of(node)}", resourceVersion=version) as watch:
        for team in (name_of(node), "other"):
            assert server.merge(node, {"metadata": {"labels": {"team": team}}}).status == 200
        assert watch.next_name() == ("ADDED", name_of(node))
        event = watch.next()
        assert (event["type"], event["object"]["metadata"]["labels"]["team"]) == ("DELETED", name_of(node))


def test_a_write_that_changes_nothing_is_not_seen(server: Any, node: str) -> None:
    with server.watch(
        NODES, fieldSelector=f"metadata.name={name_of(node)}", resourceVersion=version_of(server)
    ) as watch:
        annotate(server, node, "1")
        annotate(server, node, "2")
        assert watch.next()["object"]["metadata"]["annotations"] == {"a": "2"}


def test_a_watch_ends_on_time(server: Any, node: str) -> None:
    started = time.monotonic()
    query = {"fieldSelector": f"metadata.name={name_of(node)}", "resourceVersion": version_of(server)}
    with server.watch(NODES, timeoutSeconds="1", **query) as watch:
        assert watch.next() is None
    assert 0.5 < time.monotonic() - started < 3


def test_a_bookmark_comes_before_the_end_when_something_changed(server: Any, node: str) -> None:
    query = {"fieldSelector": "metadata.name=absent", "resourceVersion": version_of(server), "timeoutSeconds": "3"}
    with server.watch(NODES, allowWatchBookmarks="true", **query) as watch:
        annotate(server, node, "2")
        written = server.ask("GET", node).body["metadata"]["resourceVersion"]
        events = list(iter(watch.next, None))
        assert {(event["type"], event["object"]["kind"]) for event in events} == {("BOOKMARK", "Node")}
        told = int(events[-1]["object"]["metadata"]["resourceVersion"])
        assert int(written) <= told <= int(version_of(server))


def test_no_bookmark_comes_when_nothing_changed(server: Any, node: str) -> None:
    query = {"resourceVersion": version_of(server), "timeoutSeconds": "3"}
    with server.watch(NODES, allowWatchBookmarks="true", **query) as watch:
        server.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "other-"}})
        assert watch.next() is None


def test_a_watch_list_marks_the_end_of_the_objects(server: Any, node: str) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with server.watch(NODES, fieldSelector=f"metadata.name={name_of(node)}", **query) as watch:
        assert watch.next_name() == ("ADDED", name_of(node))
        event = watch.next()
        assert event["type"] == "BOOKMARK"
        assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        annotate(server, node, "2")
        assert watch.next_name() == ("MODIFIED", name_of(node))
    with server.watch(NODES, fieldSelector="metadata.name=absent", **query) as watch:
        assert watch.next()["type"] == "BOOKMARK"


@pytest.mark.parametrize(
    "query", ["sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"], ids=["no match", "no initial events"]
)
def test_a_watch_list_half_asked_for_is_422(server: Any, query: str) -> None:
    reply = server.ask("GET", f"{NODES}?watch=true&{query}")
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "resourceVersionMatch")


def test_a_version_that_is_no_number_is_500(server: Any) -> None:
    reply = server.ask("GET", f"{NODES}?watch=true&resourceVersion=abc")
    assert reply.status == 500
    assert "reason" not in reply.body


def test_a_version_in_the_future_is_silent(server: Any) -> None:
    with server.watch(NODES, resourceVersion="99999999999", timeoutSeconds="1") as watch:
        assert watch.next() is None


def test_a_version_too_old_is_410_in_the_stream(server: Any, node: str) -> None:
    version = version_of(server)
    annotate(server, node, "2")
    server.forget_history()
    with server.watch(NODES, resourceVersion=version) as watch:
        assert watch.status == 200
        event = watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert event["object"]["message"].startswith(f"too old resource version: {version} (")
        assert watch.next() is None
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with server.watch(NODES, fieldSelector=f"metadata.name={name_of(node)}", resourceVersion=version, **query) as watch:
        assert watch.next_name() == ("ADDED", name_of(node))


def test_a_watch_goes_on_when_its_version_gets_too_old(standin: Any) -> None:
    standin.ask("POST", NODES, {"metadata": {"name": "old"}})
    with standin.watch(NODES, resourceVersion=version_of(standin), timeoutSeconds="30") as open_before:
        standin.ask("POST", "/_local/compact")
        standin.ask("DELETE", f"{NODES}/old")
        assert open_before.next_name() == ("DELETED", "old")
    with standin.watch(NODES, resourceVersion=version_of(standin), timeoutSeconds="1") as watch:
        assert watch.next() is None


def test_dropped_watches_end_and_new_ones_work(standin: Any) -> None:
    with standin.watch(NODES, resourceVersion=version_of(standin)) as watch:
        standin.ask("POST", "/_local/drop")
        assert watch.next() is None
    with standin.watch(NODES, resourceVersion=version_of(standin)) as watch:
        standin.ask("POST", NODES, {"metadata": {"name": "after-drop"}})
        assert watch.next_name() == ("ADDED", "after-drop")


def test_hanging_watches_are_silent_beyond_their_time_and_new_ones_work(standin: Any) -> None:
    with standin.watch(NODES, resourceVersion=version_of(standin), timeoutSeconds="1") as silent:
        standin.ask("POST", "/_local/hang")
        with standin.watch(NODES, resourceVersion=version_of(standin)) as watch:
            standin.ask("POST", NODES, {"metadata": {"name": "after-hang"}})
            assert watch.next_name() == ("ADDED", "after-hang")
        silent.set_timeout(2)
        with pytest.raises((TimeoutError, socket.timeout)):
            silent.next()
