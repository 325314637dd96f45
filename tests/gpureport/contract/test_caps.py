"""The longest legal value of every field fits the caps that the admission policies set, and one more is refused."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.claims import Claim, ReportEvidence, RunResult, format_claim, parse_claim
from gpureport.contract.deadlines import DEADLINE_S_MAX, decide_deadline_at
from gpureport.contract.fields import ContractError
from gpureport.contract.keys import OUTPUT_BYTES_MAX, RUN_BYTES_MAX, STATUS_BYTES_MAX
from gpureport.contract.names import (
    FILE_PATH_BYTES_MAX,
    REPORTS_FOLDER_BYTES_MAX,
    archive_folder,
    archive_uri,
    report_file_name,
    report_object,
)
from gpureport.contract.outputs import ARCHIVE_URI_BYTES_MAX, Archived, Output, format_output, parse_output
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import failed, format_status
from tests.gpureport.contract.contract_values import claims_with, outputs_with

LATE = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
LONGEST_REASON = "z" * 72
LONGEST_PATH = "/" + "\U0001f525" * 83 + "abc"
LONGEST_URI = "gs://" + "b" * 63 + "/" + "n" * 955

RESULT = RunResult("complete", 2, 9_999_999.999, LONGEST_REASON, "normal", LONGEST_PATH, LATE)
REPORT = ReportEvidence(2, "f" * 64, 2**53 - 1, complete=False)
CLAIM = Claim(
    run_id="f" * 32,
    trigger="automatic",
    executor="adopt",
    node_uid="ffffffff-ffff-ffff-ffff-ffffffffffff",
    boot_id="ffffffff-ffff-ffff-ffff-ffffffffffff",
    started_at=LATE,
    deadline_at=LATE,
    agent_version="9" * 64,
    result=RESULT,
    report=REPORT,
)
OUTPUT = Output(
    status="failed",
    trigger="automatic",
    complete=False,
    reason=LONGEST_REASON,
    file_path=LONGEST_PATH,
    file_size_bytes=2**53 - 1,
    duration_s=9_999_999.999,
    collected_at=LATE,
    run_id="f" * 32,
    mode="normal",
    sha256="f" * 64,
    archived=Archived(LATE, LONGEST_URI, "9" * 20),
    late=True,
)


def test_longest_claim_with_its_previous_fits_its_cap() -> None:
    claim = CLAIM._replace(previous=CLAIM)

    text = format_claim(claim)

    assert len(text.encode()) <= RUN_BYTES_MAX
    assert parse_claim(text) == claim


def test_longest_output_with_its_previous_fits_its_cap() -> None:
    output = OUTPUT._replace(previous=OUTPUT)

    text = format_output(output)

    assert len(text.encode()) <= OUTPUT_BYTES_MAX
    assert parse_output(text) == output


ONE_MORE = {
    "agentVersion": lambda: CLAIM._replace(agent_version="9" * 65),
    "runId": lambda: CLAIM._replace(run_id="f" * 33),
    "nodeUid": lambda: CLAIM._replace(node_uid="f" + CLAIM.node_uid),
    "bootId": lambda: CLAIM._replace(boot_id="f" + CLAIM.boot_id),
    "result.reason": lambda: CLAIM._replace(result=RESULT._replace(reason=LONGEST_REASON + "z")),
    "result.filePath": lambda: CLAIM._replace(result=RESULT._replace(file_path=LONGEST_PATH + "a")),
    "result.attempts": lambda: CLAIM._replace(result=RESULT._replace(attempts=3)),
    "result.durationSeconds": lambda: CLAIM._replace(result=RESULT._replace(duration_s=10_000_000.001)),
    "report.attempt": lambda: CLAIM._replace(report=REPORT._replace(attempt=3)),
    "report.sizeBytes": lambda: CLAIM._replace(report=REPORT._replace(size_bytes=2**53)),
}


@pytest.mark.parametrize(("member", "build"), ONE_MORE.items(), ids=ONE_MORE)
def test_claim_whose_member_is_longer_than_the_longest_is_refused(member: str, build: Callable[[], Claim]) -> None:
    with pytest.raises(ContractError) as refused:
        parse_claim(format_claim(build()))

    assert [problem.split(":")[0] for problem in refused.value.problems] == [member]


OUTPUT_ONE_MORE = {
    "reason": lambda: OUTPUT._replace(reason=LONGEST_REASON + "z"),
    "filePath": lambda: OUTPUT._replace(file_path=LONGEST_PATH + "a"),
    "fileSizeBytes": lambda: OUTPUT._replace(file_size_bytes=2**53),
    "durationSeconds": lambda: OUTPUT._replace(duration_s=10_000_000.001),
    "archiveUri": lambda: OUTPUT._replace(archived=Archived(LATE, LONGEST_URI + "n", "9" * 20)),
    "archiveGeneration": lambda: OUTPUT._replace(archived=Archived(LATE, LONGEST_URI, "9" * 21)),
}


@pytest.mark.parametrize(("member", "build"), OUTPUT_ONE_MORE.items(), ids=OUTPUT_ONE_MORE)
def test_output_whose_member_is_longer_than_the_longest_is_refused(member: str, build: Callable[[], Output]) -> None:
    with pytest.raises(ContractError) as refused:
        parse_output(format_output(build()))

    named = {problem.split(":")[0] for problem in refused.value.problems}
    assert member in named
    assert named <= {member, "archiveUri"}


MEMBERS_TOO_LONG = {"zone": "z" * 3000}


@given(claims_with(claims_with(st.none(), st.just(MEMBERS_TOO_LONG)), st.just(MEMBERS_TOO_LONG)))
def test_claim_fits_its_cap_whatever_a_newer_writer_added(claim: Any) -> None:
    text = format_claim(claim)

    assert len(text.encode()) <= RUN_BYTES_MAX
    assert "zone" not in json.loads(text)


@given(outputs_with(outputs_with(st.none(), st.just(MEMBERS_TOO_LONG)), st.just({"zone": "z" * 6000})))
def test_output_fits_its_cap_whatever_a_newer_writer_added(output: Any) -> None:
    text = format_output(output)

    assert len(text.encode()) <= OUTPUT_BYTES_MAX
    assert "zone" not in json.loads(text)


def test_claim_that_no_reader_would_take_is_not_written_above_its_cap() -> None:
    with pytest.raises(ValueError, match="at most 4096"):
        format_claim(CLAIM._replace(agent_version="9" * 5000))


def test_output_that_no_reader_would_take_is_not_written_above_its_cap() -> None:
    with pytest.raises(ValueError, match="at most 8192"):
        format_output(OUTPUT._replace(file_path="/" + "x" * 9000))


@pytest.mark.parametrize("reason", REASONS)
def test_status_of_every_reason_fits_its_cap(reason: str) -> None:
    assert len(format_status(failed(reason)).encode()) <= STATUS_BYTES_MAX


def test_reports_path_in_the_longest_folder_fits_its_cap() -> None:
    path = "/" + "f" * (REPORTS_FOLDER_BYTES_MAX - 1) + "/" + report_file_name(LATE, "automatic")

    assert len(path) <= FILE_PATH_BYTES_MAX
    assert format_claim(CLAIM._replace(result=RESULT._replace(file_path=path)))


@pytest.mark.parametrize("quarantined", [False, True])
def test_uri_of_the_longest_names_fits_its_cap(quarantined: bool) -> None:
    folder = archive_folder("c" * 63, ".".join(["n" * 62] * 4), LATE, "f" * 32)

    uri = archive_uri("b" * 222, report_object(folder, quarantined=quarantined))

    assert len(uri) <= ARCHIVE_URI_BYTES_MAX
    assert parse_output(format_output(OUTPUT._replace(archived=Archived(LATE, uri, "1")))).archived is not None


def test_deadline_by_default_is_half_an_hour_and_a_little() -> None:
    started_at = datetime(2026, 11, 30, 9, 15, 0, tzinfo=UTC)

    assert decide_deadline_at(started_at, timeout_s=60) == datetime(2026, 11, 30, 9, 47, 10, tzinfo=UTC)


def test_deadline_at_the_reapers_maximum_is_accepted_and_one_second_more_refused() -> None:
    started_at = datetime(2026, 11, 30, 9, 15, 0, tzinfo=UTC)
    driver_wait_s = DEADLINE_S_MAX - 1930

    assert decide_deadline_at(started_at, 60, driver_wait_s) == datetime(2026, 11, 30, 10, 15, 0, tzinfo=UTC)
    with pytest.raises(ValueError, match="3601 s"):
        decide_deadline_at(started_at, 60, driver_wait_s + 1)
