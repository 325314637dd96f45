"""How kube-apiserver takes Events about Nodes. Right answers: kube-apiserver 1.36, measured."""

import uuid
from typing import Any

import pytest

CORE = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"


def build_core_event(**fields: object) -> dict[str, Any]:
    involved = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-of-n1"}
    event = {"metadata": {"name": f"e-{uuid.uuid4().hex}"}, "involvedObject": involved, "reason": "R", "message": "m"}
    return {**event, "type": "Normal", "source": {"component": "agent"}, **fields}


def build_new_event(**fields: object) -> dict[str, Any]:
    event = {
        "metadata": {"name": f"e-{uuid.uuid4().hex}"},
        "regarding": {"kind": "Node", "name": "n1"},
        "eventTime": "2026-11-30T09:15:00.000000Z",
        "reportingController": "example.com/agent",
        "reportingInstance": "agent-n1",
        "action": "Collect",
        "reason": "R",
        "type": "Normal",
        "note": "hello",
    }
    return {**event, **fields}


def test_a_core_event_needs_hardly_anything(server: Any) -> None:
    bare = {"metadata": {"name": f"e-{uuid.uuid4().hex}"}, "involvedObject": {}}
    assert server.ask("POST", CORE, bare).status == 201
    assert server.ask("POST", CORE, build_core_event(message="m" * 2048)).status == 201
    named = server.ask("POST", CORE, build_core_event(metadata={"generateName": "n1."}))
    assert named.body["metadata"]["name"].startswith("n1.")


def test_a_core_event_about_a_node_stands_in_the_default_namespace(server: Any) -> None:
    reply = server.ask("POST", "/api/v1/namespaces/kube-system/events", build_core_event())
    assert reply.status == 422
    assert reply.body["details"]["causes"][0]["field"] == "involvedObject.namespace"


def test_an_event_with_a_time_may_stand_in_kube_system(server: Any) -> None:
    path = "/apis/events.k8s.io/v1/namespaces/kube-system/events"
    assert server.ask("POST", path, build_new_event()).status == 201


def test_events_are_selected_by_what_they_are_about(server: Any) -> None:
    reason = f"R{uuid.uuid4().hex}"
    assert server.ask("POST", CORE, build_core_event(reason=reason)).status == 201
    query = f"fieldSelector=involvedObject.name%3Dn1,involvedObject.uid%3Duid-of-n1,reason%3D{reason}"
    assert len(server.ask("GET", f"{CORE}?{query}").body["items"]) == 1
    assert server.ask("GET", f"{CORE}?{query},type%3DWarning").body["items"] == []


def test_both_apis_show_one_event(server: Any) -> None:
    event = build_new_event()
    name = event["metadata"]["name"]
    created = server.ask("POST", NEW, event)
    assert (created.status, created.body["note"]) == (201, "hello")
    core = server.ask("GET", f"{CORE}/{name}").body
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "hello", "n1")
    core_event = build_core_event(count=3)
    assert server.ask("POST", CORE, core_event).status == 201
    shown = server.ask("GET", f"{NEW}/{core_event['metadata']['name']}").body
    assert (shown["apiVersion"], shown["deprecatedCount"], shown["note"]) == ("events.k8s.io/v1", 3, "m")


def test_a_repeated_event_is_counted_by_a_patch(server: Any) -> None:
    event = build_core_event(count=1)
    assert server.ask("POST", CORE, event).status == 201
    assert server.merge(f"{CORE}/{event['metadata']['name']}", {"count": 2}).body["count"] == 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"eventTime": None}, "eventTime"),
        ({"action": ""}, "action"),
        ({"reason": "r" * 129}, "reason"),
        ({"reportingController": ""}, "reportingController"),
        ({"note": "é" * 513}, "message"),
        ({"type": "Bogus"}, "type"),
        ({"deprecatedCount": 1}, "count"),
        ({"reportingController": "not a name"}, "reportingController"),
        ({"series": {"count": 1, "lastObservedTime": "2026-11-30T09:16:00.000000Z"}}, "series.count"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_event_of_the_new_api_is_strict(server: Any, fields: dict[str, Any], field: str) -> None:
    reply = server.ask("POST", NEW, build_new_event(**fields))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert field in [cause["field"] for cause in reply.body["details"]["causes"]]


def test_an_event_with_a_time_may_be_about_an_object_of_any_namespace(server: Any) -> None:
    elsewhere = {"kind": "Pod", "name": "p", "namespace": "other"}
    assert server.ask("POST", NEW, build_new_event(regarding=elsewhere)).status == 201
    assert server.ask("POST", CORE, build_core_event(involvedObject=elsewhere)).status == 422


def test_an_event_of_the_new_api_changes_in_its_series_alone(server: Any) -> None:
    event = build_new_event()
    path = f"{NEW}/{event['metadata']['name']}"
    assert server.ask("POST", NEW, event).status == 201
    reply = server.merge(path, {"note": "changed"})
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "message")
    series = {"count": 2, "lastObservedTime": "2026-11-30T09:16:00.000000Z"}
    assert server.merge(path, {"series": series}).body["series"] == series


def test_a_core_event_with_a_time_says_who_reports(server: Any) -> None:
    reply = server.ask("POST", CORE, build_core_event(eventTime="2026-11-30T09:15:00.000000Z"))
    fields = {cause["field"] for cause in reply.body["details"]["causes"]}
    assert (reply.status, fields) == (422, {"reportingComponent", "reportingInstance", "action"})


@pytest.mark.parametrize(
    "fields",
    [{"lastTimestamp": "2026-11-30T09:15:00"}, {"count": "3"}, {"message": 1}, {"involvedObject": "n1"}],
    ids=str,
)
def test_an_event_with_a_member_of_the_wrong_type_is_400(server: Any, fields: dict[str, Any]) -> None:
    assert server.ask("POST", CORE, build_core_event(**fields)).status == 400


def test_an_event_forgets_decimals_and_what_the_other_api_calls_otherwise(server: Any) -> None:
    event = build_core_event(lastTimestamp="2026-11-30T09:15:00.987654+01:00", reportingController="example.com/agent")
    stored = server.ask("POST", CORE, event).body
    assert (stored["lastTimestamp"], "reportingController" in stored) == ("2026-11-30T08:15:00Z", False)


@pytest.mark.parametrize("instant", ["2026-11-30T09:15:00Z", "2026-11-30T09:15:00.123Z", "2026-11-30T09:15:00+00:00"])
def test_an_event_time_has_six_decimals(server: Any, instant: str) -> None:
    assert server.ask("POST", NEW, build_new_event(eventTime=instant)).status == 400
