"""The manifest: what is read comes back as it was, and what nobody could read again is not written."""

import json
from typing import Any

import pytest
from hypothesis import given

from gpureport.contract.claims import NewerSchema
from gpureport.contract.fields import ContractError
from gpureport.contract.manifests import MANIFEST_BYTES_MAX, format_manifest, parse_manifest
from gpureport.contract.statuses import COLLECT, FAILED, IN_PROGRESS, Status, failed
from tests.gpureport.contract.contract_values import manifests, single_claims

RUN: dict[str, Any] = {
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
REPORT: dict[str, Any] = {
    "bucket": "archive",
    "name": "v1/prod/n1/2026-11-30/7f3a/report.log.gz",
    "generation": "1796041156147531",
    "sizeBytes": 558947,
    "sha256": "a" * 64,
    "crc32c": "yZRlqg==",
    "outcome": "complete",
    "members": 112,
    "rawBytes": 4_000_000,
    "facts": {"driver": "580.65.06"},
}
MANIFEST: dict[str, Any] = {
    "schema": 1,
    "attested": True,
    "project": "p",
    "location": "europe-west4",
    "cluster": "prod",
    "clusterUid": "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f",
    "node": "n1",
    "status": "completed",
    "run": RUN,
    "report": REPORT,
}


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


@given(manifests)
def test_manifest_is_read_as_it_was_written(manifest: Any) -> None:
    assert parse_manifest(format_manifest(manifest)) == manifest


def test_manifest_is_written_for_people_too() -> None:
    text = format_manifest(parse_manifest(encode(MANIFEST))).decode()

    assert text == json.dumps(MANIFEST, indent=2) + "\n"


@given(manifests, single_claims)
def test_manifest_leaves_out_the_run_before(manifest: Any, previous: Any) -> None:
    data = format_manifest(manifest._replace(claim=manifest.claim._replace(previous=previous)))

    assert parse_manifest(data) == manifest


@pytest.mark.parametrize(
    "value",
    [{**MANIFEST, "schema": 2}, {"schema": 2}, {**MANIFEST, "run": {**RUN, "schema": 2}}],
    ids=["manifest", "manifest of another form", "run"],
)
def test_manifest_of_a_newer_schema_is_left_alone(value: object) -> None:
    with pytest.raises(NewerSchema):
        parse_manifest(encode(value))


def test_manifest_with_many_faults_names_them_all() -> None:
    bad_report = dict.fromkeys(REPORT, -1)
    value = {**dict.fromkeys(MANIFEST, -1), "run": {**RUN, "runId": "7"}, "report": bad_report}

    with pytest.raises(ContractError) as refused:
        parse_manifest(encode(value))

    want = set(MANIFEST) - {"run", "report"} | {"run.runId"} | {f"report.{name}" for name in REPORT}
    assert {problem.split(":")[0] for problem in refused.value.problems} == want


@pytest.mark.parametrize("status", ["", "collect", "in-progress", "failed", "failed:", "done", "completed: yes", None])
def test_manifest_without_an_ending_is_refused(status: str | None) -> None:
    with pytest.raises(ContractError) as refused:
        parse_manifest(encode({**MANIFEST, "status": status}))

    assert [problem.split(":")[0] for problem in refused.value.problems] == ["status"]


@pytest.mark.parametrize("ending", [Status(COLLECT), Status(IN_PROGRESS), Status(FAILED), Status(FAILED, "burnt")])
def test_manifest_without_an_ending_of_ours_is_not_written(ending: Status) -> None:
    manifest = parse_manifest(encode(MANIFEST))

    with pytest.raises(ValueError, match="is no"):
        format_manifest(manifest._replace(ending=ending))


def test_manifest_without_a_report_has_no_report() -> None:
    value = {**MANIFEST, "status": "failed: no-report"}
    del value["report"]

    manifest = parse_manifest(encode(value))

    assert manifest.report is None
    assert manifest.ending == failed("no-report")
    assert json.loads(format_manifest(manifest)) == value


def test_manifest_leaves_out_unknown_members_of_the_run_that_would_not_fit() -> None:
    manifest = parse_manifest(encode(MANIFEST))
    claim = manifest.claim._replace(unknown={"zone": "x" * MANIFEST_BYTES_MAX})

    assert parse_manifest(format_manifest(manifest._replace(claim=claim))) == manifest


def test_manifest_that_nobody_could_read_is_not_written() -> None:
    manifest = parse_manifest(encode(MANIFEST))
    assert manifest.report is not None
    report = manifest.report._replace(facts={"log": "x" * MANIFEST_BYTES_MAX})

    with pytest.raises(ValueError, match="at most 65536"):
        format_manifest(manifest._replace(report=report))
