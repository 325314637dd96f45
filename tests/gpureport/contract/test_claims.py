"""The run annotation: what is read comes back as it was, and every fault is named at once."""

import json
from typing import Any

import pytest
from hypothesis import given

from gpureport.contract.claims import (
    NewerSchema,
    find_claim,
    format_claim,
    parse_claim,
)
from gpureport.contract.fields import ContractError
from gpureport.contract.keys import RUN_BYTES_MAX
from tests.gpureport.contract.contract_values import claims, single_claims

CLAIM: dict[str, Any] = {
    "schema": 1,
    "runId": "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b",
    "trigger": "manual",
    "executor": "own",
    "nodeUid": "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f",
    "bootId": "0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f",
    "startedAt": "2026-11-30T09:15:00Z",
    "deadlineAt": "2026-11-30T09:47:10Z",
    "agentVersion": "0.1.0",
}
RESULT = {"outcome": "complete", "mode": "normal", "attempts": 1, "durationSeconds": 6.739}
REPORT = {"attempt": 1, "sha256": "a" * 64, "sizeBytes": 1, "complete": True}


@given(claims)
def test_claim_is_read_as_it_was_written(claim: Any) -> None:
    assert parse_claim(format_claim(claim)) == claim


@given(claims)
def test_claim_has_no_null_of_its_own(claim: Any) -> None:
    text = format_claim(claim)

    value = json.loads(text)
    objects = [value, value.get("result", {}), value.get("report", {}), value.get("previous", {})]
    assert [name for one in objects for name, member in one.items() if member is None] == []


@given(claims, single_claims)
def test_claim_finds_its_own_run_and_the_previous_one_only(claim: Any, other: Any) -> None:
    assert claim.find_run(claim.run_id) == claim
    if claim.previous is not None and claim.previous.run_id != claim.run_id:
        assert claim.find_run(claim.previous.run_id) == claim.previous
    if other.run_id not in (claim.run_id, claim.previous and claim.previous.run_id):
        assert claim.find_run(other.run_id) is None


@given(single_claims, single_claims, single_claims)
def test_claim_of_three_runs_keeps_one_previous(first: Any, second: Any, third: Any) -> None:
    text = format_claim(third._replace(previous=second._replace(previous=first), unknown={}))

    assert parse_claim(text).previous == second


def test_claim_read_with_a_previous_of_its_previous_leaves_that_out() -> None:
    oldest = {**CLAIM, "runId": "broken, but not looked at"}
    text = json.dumps({**CLAIM, "previous": {**CLAIM, "previous": oldest}})

    previous = parse_claim(text).previous

    assert previous is not None
    assert previous.previous is None
    assert previous.unknown == {}


def test_claim_keeps_unknown_members_at_every_place() -> None:
    value = {
        **CLAIM,
        "result": {**RESULT, "exitStatus": 0},
        "report": {**REPORT, "blake3": "b" * 64},
        "previous": {**CLAIM, "zone": {"name": "a", "hosts": [1, None]}},
        "zone": "b",
    }

    assert json.loads(format_claim(parse_claim(json.dumps(value)))) == value


def test_claim_reads_a_null_member_as_absent() -> None:
    text = json.dumps({**CLAIM, "result": None, "report": None, "previous": None, "zone": None})

    assert format_claim(parse_claim(text)) == json.dumps(CLAIM, separators=(",", ":"))


def test_claim_leaves_out_unknown_members_that_would_not_fit() -> None:
    filling = {"zone": "x" * (RUN_BYTES_MAX - 500)}
    value = {
        **CLAIM,
        **filling,
        "result": {**RESULT, **filling},
        "report": {**REPORT, **filling},
        "previous": {**CLAIM, **filling},
    }

    claim = json.loads(format_claim(parse_claim(json.dumps(value))))

    assert claim == {**CLAIM, "result": RESULT, "report": REPORT, "previous": CLAIM}


@pytest.mark.parametrize("schema", [2, 3, 10**30])
@pytest.mark.parametrize("where", ["claim", "previous"])
def test_claim_of_a_newer_schema_is_left_alone(schema: int, where: str) -> None:
    newer = {"schema": schema, "runId": 5}
    text = json.dumps(newer if where == "claim" else {**CLAIM, "previous": newer})

    with pytest.raises(NewerSchema):
        parse_claim(text)
    assert find_claim(text) is None


@pytest.mark.parametrize("schema", [None, 0, -1, 1.5, 2.0, True, False, "1", "2", [], {}])
def test_claim_of_no_schema_is_refused(schema: object) -> None:
    with pytest.raises(ContractError) as refused:
        parse_claim(json.dumps({**CLAIM, "schema": schema}))

    assert not isinstance(refused.value, NewerSchema)
    assert [problem.split(":")[0] for problem in refused.value.problems] == ["schema"]


@pytest.mark.parametrize("member", CLAIM)
@pytest.mark.parametrize("value", [None, "", "\n", "x" * 300, 0, -1, 1.5, True, [], {}, "2026-02-30T00:00:00Z"])
def test_claim_with_one_bad_member_names_it(member: str, value: object) -> None:
    with pytest.raises(ContractError) as refused:
        parse_claim(json.dumps({**CLAIM, member: value}))

    assert [problem.split(":")[0] for problem in refused.value.problems] == [member]


BAD_RESULT = {
    "outcome": "fine",
    "reason": 'a "quoted" reason',
    "mode": "fast",
    "attempts": 3,
    "filePath": "relative",
    "durationSeconds": -1,
    "collectedAt": "yesterday",
}
BAD_REPORT = {"attempt": 3, "sha256": "A" * 64, "sizeBytes": -1, "complete": 1}


def test_claim_with_many_faults_names_them_all() -> None:
    text = json.dumps(
        {
            "schema": 1,
            "trigger": "never",
            "result": BAD_RESULT,
            "report": BAD_REPORT,
            "previous": {**CLAIM, "runId": "short", "result": {**RESULT, "attempts": "one"}},
        }
    )

    with pytest.raises(ContractError) as refused:
        parse_claim(text)

    want = {"runId", "trigger", "executor", "nodeUid", "bootId", "startedAt", "deadlineAt", "agentVersion"}
    want |= {f"result.{name}" for name in BAD_RESULT} | {f"report.{name}" for name in BAD_REPORT}
    want |= {"previous.runId", "previous.result.attempts"}
    assert {problem.split(":")[0] for problem in refused.value.problems} == want


@pytest.mark.parametrize("part", ["result", "report", "previous"])
@pytest.mark.parametrize("value", ["text", 1, True, [], [CLAIM]])
def test_claim_whose_part_is_no_object_is_refused(part: str, value: object) -> None:
    with pytest.raises(ContractError) as refused:
        parse_claim(json.dumps({**CLAIM, part: value}))

    assert [problem.split(":")[0] for problem in refused.value.problems] == [part]


@pytest.mark.parametrize("text", [None, "", "null", "[]", '{"phase":"done"}', "completed"])
def test_claim_of_another_tool_is_none(text: str | None) -> None:
    assert find_claim(text) is None


def test_claim_keeps_a_reason_that_is_not_ours() -> None:
    text = json.dumps({**CLAIM, "result": {**RESULT, "reason": "gpu-on-fire"}}, separators=(",", ":"))

    result = parse_claim(text).result

    assert result is not None
    assert result.reason == "gpu-on-fire"
    assert json.loads(format_claim(parse_claim(text)))["result"]["reason"] == "gpu-on-fire"
