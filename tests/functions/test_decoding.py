"""What is an event, and what is garbage: the library's leniency never reaches a handler."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.decoding import decode_event
from gpureport.contract.events import REPORT_COLLECTED, Event, build_run_event
from gpureport.contract.fields import ContractError
from gpureport.contract.pubsub_binding import format_message

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
EVENT = build_run_event(
    REPORT_COLLECTED, cluster="prod", node="n1", run_id="7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b", at=AT, data={"a": ["ü", 1]}
)
BODY, HEADERS = format_message(EVENT)
STRUCTURED = {
    "specversion": "1.0",
    "id": EVENT.id,
    "source": EVENT.source,
    "type": EVENT.type,
    "time": "2026-11-30T09:15:00Z",
    "datacontenttype": "application/json",
    "data": {"a": ["ü", 1]},
    **EVENT.extensions,
}
STRUCTURED_TYPE = {"content-type": "application/cloudevents+json; charset=utf-8"}


def _without(*names):
    return {name: value for name, value in HEADERS.items() if name not in names}


def _structured(**changes):
    members = {name: value for name, value in (STRUCTURED | changes).items() if value is not None}
    return json.dumps(members).encode()


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (HEADERS, BODY),
        (HEADERS | {"content-type": "application/json; charset=UTF-8"}, BODY),
        (HEADERS | {"x-goog-pubsub-message-id": "1", "host": "h", "user-agent": "CloudPubSub"}, BODY),
        (STRUCTURED_TYPE, _structured()),
        (STRUCTURED_TYPE, _structured(datacontenttype=None)),
        (STRUCTURED_TYPE, _structured(data=None, data_base64=base64.b64encode(BODY).decode())),
        (STRUCTURED_TYPE | {"ce-type": "another", "ce-specversion": "1.0"}, _structured()),
    ],
    ids=["binary", "charset", "metadata", "structured", "no content type of the data", "base64", "headers beside"],
)
def test_event_in_either_mode_is_read(headers, body):
    assert decode_event(headers, body) == EVENT


def test_event_without_a_time_has_none():
    assert decode_event(_without("ce-time"), BODY).time is None
    assert decode_event(STRUCTURED_TYPE, _structured(time=None)).time is None


@pytest.mark.parametrize(
    ("headers", "body", "want"),
    [
        ({}, b"", "ce-specversion: missing"),
        ({"content-type": "application/json"}, b'{"message":{"data":"e30="},"subscription":"s"}', "ce-type: missing"),
        (_without("ce-id"), BODY, "ce-id: missing"),
        (_without("ce-source"), BODY, "ce-source: missing"),
        (_without("ce-type"), BODY, "ce-type: missing"),
        (HEADERS | {"ce-id": ""}, BODY, "ce-id: missing"),
        (HEADERS | {"ce-specversion": "0.3"}, BODY, "0.3"),
        (HEADERS | {"ce-specversion": "9.9"}, BODY, "not a CloudEvent"),
        (HEADERS | {"ce-time": "yesterday"}, BODY, "ce-time"),
        (_without("content-type"), BODY, "content-type"),
        (HEADERS | {"content-type": "text/plain"}, BODY, "content-type"),
        (HEADERS | {"content-type": "application/cloudevents-batch+json"}, b"[]", "content-type"),
        (HEADERS, b"", "data"),
        (HEADERS, b"garbage", "data"),
        (HEADERS, b"\xff\xfe", "data"),
        (HEADERS, b"[1]", "data"),
        (HEADERS, b"[" * 60_000, "data"),
        (HEADERS, b'{"a":"' + b"x" * 70_000 + b'"}', "data"),
        (STRUCTURED_TYPE, b"", "structured event"),
        (STRUCTURED_TYPE, b"[]", "structured event"),
        (STRUCTURED_TYPE, b"garbage", "structured event"),
        (STRUCTURED_TYPE, _structured(id=None), "id: missing"),
        (STRUCTURED_TYPE, _structured(source=5), "source"),
        (STRUCTURED_TYPE, _structured(specversion="9.9"), "not a CloudEvent"),
        (STRUCTURED_TYPE, _structured(specversion=["1.0"]), "specversion"),
        (STRUCTURED_TYPE, _structured(data="text"), "data"),
        (STRUCTURED_TYPE, _structured(data=None, data_base64="%%%"), ""),
        (STRUCTURED_TYPE, _structured(runid={"a": 1}), "runid"),
        (STRUCTURED_TYPE, _structured(time="yesterday"), "time"),
    ],
)
def test_garbage_is_refused_with_what_is_wrong(headers, body, want):
    with pytest.raises(ContractError) as caught:
        decode_event(headers, body)

    assert want in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_values_are_not_percent_decoded():
    headers = HEADERS | {"ce-node": "n%31"}

    assert decode_event(headers, BODY).node == "n%31"


names = st.sampled_from([*HEADERS, "content-type", "ce-x", "ce-data", "ce-datacontenttype", "ce-subject", "ce-"])
values = st.text(max_size=50) | st.sampled_from([*HEADERS.values(), "application/cloudevents+json"])
bodies = st.binary(max_size=200) | st.sampled_from([BODY, _structured(), b"{}"]) | st.text(max_size=100).map(str.encode)


@given(headers=st.dictionaries(names, values), kept=st.booleans(), body=bodies)
def test_any_request_is_an_event_or_a_contract_error(headers, kept, body):
    try:
        event = decode_event(HEADERS | headers if kept else headers, body)
    except ContractError:
        return
    assert isinstance(event, Event)
    assert all(isinstance(value, str) for value in event.extensions.values())
    assert isinstance(event.data, dict)
