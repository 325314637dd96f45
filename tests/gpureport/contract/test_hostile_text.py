"""Whatever stands in an annotation, message or manifest: a value, or a `ContractError` in a short, plain message."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.claims import parse_claim
from gpureport.contract.events import Event
from gpureport.contract.fields import DEPTH_MAX, MESSAGE_CHARACTERS_MAX, ContractError
from gpureport.contract.manifests import parse_manifest
from gpureport.contract.outputs import parse_output
from gpureport.contract.pubsub_binding import parse_message
from tests.gpureport.contract.contract_values import json_values

ATTRIBUTES = {
    "ce-id": "1",
    "ce-type": "t",
    "ce-source": "s",
    "ce-specversion": "1.0",
    "content-type": "application/json",
}


def parse_data(text: str | bytes) -> Event:
    return parse_message(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), ATTRIBUTES)


def parse_manifest_text(text: str | bytes) -> object:
    return parse_manifest(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


Parser = Callable[[str | bytes], object]
PARSERS: dict[str, Parser] = {
    "claim": parse_claim,
    "output": parse_output,
    "event data": parse_data,
    "manifest": parse_manifest_text,
}
every_parser = pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)

HOSTILE: dict[str, str | bytes] = {
    "empty": "",
    "blank": " \n ",
    "null": "null",
    "list": "[]",
    "text": '"x"',
    "number": "1",
    "a megabyte of text": "x" * 1_000_000,
    "a megabyte in one member": json.dumps({"runId": "x" * 1_000_000}),
    "just below what is read": json.dumps({"runId": "x" * 250_000}),
    "many members": json.dumps({f"m{number}": number for number in range(100_000)}),
    "deep lists": '{"a":' + "[" * 20_000 + "]" * 20_000 + "}",
    "deep objects": '{"a":' * 20_000 + "1" + "}" * 20_000,
    "deep lists below the interpreter's limit": '{"runId":' + "[" * 500 + "]" * 500 + "}",
    "deep lists never closed": '{"a":' + "[" * 100_000,
    "half a surrogate pair, escaped": '{"runId":"\\ud800"}',
    "half a surrogate pair in an unknown member": '{"x":["\\udfff"]}',
    "half a surrogate pair in a name": '{"\\ud800":1}',
    "half a surrogate pair, plain": '{"runId":"\ud800"}',
    "not a number": '{"durationSeconds":NaN}',
    "infinity": '{"durationSeconds":Infinity}',
    "minus infinity": '{"x":-Infinity}',
    "a number too large": '{"durationSeconds":1e999}',
    "a number too large in an unknown member": '{"x":[1e999]}',
    "a huge integer": '{"schema":' + "9" * 4000 + ',"attempts":' + "9" * 4000 + "}",
    "an integer that Python refuses": '{"schema":' + "9" * 5000 + "}",
    "the same name twice": '{"schema":1,"schema":1}',
    "the same name twice, deeper": '{"x":{"a":1,"a":2}}',
    "a byte-order mark": '\ufeff{"schema":1}',
    "zero bytes": "\x00" * 100,
    "control characters in text": '{"runId":"\x1b[31m"}',
    "escaped control characters": '{"runId":"\\u001b[31m\\u2028\\u202e","trigger":"\\u0000"}',
    "trailing text": '{"schema":1} {"schema":1}',
    "single quotes": "{'schema':1}",
    "not UTF-8": b'{"runId":"\xff\xfe"}',
    "UTF-16": '{"schema":1}'.encode("utf-16"),
    "gzip": b"\x1f\x8b\x08\x00" + b"\x00" * 50,
}


def check_refusal(error: ContractError) -> None:
    message = str(error)
    assert message.isprintable()
    assert len(message) <= MESSAGE_CHARACTERS_MAX == 2000
    assert error.problems


@every_parser
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_in_a_short_plain_message(parse: Parser, text: str | bytes) -> None:
    try:
        value = parse(text)
    except ContractError as error:
        check_refusal(error)
    else:
        # Data of an event is any object: what is bounded and can be repeated is data.
        assert isinstance(value, Event)
        assert json.loads(json.dumps(value.data).encode()) == value.data


ANY_OBJECT = {
    "many members",
    "just below what is read",
    "a huge integer",
    "escaped control characters",
}


@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - ANY_OBJECT))
def test_hostile_event_data_is_refused(name: str) -> None:
    with pytest.raises(ContractError):
        parse_data(HOSTILE[name])


@every_parser
@given(text=st.text() | st.binary())
def test_any_text_gives_a_value_or_a_refusal(parse: Parser, text: str | bytes) -> None:
    try:
        parse(text)
    except ContractError as error:
        check_refusal(error)


MEMBERS = (
    *("schema", "runId", "trigger", "executor", "nodeUid", "bootId", "startedAt", "deadlineAt", "agentVersion"),
    *("result", "report", "previous", "outcome", "reason", "mode", "attempts", "filePath", "durationSeconds"),
    *("collectedAt", "attempt", "sha256", "sizeBytes", "complete", "status", "fileSizeBytes", "archiveUri"),
    *("archiveGeneration", "archivedAt", "late", "attested", "project", "cluster", "node", "run", "bucket", "name"),
    *("generation", "facts"),
)
objects = st.recursive(
    st.dictionaries(st.sampled_from(MEMBERS), json_values, max_size=6),
    lambda inner: st.dictionaries(st.sampled_from(MEMBERS), inner | json_values, max_size=6),
    max_leaves=6,
)


@every_parser
@given(value=objects)
def test_any_object_with_our_names_gives_a_value_or_a_refusal(parse: Parser, value: object) -> None:
    try:
        parse(json.dumps(value))
    except ContractError as error:
        check_refusal(error)


@pytest.mark.parametrize("parse", [parse_claim, parse_output], ids=["claim", "output"])
def test_object_with_every_member_wrong_is_refused_in_one_bounded_message(parse: Parser) -> None:
    wrong = dict.fromkeys(MEMBERS, "\u202e" * 500)
    text = json.dumps({**wrong, "result": wrong, "report": wrong, "previous": {**wrong, "result": wrong}})

    with pytest.raises(ContractError) as refused:
        parse(text)

    check_refusal(refused.value)
    assert all(len(problem) <= 400 for problem in refused.value.problems)


def nest(levels: int) -> str:
    return '{"x":' * (levels - 1) + "{}" + "}" * (levels - 1)


def test_data_as_deep_as_is_read_is_read_and_one_level_more_is_refused() -> None:
    assert parse_data(nest(DEPTH_MAX)).data
    with pytest.raises(ContractError, match="nested"):
        parse_data(nest(DEPTH_MAX + 1))
