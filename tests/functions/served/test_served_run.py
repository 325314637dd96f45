"""A run through the bundle and real servers: both entry points wired by the bundle's own bootstrap."""

import json

import pytest

from gpureport.adapters.google_storage import GoogleBucket
from gpureport.contract.claims import format_claim
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_COLLECTED
from gpureport.contract.names import staging_object
from gpureport.contract.outputs import parse_output
from gpureport.contract.pubsub_binding import format_message
from tests.functions.world import KEYS, MANIFEST, REPORT, RUN_ID, World, build_claim, build_report

EVENT = World().event
WHOLE = build_report()
LARGE = build_report(sections=10_000)


def _put_node(servers, claim):
    annotations = {KEYS.status: "in-progress", KEYS.run: format_claim(claim)}
    metadata = {"name": "n1", "annotations": annotations}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    created = servers.apiserver.expect("POST", "/api/v1/nodes", node)
    annotations[KEYS.run] = format_claim(claim._replace(node_uid=created["metadata"]["uid"]))
    servers.apiserver.expect("PUT", "/api/v1/nodes/n1", created | {"metadata": created["metadata"] | metadata})


def _post(function, event_type, **changes):
    body, headers = format_message(EVENT(event_type, **changes))
    return function.post(body, headers)


@pytest.mark.parametrize("report", [WHOLE, LARGE], ids=["small", "of several reads"])
def test_collected_report_ends_completed_and_byte_identical(serve, servers, monkeypatch, report):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", servers.environment["STORAGE_EMULATOR_HOST"])
    staging, archive = (GoogleBucket(name, project="local") for name in ("staging", "archive"))
    claim = build_claim(report)
    _put_node(servers, claim)
    staged = staging_object(RUN_ID, claim.report.sha256)
    staging.create(staged, report, "application/gzip")
    archive_report, write_status = (serve(name, servers.environment) for name in ("archive_report", "write_status"))

    statuses = [_post(write_status, REPORT_ARCHIVED)]
    statuses += [_post(archive_report, REPORT_COLLECTED) for _ in range(2)]
    statuses += [_post(write_status, REPORT_ARCHIVED) for _ in range(2)]
    statuses += [
        _post(archive_report, REPORT_COLLECTED, node="n2"),
        _post(archive_report, REPORT_COLLECTED, cluster="x"),
    ]

    assert statuses == [204] * 7
    outcomes = {function.part.definition.name: [line["outcome"] for line in function.lines] for function in
                (archive_report, write_status)}  # fmt: skip
    assert outcomes == {
        "archive_report": ["done", "duplicate", "late", "rejected"],
        "write_status": ["rejected", "done", "duplicate"],
    }
    assert b"".join(archive.read(archive.stat(REPORT))) == report
    assert json.loads(b"".join(archive.read(archive.stat(MANIFEST))))["status"] == "completed"
    assert staging.stat(staged) is None
    annotations = servers.apiserver.expect("GET", "/api/v1/nodes/n1")["metadata"]["annotations"]
    assert annotations[KEYS.status] == "completed"
    assert parse_output(annotations[KEYS.output]).archived.archive_uri == f"gs://archive/{REPORT}"


def test_apiserver_that_is_away_makes_a_retry_not_a_loss(serve, servers, tmp_path):
    (tmp_path / "token").write_text("any")
    clusters = json.dumps({"prod": {"server": "http://127.0.0.1:9", "token_file": str(tmp_path / "token")}})
    archive_report = serve("archive_report", servers.environment | {"CLUSTERS": clusters})

    assert _post(archive_report, REPORT_COLLECTED) == 503

    [line] = archive_report.lines
    assert (line["outcome"], line["reason"], line["severity"]) == ("retry", "unavailable", "WARNING")
