"""The running pipeline as an end-to-end test sees and moves it: the Node, the topics, the buckets, the logs."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud import pubsub_v1, storage
from google.pubsub_v1.services.publisher.transports.grpc import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports.grpc import SubscriberGrpcTransport

from gpureport.contract.claims import Claim, find_claim
from gpureport.contract.keys import build_keys
from gpureport.contract.outputs import Output, find_output
from gpureport.contract.statuses import find_status
from infra.layout import STAND_IN_SCRIPT
from infra.local import topology
from infra.local.pipeline import Pipeline
from infra.local.pubsub.undelivered import count_undelivered
from infra.local.real_cluster import RealCluster
from infra.local.story import request_report

KEYS = build_keys()
WAIT_S_MAX = 60.0
CAPTURES = ("reports", "results")


def wait_until(holds: Callable[[], Any], what: str, wait_s_max: float = WAIT_S_MAX) -> Any:
    """Wait until `holds` returns something true, and return it."""
    until = time.monotonic() + wait_s_max
    while time.monotonic() < until:
        value = holds()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {wait_s_max:.0f} s")


class CountingScript(NamedTuple):
    """A script, the file that has a line for each of its starts, and the file that holds it while it is there."""

    path: Path
    runs: Path
    hold: Path


class World:
    """The running pipeline, as a test sees and moves it."""

    def __init__(self, pipeline: Pipeline, script: CountingScript) -> None:
        self.pipeline = pipeline
        self._script = script
        self._channel = grpc.insecure_channel(pipeline.pubsub)
        self._publisher = pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=self._channel))
        self._subscriber = pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=self._channel))
        self._storage = storage.Client(
            project=topology.PROJECT,
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": pipeline.storage},
        )
        for topic in CAPTURES:
            self._subscriber.create_subscription(name=_capture(topic), topic=topology.topic_path(topic))

    def close(self) -> None:
        self._storage.close()
        self._channel.close()

    @property
    def audit_log(self) -> Path:
        """The audit log of the real control plane."""
        cluster = self.pipeline.cluster
        assert isinstance(cluster, RealCluster)
        return cluster.control_plane.audit_log

    def node(self, name: str) -> dict[str, Any]:
        return self.pipeline.admin.expect("GET", f"/api/v1/nodes/{name}")

    def annotations(self, name: str) -> Mapping[str, str]:
        return self.node(name)["metadata"].get("annotations") or {}

    def status(self, name: str) -> str | None:
        return self.annotations(name).get(KEYS.status)

    def output(self, name: str) -> Output | None:
        return find_output(self.annotations(name).get(KEYS.output))

    def claim(self, name: str) -> Claim | None:
        return find_claim(self.annotations(name).get(KEYS.run))

    def new_evidence(self, name: str, before: Output | None) -> Claim | None:
        """Return the claim of a run newer than `before`, once it has the evidence of a report."""
        claim = self.claim(name)
        if claim is None or claim.report is None or (before is not None and claim.run_id == before.run_id):
            return None
        return claim

    def request(self, name: str) -> None:
        request_report(self.pipeline, name)

    def annotate(self, name: str, annotations: Mapping[str, str | None]) -> None:
        self.pipeline.admin.expect(
            "PATCH",
            f"/api/v1/nodes/{name}",
            {"metadata": {"annotations": annotations}},
            content_type="application/merge-patch+json",
        )

    def wait_on_record(self, name: str, before: Output | None = None, wait_s_max: float = WAIT_S_MAX) -> Output:
        """Wait until a run newer than `before` has ended on that node and is on record."""

        def ended() -> Output | None:
            status, output = find_status(self.status(name)), self.output(name)
            if status is None or not status.is_terminal or output is None or output.archived is None:
                return None
            return output if before is None or output.run_id != before.run_id else None

        output: Output = wait_until(ended, f"a run of {name} on record", wait_s_max)
        return output

    def run_once(self, name: str) -> Output:
        """Request a report and wait until its run is on record and everything is quiet."""
        before = self.output(name)
        self.request(name)
        output = self.wait_on_record(name, before)
        self.wait_quiet()
        return output

    def wait_quiet(self) -> None:
        """Wait until both functions have acknowledged everything."""

        def quiet() -> bool:
            counts = count_undelivered(self.pipeline.pubsub)
            return all(
                count == 0 for name, count in counts.items() if name.endswith(("archive-report", "write-status"))
            )

        wait_until(quiet, "no undelivered event")

    def captured(self, topic: str) -> list[tuple[bytes, dict[str, str]]]:
        """Take every message of a topic since the last look."""
        messages: list[tuple[bytes, dict[str, str]]] = []
        while True:
            answer = self._subscriber.pull(subscription=_capture(topic), max_messages=100, timeout=10)
            received = list(answer.received_messages)
            if not received:
                return messages
            messages += [(bytes(one.message.data), dict(one.message.attributes)) for one in received]
            self._subscriber.acknowledge(subscription=_capture(topic), ack_ids=[one.ack_id for one in received])

    def publish(self, topic: str, data: bytes, attributes: Mapping[str, str]) -> None:
        self._publisher.publish(topology.topic_path(topic), data, **attributes).result(10)

    def objects(self, bucket: str) -> dict[str, int]:
        """Return the generation of every object by name."""
        return {blob.name: blob.generation for blob in self._storage.list_blobs(bucket)}

    def download(self, bucket: str, name: str) -> bytes:
        data: bytes = self._storage.bucket(bucket).blob(name).download_as_bytes(raw_download=True)
        return data

    def outcomes(self, function: str) -> list[dict[str, Any]]:
        """Return every outcome line of a function so far."""
        lines = self.pipeline.supervisor.log_path(function).read_text(errors="replace").splitlines()
        entries = [json.loads(line) for line in lines if line.startswith("{")]
        return [entry for entry in entries if "outcome" in entry]

    def triage_word(self, namespace: str, pod: str) -> str:
        """Ask the desk why a Pod does not run, with the desk's own rights, and return its word."""
        command = [Path(sys.executable).with_name("gpureport"), "triage", "-n", namespace, pod]
        done = subprocess.run(
            [*command, "--kubeconfig", self.pipeline.desk_kubeconfig],
            capture_output=True,
            text=True,
            timeout=WAIT_S_MAX,
            check=True,
        )
        return done.stdout.splitlines()[0]

    def script_runs(self) -> int:
        """Return how often the script was started, on all nodes."""
        return len(self._script.runs.read_text().splitlines()) if self._script.runs.exists() else 0

    @contextmanager
    def script_held(self, node: str) -> Iterator[None]:
        """Request a report, and hold its script right after its start as long as the block lasts."""
        before = self.script_runs()
        self._script.hold.touch()
        try:
            self.request(node)
            wait_until(lambda: self.script_runs() > before, "the script's start")
            yield
        finally:
            self._script.hold.unlink()


def _capture(topic: str) -> str:
    return topology.subscription_path(f"capture-{topic}")


def write_counting_script(folder: Path) -> CountingScript:
    """Write a script that counts its starts, waits as long as it is held, and then is the stand-in."""
    folder.mkdir(parents=True, exist_ok=True)
    runs, hold = folder / "runs", folder / "hold"
    stand_in = shutil.copytree(STAND_IN_SCRIPT.parent, folder / "script") / STAND_IN_SCRIPT.name
    script = folder / "counting-bug-report.sh"
    held = f'while [ -e "{hold}" ]; do sleep 0.05; done'
    script.write_text(f'#!/bin/sh\necho $$ >>"{runs}"\n{held}\nexec "{stand_in}" "$@"\n')
    os.chmod(script, 0o755)
    os.chmod(stand_in, 0o755)
    return CountingScript(script, runs, hold)
