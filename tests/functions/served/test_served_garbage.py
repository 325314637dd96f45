"""Garbage against the bundle behind the real framework: a status, exactly one line, and the server lives on."""

import pytest

from functions.entry import BODY_BYTES_MAX
from gpureport.contract.events import GPU_XID
from gpureport.contract.pubsub_binding import format_message
from tests.functions.world import World

BODY, HEADERS = format_message(World().event())
PUSH = {"content-type": "application/x-www-form-urlencoded", "x-goog-pubsub-message-id": "1"}
WRAPPED = b'{"message":{"data":"e30=","messageId":"1"},"subscription":"projects/p/subscriptions/s"}'

REQUESTS = {
    "get": ("GET", b"", {}, 405, "not-a-push"),
    "nothing": ("POST", b"", {}, 204, "undecodable"),
    "bytes": ("POST", b"\x00\xff\xfe", PUSH, 204, "undecodable"),
    "wrapped push": ("POST", WRAPPED, {"content-type": "application/json"}, 204, "undecodable"),
    "no ce-id": ("POST", BODY, {k: v for k, v in HEADERS.items() if k != "ce-id"}, 204, "undecodable"),
    "no attributes": ("POST", BODY, PUSH, 204, "undecodable"),
    "other version": ("POST", BODY, {**HEADERS, "ce-specversion": "9.9"}, 204, "undecodable"),
    "no JSON": ("POST", b"{", HEADERS, 204, "undecodable"),
    "deep JSON": ("POST", b"[" * 100_000, HEADERS, 204, "undecodable"),
    "huge": ("POST", bytes(20 * BODY_BYTES_MAX), HEADERS, 204, "too-large"),
    "other type": ("POST", BODY, {**HEADERS, "ce-type": GPU_XID}, 204, "other-type"),
    "no configuration": ("POST", BODY, HEADERS, 500, "configuration"),
}


@pytest.mark.parametrize("name", ["archive_report", "write_status"])
def test_every_request_gets_a_status_and_one_line(serve, name):
    function = serve(name, dict.fromkeys(["GOOGLE_CLOUD_PROJECT", "CLUSTERS"], ""))
    want = []
    for method, body, headers, status, reason in REQUESTS.values():
        if name == "write_status":
            headers = {k: v.replace("report.collected", "report.archived") for k, v in headers.items()}  # noqa: PLW2901
        assert function.ask(method, body, headers) == (status, b""), reason
        want.append((name, reason))

    assert [(line["function"], line["reason"]) for line in function.lines] == want
