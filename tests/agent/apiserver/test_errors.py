"""The table from an answer of the apiserver to what it means."""

import json
from typing import Any

import pytest

from agent.apiserver import errors
from agent.apiserver.errors import build_error


def status(**members: Any) -> bytes:
    return json.dumps({"kind": "Status", "status": "Failure", "metadata": {}, **members}).encode()


@pytest.mark.parametrize(
    ("code", "body", "want"),
    [
        (422, status(reason="Invalid", details={}), errors.LostRace),
        (422, status(reason="Invalid", details={"causes": [{"reason": "FieldValueInvalid"}]}), errors.Invalid),
        (409, status(reason="Conflict"), errors.LostRace),
        (404, status(reason="NotFound"), errors.Gone),
        (404, b"404 page not found\n", errors.Gone),
        (403, status(reason="Forbidden"), errors.Forbidden),
        (401, status(reason="Unauthorized"), errors.Unauthorized),
        (410, status(reason="Expired"), errors.Expired),
        (400, status(reason="BadRequest"), errors.Invalid),
        (429, b"Too many requests, please try again later.\n", errors.Unavailable),
        (500, b"", errors.Unavailable),
        (504, b'{"metadata":{},"status":"Failure","code":504}', errors.Unavailable),
        (302, b"<html>", errors.Unavailable),
        (422, b"[" * 10_000, errors.LostRace),
    ],
)
def test_answer_becomes_the_error_that_says_what_to_do(code: int, body: bytes, want: type[errors.ApiError]) -> None:
    error = build_error(code, body, None)
    assert type(error) is want
    assert error.status == code


@pytest.mark.parametrize(("text", "want"), [("7", 7.0), (None, None), ("soon", None), ("-1", None), ("99999", None)])
def test_retry_after_is_read_in_seconds(text: str | None, want: float | None) -> None:
    assert build_error(429, b"", text).retry_after_s == want


def test_message_that_repeats_the_whole_node_is_cut() -> None:
    error = build_error(422, status(reason="Invalid", message="x" * 50_000), None)
    assert len(str(error)) < 300
