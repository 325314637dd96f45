"""Whatever a request holds and a handler does: one line, one status, no exception, no payload in the log."""

import io
import json
from typing import NamedTuple

import pytest
from flask import Request
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder

from functions.entry import BODY_BYTES_MAX, DRAIN_BYTES_MAX, Function, serve
from functions.outcomes import Answer, Outcome, late, rejected, retry
from functions.settings import ConfigurationError
from gpureport.contract.events import GPU_XID, REPORT_COLLECTED
from gpureport.contract.pubsub_binding import format_message
from gpureport.ports import Refused, Unavailable
from tests.functions.world import RUN_ID, World

BODY, HEADERS = format_message(World().event())
SECRET = "do-not-log-this-payload"


class Served(NamedTuple):
    status: int
    line: dict


def _serve(handler, headers=HEADERS, body=BODY, method="POST", **environ) -> Served:
    def find_handler():
        if isinstance(handler, Exception):
            raise handler
        return handler

    request = Request(EnvironBuilder(method=method, headers=headers, data=body).get_environ() | environ)
    lines: list[str] = []
    reply = serve(request, Function("archive_report", [REPORT_COLLECTED], find_handler), lines.append)
    [line] = lines
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert reply[0] == ""
    return Served(reply[1], json.loads(line))


def _raise(error):
    def handle(event):
        raise error

    return handle


@pytest.mark.parametrize(
    ("handler", "status", "outcome", "reason", "severity"),
    [
        (lambda _: Answer(Outcome.DONE), 204, "done", None, "INFO"),
        (lambda _: Answer(Outcome.DUPLICATE), 204, "duplicate", None, "INFO"),
        (lambda _: late("node-gone", "x"), 204, "late", "node-gone", "INFO"),
        (lambda _: rejected("not-staged", "x"), 204, "rejected", "not-staged", "WARNING"),
        (lambda _: retry("lost-races", "x"), 503, "retry", "lost-races", "WARNING"),
        (_raise(Unavailable("503 of the apiserver")), 503, "retry", "unavailable", "WARNING"),
        (_raise(Refused("403 of the bucket")), 503, "retry", "refused", "ERROR"),
        (ConfigurationError("CLUSTERS is missing"), 500, "retry", "configuration", "ERROR"),
        (_raise(KeyError("metadata")), 500, "retry", "internal", "ERROR"),
        (_raise(RecursionError()), 500, "retry", "internal", "ERROR"),
        (_raise(MemoryError()), 500, "retry", "internal", "ERROR"),
    ],
)
def test_outcome_decides_the_status_and_the_line(handler, status, outcome, reason, severity):
    served = _serve(handler)

    line = served.line
    assert (served.status, line["outcome"], line.get("reason"), line["severity"]) == (
        status, outcome, reason, severity,
    )  # fmt: skip


def test_line_names_the_event_and_its_delivery():
    headers = HEADERS | {"x-goog-pubsub-message-id": "4711", "x-goog-pubsub-delivery-attempt": "3"}

    line = _serve(lambda _: Answer(Outcome.DONE, fields={"sizeBytes": 7}), headers).line

    assert line.pop("durationMs") >= 0
    assert line == {
        "severity": "INFO",
        "message": f"archive_report: done, run {RUN_ID} of prod/n1",
        "outcome": "done",
        "function": "archive_report",
        "eventId": f"{RUN_ID}/report.collected",
        "eventType": REPORT_COLLECTED,
        "runId": RUN_ID,
        "cluster": "prod",
        "node": "n1",
        "messageId": "4711",
        "deliveryAttempt": "3",
        "sizeBytes": 7,
    }


def test_event_of_another_type_is_ignored_without_building_a_handler():
    served = _serve(AssertionError("not to be built"), HEADERS | {"ce-type": GPU_XID})

    assert (served.status, served.line["outcome"], served.line["eventType"]) == (204, "ignored", GPU_XID)


@pytest.mark.parametrize(
    ("headers", "body"),
    [({}, b""), ({}, b"\x00\xff"), (HEADERS, b"garbage"), ({**HEADERS, "ce-specversion": "2"}, BODY), ({}, BODY)],
)
def test_garbage_is_acknowledged_and_counted(headers, body):
    served = _serve(AssertionError("not to be built"), headers, body)

    assert (served.status, served.line["outcome"], served.line["reason"]) == (204, "rejected", "undecodable")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_other_methods_are_not_allowed(method):
    served = _serve(AssertionError("not to be built"), method=method)

    assert (served.status, served.line["reason"]) == (405, "not-a-push")


@pytest.mark.parametrize("size_bytes", [BODY_BYTES_MAX + 1, 5 * BODY_BYTES_MAX])
def test_huge_body_is_acknowledged_and_forgotten(size_bytes):
    served = _serve(AssertionError("not to be built"), body=bytes(size_bytes))

    assert (served.status, served.line["reason"]) == (204, "too-large")


class Endless(io.RawIOBase):
    """A body without an end; counts what is taken of it."""

    taken_bytes = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.taken_bytes += len(buffer)
        return len(buffer)


def test_endless_body_is_read_to_a_bound():
    body = Endless()

    served = _serve(None, body=None, **{"wsgi.input": body, "wsgi.input_terminated": True})

    assert (served.status, served.line["reason"]) == (204, "too-large")
    assert body.taken_bytes <= DRAIN_BYTES_MAX + BODY_BYTES_MAX


def test_body_that_ends_early_is_delivered_again():
    served = _serve(None, **{"wsgi.input": io.BytesIO(BODY[:1]), "CONTENT_LENGTH": str(len(BODY) + 9)})

    assert (served.status, served.line["reason"]) == (503, "body-cut")


def test_unknown_fault_is_told_by_type_and_place_and_cut_short():
    line = _serve(_raise(ValueError(SECRET[:5] + "x" * 5000))).line

    assert "ValueError at test_entry.py:" in line["message"]
    assert len(line["message"]) <= 300


def test_payload_is_not_logged():
    body = json.dumps({"key": SECRET}).encode()
    for handler, headers in ((_raise(KeyError("x")), HEADERS), (None, {}), (None, {"content-type": "text/x"})):
        assert SECRET not in json.dumps(_serve(handler, headers, body).line)


def test_header_in_utf8_is_read_as_such():
    latin = "nö".encode().decode("latin-1")

    line = _serve(lambda _: Answer(Outcome.DONE), HEADERS | {"ce-node": latin}).line

    assert line["node"] == "nö"


@given(
    headers=st.dictionaries(
        st.sampled_from([*HEADERS, "x-goog-pubsub-message-id", "ce-x"]),
        st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=2000),
    ),
    body=st.binary(max_size=300),
)
def test_any_request_ends_in_one_line_and_a_status(headers, body):
    served = _serve(lambda _: Answer(Outcome.DONE), HEADERS | headers, body)

    assert served.status == 204
    assert served.line["outcome"] in {outcome.value for outcome in Outcome}
    assert len(json.dumps(served.line)) < 12_000
