"""The output annotation: what is read comes back as it was, and what a run's end looks like to its requester."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from gpureport.contract.claims import Claim, ReportEvidence, RunResult
from gpureport.contract.fields import ContractError
from gpureport.contract.keys import OUTPUT_BYTES_MAX
from gpureport.contract.outputs import (
    Archived,
    Output,
    build_output,
    find_output,
    format_output,
    parse_output,
)
from gpureport.contract.statuses import COMPLETED, Status, failed
from tests.gpureport.contract.contract_values import endings, outputs, single_claims, single_outputs

FAILED: dict[str, Any] = {"status": "failed", "reason": "timeout", "trigger": "manual", "complete": False}
ARCHIVED_AT = datetime(2026, 11, 30, 9, 15, 9, tzinfo=UTC)


@given(outputs)
def test_output_is_read_as_it_was_written(output: Any) -> None:
    assert parse_output(format_output(output)) == output


@given(outputs)
def test_output_has_no_null_of_its_own(output: Any) -> None:
    value = json.loads(format_output(output))

    assert [name for one in (value, value.get("previous", {})) for name, member in one.items() if member is None] == []


@given(single_outputs, single_outputs, single_outputs)
def test_output_of_three_runs_keeps_one_previous(first: Any, second: Any, third: Any) -> None:
    text = format_output(third._replace(previous=second._replace(previous=first), unknown={}))

    assert parse_output(text).previous == second


def test_output_keeps_unknown_members_of_both_runs() -> None:
    value = {**FAILED, "previous": {**FAILED, "zone": [1, {"a": None}]}, "zone": "b"}

    assert json.loads(format_output(parse_output(json.dumps(value)))) == value


def test_output_leaves_out_unknown_members_that_would_not_fit() -> None:
    filling = {"zone": "x" * (OUTPUT_BYTES_MAX - 500)}
    value = {**FAILED, **filling, "previous": {**FAILED, **filling}}

    assert json.loads(format_output(parse_output(json.dumps(value)))) == {**FAILED, "previous": FAILED}


def test_output_keeps_a_reason_that_is_not_ours() -> None:
    value = {**FAILED, "reason": "gpu-on-fire"}

    assert json.loads(format_output(parse_output(json.dumps(value)))) == value


def test_output_with_many_faults_names_them_all() -> None:
    bad = {
        "status": "done",
        "reason": "",
        "trigger": "never",
        "filePath": "relative",
        "fileSizeBytes": -1,
        "complete": "yes",
        "durationSeconds": -0.1,
        "collectedAt": "yesterday",
        "runId": "7",
        "mode": "fast",
        "sha256": "0",
        "archiveUri": "https://archive/x",
        "archiveGeneration": 7,
        "archivedAt": "today",
        "late": "very",
    }

    with pytest.raises(ContractError) as refused:
        parse_output(json.dumps({**bad, "previous": {**FAILED, "runId": "7"}}))

    named = [problem.split(":")[0] for problem in refused.value.problems]
    assert sorted(named) == sorted([*bad, "previous.runId"])


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"reason": None}, "reason"),
        ({"status": "completed"}, "reason"),
        ({"archiveUri": "gs://abc/x"}, "archiveUri"),
        ({"archiveGeneration": "1", "archivedAt": "2026-11-30T09:15:09Z"}, "archiveUri"),
        ({"archiveUri": "gs://abc/x", "archiveGeneration": "1"}, "archivedAt"),
        ({"previous": "text"}, "previous"),
    ],
)
def test_output_whose_members_contradict_each_other_is_refused(changes: dict[str, Any], want: str) -> None:
    with pytest.raises(ContractError) as refused:
        parse_output(json.dumps({**FAILED, **changes}))

    assert want in {problem.split(":")[0] for problem in refused.value.problems}


@pytest.mark.parametrize("text", [None, "", "null", "[]", '{"phase":"done"}', "completed"])
def test_output_of_another_tool_is_none(text: str | None) -> None:
    assert find_output(text) is None


CLAIM = Claim(
    run_id="7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b",
    trigger="manual",
    executor="own",
    node_uid="6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f",
    boot_id="0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f",
    started_at=datetime(2026, 11, 30, 9, 15, 0, tzinfo=UTC),
    deadline_at=datetime(2026, 11, 30, 9, 47, 10, tzinfo=UTC),
    agent_version="0.1.0",
)


@given(single_claims, endings)
def test_built_output_can_be_written_and_belongs_to_its_claim(claim: Any, ending: Status) -> None:
    output = build_output(claim, ending, Archived(ARCHIVED_AT))

    assert parse_output(format_output(output)) == output
    assert output.run_id == claim.run_id
    assert output.is_on_record(claim.run_id)
    assert (output.status, output.reason) == ending


@given(single_claims, endings)
def test_built_output_is_never_completed_for_a_run_that_is_not_on_record(claim: Any, ending: Status) -> None:
    assert not build_output(claim, ending).is_on_record(claim.run_id)


COMPLETE = ReportEvidence(attempt=1, sha256="a" * 64, size_bytes=5, complete=True)


@pytest.mark.parametrize(
    ("report", "ending", "want"),
    [
        (COMPLETE, Status(COMPLETED), True),
        (COMPLETE, failed("timeout"), True),
        (COMPLETE, failed("deadline-exceeded"), True),
        (COMPLETE, failed("corrupt"), False),
        (COMPLETE, failed("incomplete"), False),
        (COMPLETE, failed("too-large"), False),
        (COMPLETE, failed("no-report"), False),
        (COMPLETE._replace(complete=False), failed("timeout"), False),
        (None, failed("script-failed"), False),
    ],
)
def test_built_output_calls_a_report_complete_as_agent_and_archive_agree(
    report: ReportEvidence | None, ending: Status, want: bool
) -> None:
    output = build_output(CLAIM._replace(report=report), ending)

    assert output.complete is want


def test_built_output_of_a_run_without_a_report_names_no_file() -> None:
    result = RunResult("none", 1, 1.2, "no-report", "normal", "/var/log/nothing.log.gz", ARCHIVED_AT)

    output = build_output(CLAIM._replace(result=result), failed("no-report"))

    want = Output(
        status="failed",
        trigger="manual",
        complete=False,
        reason="no-report",
        duration_s=1.2,
        run_id=CLAIM.run_id,
        mode="normal",
    )
    assert output == want
