"""Runs for archive_report without an agent: a claim on a Node of our own, a staged report, the event as push brings it.

The event goes straight to the function, so that only the function is measured.
"""

import http.client
import json
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from bench.reports import ReportFile
from bench.rows import NotMeasured
from gpureport.contract.claims import Claim, ReportEvidence, RunResult, format_claim
from gpureport.contract.events import REPORT_COLLECTED, build_run_event
from gpureport.contract.instants import parse_instant
from gpureport.contract.keys import build_keys
from gpureport.contract.names import staging_object
from gpureport.contract.pubsub_binding import format_message
from infra.local import topology
from infra.local.pipeline import CLUSTER, Pipeline

NODE = "bench-1"
MERGE_PATCH = "application/merge-patch+json"
STARTED_AT = parse_instant("2026-11-30T09:15:00Z")
FILE_PATH = "/var/reports/nvidia-bug-report-20261130T091506Z-manual.log.gz"
ANSWER_S_MAX = 120.0
ACKNOWLEDGED = 204


class StagedRun(NamedTuple):
    """A run that waits to be archived."""

    claim: Claim
    staged: str
    """Name of its object in the staging bucket."""


class StagedRuns:
    """Makes runs of one report: uploaded once, each run's object is copied from it on the server."""

    def __init__(self, pipeline: Pipeline, report: ReportFile) -> None:
        self._pipeline = pipeline
        self._report = report
        self._client = storage.Client(
            project=topology.PROJECT,
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": pipeline.storage},
        )
        self._bucket = self._client.bucket(topology.STAGING)
        self._template = self._bucket.blob(f"bench/{report.path.name}")
        self._template.upload_from_filename(str(report.path), timeout=ANSWER_S_MAX)
        self._node_uid = self._ensure_node()

    def prepare(self) -> StagedRun:
        """Stage the report for a new run and put its claim on the Node."""
        run = self.stage()
        annotations = {build_keys().status: "in-progress", build_keys().run: format_claim(run.claim)}
        self._pipeline.admin.expect(
            "PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": annotations}}, content_type=MERGE_PATCH
        )
        return run

    def stage(self) -> StagedRun:
        """Stage the report for a new run; the Node is left as it is."""
        claim = _build_claim(self._report, self._node_uid)
        name = staging_object(claim.run_id, self._report.sha256)
        self._bucket.blob(name).rewrite(self._template)
        return StagedRun(claim, name)

    def _ensure_node(self) -> str:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        self._pipeline.admin.call("POST", "/api/v1/nodes", body)
        metadata: dict[str, Any] = self._pipeline.admin.expect("GET", f"/api/v1/nodes/{NODE}")["metadata"]
        return str(metadata["uid"])


class FunctionLog:
    """The outcome lines that a function writes; each is read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0

    def read_outcomes(self) -> Iterator[tuple[str, str]]:
        """Yield outcome and message of every new line."""
        with self._path.open("rb") as file:
            file.seek(self._position)
            lines = file.read().split(b"\n")
        self._position += sum(len(line) + 1 for line in lines[:-1])
        for line in lines[:-1]:
            if line.startswith(b"{"):
                entry = json.loads(line)
                if "outcome" in entry:
                    yield entry["outcome"], entry.get("message", "")


def send_event(url: str, run: StagedRun, log: FunctionLog) -> None:
    """Bring a run's event to the function and wait for its answer; `NotMeasured` unless the run got archived."""
    event = build_run_event(
        REPORT_COLLECTED, cluster=CLUSTER, node=NODE, run_id=run.claim.run_id, at=STARTED_AT, data={}
    )
    data, attributes = format_message(event)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_S_MAX)
    try:
        connection.request("POST", "/", data, attributes)
        status = connection.getresponse().status
    finally:
        connection.close()
    outcomes = list(log.read_outcomes())
    if status != ACKNOWLEDGED or [outcome for outcome, _ in outcomes] != ["done"]:
        raise NotMeasured(f"archive_report answered {status}: {outcomes}")


def _build_claim(report: ReportFile, node_uid: str) -> Claim:
    return Claim(
        run_id=secrets.token_hex(16),
        trigger="manual",
        executor="own",
        node_uid=node_uid,
        boot_id="0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f",
        started_at=STARTED_AT,
        deadline_at=STARTED_AT + timedelta(minutes=32),
        agent_version="0.1.0",
        result=RunResult("complete", 1, 6.7, None, "normal", FILE_PATH, STARTED_AT + timedelta(seconds=6)),
        report=ReportEvidence(1, report.sha256, report.size_bytes, True),
    )
