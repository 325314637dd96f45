"""The examples that the contract's page shows, character by character."""

from datetime import UTC, datetime

import pytest

from gpureport.contract.claims import Claim, ReportEvidence, RunResult, format_claim, parse_claim
from gpureport.contract.outputs import Archived, Output, format_output, parse_output

RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"
NODE_UID = "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f"
BOOT_ID = "0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
FOLDER = "/home/kubernetes/bin/nvidia-bug-reports"
ARCHIVE_URI = f"gs://archive/v1/prod/n1/2026-11-30/{RUN_ID}/report.log.gz"

HEAD = (
    f'"executor":"own","nodeUid":"{NODE_UID}","bootId":"{BOOT_ID}","startedAt":"2026-11-30T09:15:00Z",'
    '"deadlineAt":"2026-11-30T09:47:10Z","agentVersion":"0.1.0"'
)
MANUAL = f'{{"schema":1,"runId":"{RUN_ID}","trigger":"manual",{HEAD}'
AUTOMATIC = f'{{"schema":1,"runId":"{RUN_ID}","trigger":"automatic",{HEAD}'


def at(hour: int, minute: int, second: int) -> datetime:
    return datetime(2026, 11, 30, hour, minute, second, tzinfo=UTC)


CLAIM = Claim(
    run_id=RUN_ID,
    trigger="manual",
    executor="own",
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    started_at=at(9, 15, 0),
    deadline_at=at(9, 47, 10),
    agent_version="0.1.0",
)
NORMAL_PATH = f"{FOLDER}/nvidia-bug-report-20261130T091506Z-manual.log.gz"
SAFE_PATH = f"{FOLDER}/nvidia-bug-report-20261130T091712Z-automatic.log.gz"

CLAIMS = {
    "at the claim": (MANUAL + "}", CLAIM),
    "with evidence": (
        MANUAL + ',"result":{"outcome":"complete","mode":"normal","attempts":1,'
        f'"filePath":"{NORMAL_PATH}","durationSeconds":6.739,"collectedAt":"2026-11-30T09:15:06Z"}},'
        f'"report":{{"attempt":1,"sha256":"{SHA256}","sizeBytes":558947,"complete":true}}}}',
        CLAIM._replace(
            result=RunResult("complete", 1, 6.739, None, "normal", NORMAL_PATH, at(9, 15, 6)),
            report=ReportEvidence(1, SHA256, 558947, True),
        ),
    ),
    "never started": (
        AUTOMATIC + ',"result":{"outcome":"none","reason":"disabled","attempts":0,"durationSeconds":0}}',
        CLAIM._replace(trigger="automatic", result=RunResult("none", 0, 0.0, "disabled")),
    ),
    "time-out, then safe mode": (
        AUTOMATIC + ',"result":{"outcome":"complete","reason":"timeout","mode":"safe","attempts":2,'
        f'"filePath":"{SAFE_PATH}","durationSeconds":71.2,"collectedAt":"2026-11-30T09:17:12Z"}},'
        f'"report":{{"attempt":2,"sha256":"{SHA256}","sizeBytes":201133,"complete":true}}}}',
        CLAIM._replace(
            trigger="automatic",
            result=RunResult("complete", 2, 71.2, "timeout", "safe", SAFE_PATH, at(9, 17, 12)),
            report=ReportEvidence(2, SHA256, 201133, True),
        ),
    ),
}

OUTPUTS = {
    "completed": (
        f'{{"status":"completed","trigger":"manual","filePath":"{NORMAL_PATH}","fileSizeBytes":558947,'
        '"complete":true,"durationSeconds":6.739,"collectedAt":"2026-11-30T09:15:06Z",'
        f'"runId":"{RUN_ID}","mode":"normal","sha256":"{SHA256}","archiveUri":"{ARCHIVE_URI}",'
        '"archiveGeneration":"1796041156147531","archivedAt":"2026-11-30T09:15:09Z"}',
        Output(
            status="completed",
            trigger="manual",
            complete=True,
            file_path=NORMAL_PATH,
            file_size_bytes=558947,
            duration_s=6.739,
            collected_at=at(9, 15, 6),
            run_id=RUN_ID,
            mode="normal",
            sha256=SHA256,
            archived=Archived(at(9, 15, 9), ARCHIVE_URI, "1796041156147531"),
        ),
    ),
    "time-out, then safe mode": (
        f'{{"status":"failed","reason":"timeout","trigger":"automatic","filePath":"{SAFE_PATH}",'
        '"fileSizeBytes":201133,"complete":true,"durationSeconds":71.2,"collectedAt":"2026-11-30T09:17:12Z",'
        f'"runId":"{RUN_ID}","mode":"safe","sha256":"{SHA256}","archiveUri":"{ARCHIVE_URI}",'
        '"archiveGeneration":"1796041156147532","archivedAt":"2026-11-30T09:17:15Z"}',
        Output(
            status="failed",
            reason="timeout",
            trigger="automatic",
            complete=True,
            file_path=SAFE_PATH,
            file_size_bytes=201133,
            duration_s=71.2,
            collected_at=at(9, 17, 12),
            run_id=RUN_ID,
            mode="safe",
            sha256=SHA256,
            archived=Archived(at(9, 17, 15), ARCHIVE_URI, "1796041156147532"),
        ),
    ),
    "ended by the agent, its manifest on record": (
        '{"status":"failed","reason":"no-report","trigger":"manual","complete":false,"durationSeconds":1.2,'
        f'"runId":"{RUN_ID}","archivedAt":"2026-11-30T09:15:05Z"}}',
        Output(
            status="failed",
            reason="no-report",
            trigger="manual",
            complete=False,
            duration_s=1.2,
            run_id=RUN_ID,
            archived=Archived(at(9, 15, 5)),
        ),
    ),
    "no agent": (
        '{"status":"failed","reason":"no-agent","trigger":"automatic","complete":false}',
        Output(status="failed", reason="no-agent", trigger="automatic", complete=False),
    ),
    "late": (
        f'{{"status":"failed","reason":"deadline-exceeded","trigger":"manual","complete":true,"runId":"{RUN_ID}",'
        f'"mode":"normal","sha256":"{SHA256}","archiveUri":"{ARCHIVE_URI}",'
        '"archiveGeneration":"1796041156147533","archivedAt":"2026-11-30T11:02:00Z","late":true}',
        Output(
            status="failed",
            reason="deadline-exceeded",
            trigger="manual",
            complete=True,
            run_id=RUN_ID,
            mode="normal",
            sha256=SHA256,
            archived=Archived(at(11, 2, 0), ARCHIVE_URI, "1796041156147533"),
            late=True,
        ),
    ),
}


@pytest.mark.parametrize(("text", "want"), CLAIMS.values(), ids=CLAIMS)
def test_claim_example_is_read_and_written_back_unchanged(text: str, want: Claim) -> None:
    claim = parse_claim(text)

    assert claim == want
    assert format_claim(claim) == text


@pytest.mark.parametrize(("text", "want"), OUTPUTS.values(), ids=OUTPUTS)
def test_output_example_is_read_and_written_back_unchanged(text: str, want: Output) -> None:
    output = parse_output(text)

    assert output == want
    assert format_output(output) == text


def test_claim_example_carries_its_previous_run() -> None:
    previous = CLAIMS["with evidence"][0].replace(RUN_ID, "0" * 32)
    text = f'{MANUAL},"previous":{previous}}}'

    claim = parse_claim(text)

    assert claim.previous == CLAIMS["with evidence"][1]._replace(run_id="0" * 32)
    assert format_claim(claim) == text


def test_output_example_carries_its_previous_run() -> None:
    previous = OUTPUTS["completed"][0].replace(RUN_ID, "0" * 32)
    text = (
        '{"status":"failed","reason":"busy","trigger":"manual","complete":false,'
        f'"runId":"{RUN_ID}","previous":{previous}}}'
    )

    output = parse_output(text)

    assert format_output(output) == text
    assert output.is_on_record("0" * 32)
    assert not output.is_on_record(RUN_ID)
