"""A small world for the functions: one cluster's Nodes, both buckets and the topics in memory."""

import gzip
import hashlib
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from functions.archive_report import archive_report
from functions.archiving import ArchivePorts
from functions.clusters import Cluster
from functions.outcomes import Answer
from functions.write_status import StatusPorts, write_status
from gpureport.contract.claims import Claim, ReportEvidence, RunResult, format_claim
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_COLLECTED, RESULTS, Event, build_run_event
from gpureport.contract.keys import build_keys
from gpureport.contract.names import archive_folder, staging_object
from gpureport.contract.outputs import Output, find_output
from gpureport.report.judge import Judge
from tests.fakes.nodes import MemoryNodes
from tests.fakes.object_store import MemoryStore
from tests.fakes.publisher import MemoryPublisher

RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"
LATER_RUN_ID = "0123456789abcdef0123456789abcdef"
NODE_UID = "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f"
BOOT_ID = "0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f"
STARTED_AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
FILE_PATH = "/home/kubernetes/bin/nvidia-bug-reports/nvidia-bug-report-20261130T091506Z-manual.log.gz"
KEYS = build_keys()
FOLDER = archive_folder("prod", "n1", STARTED_AT, RUN_ID)
MANIFEST = f"{FOLDER}/manifest.json"
REPORT = f"{FOLDER}/report.log.gz"


def build_report(sections: int = 3) -> bytes:
    """Write a small whole report, a gzip member per section."""
    texts = [b"____\n\nStart of NVIDIA bug report log file.\nnvidia-bug-report.sh Version: 37062940\nDate: today\n"]
    texts += [b"*** /proc/driver/nvidia/%d\nsome text\n" % number for number in range(sections)]
    texts += [b"____\n\nEnd of NVIDIA bug report log file.\n"]
    return b"".join(gzip.compress(text, mtime=0) for text in texts)


def build_claim(content: bytes | None = None, outcome: str = "complete", **changes: Any) -> Claim:
    """Build a claim with evidence; without report bytes that of a run that failed for `no-report`."""
    claim = Claim(
        run_id=RUN_ID,
        trigger="manual",
        executor="own",
        node_uid=NODE_UID,
        boot_id=BOOT_ID,
        started_at=STARTED_AT,
        deadline_at=STARTED_AT + timedelta(minutes=32),
        agent_version="0.1.0",
        result=RunResult("none", 1, 1.2, "no-report"),
    )
    if content is not None:
        reason = {"complete": None, "partial": "timeout", "corrupt": "corrupt", "none": "no-report"}[outcome]
        claim = claim._replace(
            result=RunResult(outcome, 1, 6.739, reason, "normal", FILE_PATH, STARTED_AT + timedelta(seconds=6)),
            report=ReportEvidence(1, hashlib.sha256(content).hexdigest(), len(content), outcome == "complete"),
        )
    return claim._replace(**changes)


class World:
    """What the functions see, with a Node `n1` of the cluster `prod` to begin with."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.staging = self.store.bucket("staging")
        self.archive = self.store.bucket("archive")
        self.nodes = MemoryNodes()
        self.other_nodes = MemoryNodes()
        self.publisher = MemoryPublisher(["reports", "results"])
        self.connected: list[str] = []
        self._times = itertools.count(1)
        self.put_node()

    def put_node(self, claim: Claim | str | None = None, status: str | None = "in-progress", **more: Any) -> None:
        """Put the Node there as it is with that claim; `output` is its output annotation, `uid` another uid."""
        run = format_claim(claim) if isinstance(claim, Claim) else claim
        given = {KEYS.status: status, KEYS.run: run, KEYS.output: more.get("output")}
        annotations = {key: value for key, value in given.items() if value is not None}
        metadata = {"name": "n1", "uid": more.get("uid", NODE_UID), "annotations": annotations}
        self.nodes.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {}})

    def stage(self, report: bytes, run_id: str = RUN_ID) -> str:
        """Stage a report as an agent does; its object's name."""
        name = staging_object(run_id, hashlib.sha256(report).hexdigest())
        self.staging.create(name, report, "application/gzip")
        return name

    def find_cluster(self, name: str) -> Cluster | None:
        self.connected.append(name)
        known = {"prod": self.nodes, "other": self.other_nodes}
        return Cluster(name, known[name], "project-1", "europe-west4", "uid-of-kube-system") if name in known else None

    def event(self, event_type: str = REPORT_COLLECTED, run_id: str = RUN_ID, **more: Any) -> Event:
        cluster, node = more.get("cluster", "prod"), more.get("node", "n1")
        return build_run_event(event_type, cluster=cluster, node=node, run_id=run_id, at=STARTED_AT, data={})

    @property
    def archive_ports(self) -> ArchivePorts:
        return ArchivePorts(self.staging, self.archive, self.publisher, RESULTS, Judge)

    @property
    def status_ports(self) -> StatusPorts:
        return StatusPorts(self.archive, self.publisher, RESULTS)

    def archive_report(self, event: Event | None = None) -> Answer:
        return archive_report(event or self.event(), self.find_cluster, KEYS, self.archive_ports)

    def write_status(self, event: Event | None = None) -> Answer:
        event = event or self.event(REPORT_ARCHIVED)
        return write_status(event, self.find_cluster, KEYS, self.status_ports)

    def annotation(self, key: str) -> str | None:
        return self.nodes.get("n1")["metadata"]["annotations"].get(key)

    @property
    def status(self) -> str | None:
        return self.annotation(KEYS.status)

    @property
    def output(self) -> Output:
        output = find_output(self.annotation(KEYS.output))
        assert output is not None, self.annotation(KEYS.output)
        return output

    def published(self, event_type: str | None = None) -> list[Event]:
        events = [published.event for published in self.publisher.published]
        return [event for event in events if event_type in (None, event.type)]

    def snapshot(self) -> dict[str, Any]:
        """Everything that events must not change."""
        return {
            "node": self.nodes.get("n1"),
            "archive": {name: self.archive.content(name) for name in self.archive.names()},
            "staging": {name: self.staging.content(name) for name in self.staging.names()},
        }
