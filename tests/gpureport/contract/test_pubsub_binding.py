"""Events in Pub/Sub messages, both ways."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.events import (
    EXTENSIONS,
    REPORT_COLLECTED,
    REPORT_FAILED,
    TOPICS,
    TYPES_BY_TOPIC,
    Event,
    build_run_event,
)
from gpureport.contract.fields import ContractError
from gpureport.contract.pubsub_binding import ATTRIBUTE_BYTES_MAX, DATA_BYTES_MAX, format_message, parse_message
from tests.gpureport.contract.contract_values import clusters, events, instants, nodes, read_reasons, run_ids

RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"
AT = datetime(2026, 11, 30, 9, 15, 6, tzinfo=UTC)
EVENT = build_run_event(
    REPORT_FAILED, cluster="prod", node="n1", run_id=RUN_ID, at=AT, data={"é": [1, None]}, reason="disk"
)
ATTRIBUTES = {
    "content-type": "application/json",
    "ce-specversion": "1.0",
    "ce-id": f"{RUN_ID}/report.failed",
    "ce-source": "gpureport/prod/n1",
    "ce-type": "dev.gpureport.report.failed.v1",
    "ce-time": "2026-11-30T09:15:06Z",
    "ce-severity": "warning",
    "ce-cluster": "prod",
    "ce-node": "n1",
    "ce-runid": RUN_ID,
    "ce-reason": "disk",
}


def test_event_is_written_as_attributes_and_json() -> None:
    data, attributes = format_message(EVENT)

    assert attributes == ATTRIBUTES
    assert data.decode() == '{"é":[1,null]}'


@given(events)
def test_event_is_read_as_it_was_written(event: Any) -> None:
    data, attributes = format_message(event)

    assert parse_message(data, attributes) == event


@given(events, st.randoms(use_true_random=False))
def test_event_is_read_whatever_the_case_of_its_attributes_names(event: Any, random: Any) -> None:
    data, attributes = format_message(event)
    respelled = {"".join(random.choice((c.upper(), c)) for c in name): value for name, value in attributes.items()}

    assert parse_message(data, respelled) == event


@given(clusters, nodes, run_ids, instants, read_reasons)
def test_run_event_says_what_it_is_about(cluster: str, node: str, run_id: str, at: datetime, reason: str) -> None:
    event = build_run_event(REPORT_COLLECTED, cluster=cluster, node=node, run_id=run_id, at=at, data={}, reason=reason)

    assert (event.cluster, event.node, event.run_id) == (cluster, node, run_id)
    assert set(event.extensions) <= set(EXTENSIONS)
    assert parse_message(*format_message(event)) == event


def test_run_event_has_the_same_id_at_each_republish() -> None:
    later = build_run_event(
        REPORT_FAILED, cluster="prod", node="n1", run_id=RUN_ID, at=datetime(2026, 12, 1, tzinfo=UTC), data={}
    )

    assert later.id == EVENT.id
    assert later.extensions["severity"] == "info"


def test_event_that_names_nothing_is_about_nothing() -> None:
    event = Event(type="t", id="1", source="s", data={})

    assert (event.cluster, event.node, event.run_id) == ("", "", "")


def test_attributes_of_others_are_left_alone() -> None:
    attributes = {**ATTRIBUTES, "googclient_schemaencoding": "JSON", "traceparent": "00-1", "ce-traceparent": "00-2"}

    event = parse_message(b"{}", attributes)

    assert event.extensions == {**EVENT.extensions, "traceparent": "00-2"}


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=utf-8", " application/json ;a=b"],
)
def test_content_type_is_read_without_its_parameters(content_type: str) -> None:
    assert parse_message(b"{}", {**ATTRIBUTES, "content-type": content_type})


@pytest.mark.parametrize("name", ["content-type", "ce-specversion", "ce-id", "ce-source", "ce-type"])
def test_message_without_a_needed_attribute_is_refused(name: str) -> None:
    attributes = {**ATTRIBUTES}
    del attributes[name]

    with pytest.raises(ContractError) as refused:
        parse_message(b"{}", attributes)

    assert [problem.split(":")[0] for problem in refused.value.problems] == [name]


def test_message_with_many_faults_names_them_all() -> None:
    attributes = {"ce-specversion": "0.3", "content-type": "text/plain", "ce-time": "today", "CE-Time": "now"}

    with pytest.raises(ContractError) as refused:
        parse_message(b"garbage", attributes)

    want = ["attributes", "ce-id", "ce-source", "ce-type", "ce-specversion", "content-type", "ce-time", "data"]
    assert [problem.split(":")[0] for problem in refused.value.problems] == want


@given(st.binary(), st.dictionaries(st.text(), st.text()))
def test_any_message_is_an_event_or_refused(data: bytes, attributes: dict[str, str]) -> None:
    with pytest.raises(ContractError) as refused:
        parse_message(data, attributes)

    assert str(refused.value).isprintable()
    assert len(str(refused.value)) <= 2000


@pytest.mark.parametrize(
    "event",
    [
        EVENT._replace(id=""),
        EVENT._replace(type=""),
        EVENT._replace(source=""),
        EVENT._replace(source="s" * (ATTRIBUTE_BYTES_MAX + 1)),
        EVENT._replace(extensions={"reason": "é" * (ATTRIBUTE_BYTES_MAX // 2 + 1)}),
        EVENT._replace(extensions={"runId": "1"}),
        EVENT._replace(extensions={"run_id": "1"}),
        EVENT._replace(extensions={"": "1"}),
        EVENT._replace(extensions={"id": "1"}),
        EVENT._replace(extensions={"data": "1"}),
        EVENT._replace(extensions={"datacontenttype": "1"}),
        EVENT._replace(data={"x": "y" * DATA_BYTES_MAX}),
        EVENT._replace(data={"x": float("nan")}),
    ],
)
def test_event_that_could_not_be_read_is_not_written(event: Event) -> None:
    with pytest.raises(ValueError, match=r".+"):
        format_message(event)


def test_event_of_the_largest_claim_and_output_can_be_written() -> None:
    data = {"run": "x" * 4096, "output": "x" * 8192, "node": "\U0001f525" * 253}

    assert len(format_message(EVENT._replace(data=data))[0]) < DATA_BYTES_MAX
    assert json.loads(format_message(EVENT._replace(data=data))[0]) == data


def test_every_type_is_published_on_one_topic_only() -> None:
    types = [one for topic in TOPICS for one in TYPES_BY_TOPIC[topic]]

    assert len(types) == len(set(types))
    assert all(one.startswith("dev.gpureport.") and one.endswith(".v1") for one in types)
