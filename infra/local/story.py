"""The demonstration: one label becomes one archived report, each step shown as it happens, then what stands where.

Steps come from the logs of agent and functions, the Node's annotations from the Node itself.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gpureport.contract.keys import build_keys
from gpureport.contract.nodes import escape
from gpureport.contract.outputs import Output, find_output
from gpureport.contract.statuses import find_status
from infra.local import topology
from infra.local.cluster_access import JSON_PATCH
from infra.local.demo_objects import SICK_NODE
from infra.local.identities import FUNCTIONS
from infra.local.pipeline import Pipeline, agent_name

LOOK_S = 0.02
RUN_S_MAX = 300.0
"""Seconds a demonstration may take; a real script on a real node needs a minute."""

Say = Callable[[str], None]

STEPS = {
    "claimed": "agent: the run is claimed",
    "script-ended": "agent: the script has ended",
    "evidence": "agent: evidence on the Node, trigger label removed",
    "delivered": "agent: the event is published, and the report staged before it if there is one",
    "failed": "agent: the run has failed",
}

CHILDREN = {
    "judge": "agent: judging and hashing the report",
    "deliver": "agent: staging the report, publishing its event",
}
"""What a `finish` child is started for."""

LAST_LINE_S_MAX = 2.0
"""Seconds to wait for write_status to log what it has done already."""

SAID_AS_THEY_ARE = ("delivery-failed", "internal", "apiserver", "orphan")
"""Log events whose message says it all."""

SHOWN_CHARACTERS = 200


class StoryFailed(Exception):
    """The demonstration did not come to its end; the text says how far it came."""


class Archived(NamedTuple):
    """What the archive holds of a run: object names with sizes, the manifest, the report's own SHA-256."""

    objects: list[tuple[str, int]]
    manifest: str
    sha256: str


def request_report(pipeline: Pipeline, node: str = SICK_NODE) -> None:
    """Put the trigger label on a node, as an operator does."""
    path = f"/metadata/labels/{escape(build_keys().trigger)}"
    pipeline.admin.expect(
        "PATCH", f"/api/v1/nodes/{node}", [{"op": "add", "path": path, "value": "true"}], content_type=JSON_PATCH
    )


def follow_run(pipeline: Pipeline, say: Say, node: str = SICK_NODE) -> Output:
    """Show the run on a node until it has ended and is on record; `StoryFailed` after `RUN_S_MAX`."""
    keys = build_keys()
    logs = [pipeline.supervisor.log_path(name) for name in (agent_name(node), *FUNCTIONS)]
    steps = _follow_steps(logs)
    status_shown: str | None = None
    until = time.monotonic() + RUN_S_MAX
    while time.monotonic() < until:
        pipeline.supervisor.check()
        for step in next(steps):
            say(step)
        annotations = read_annotations(pipeline, node)
        status, output = annotations.get(keys.status), find_output(annotations.get(keys.output))
        if status != status_shown:
            say(f"Node: status {status}")
            status_shown = status
        parsed = find_status(status)
        if parsed is not None and parsed.is_terminal and output is not None and output.archived is not None:
            _say_last(steps, say)
            return output
        time.sleep(LOOK_S)
    raise StoryFailed(f"{node} is {status_shown!r} after {RUN_S_MAX:.0f} s; see {pipeline.settings.work / 'logs'}")


def read_annotations(pipeline: Pipeline, node: str) -> dict[str, str]:
    """Return the annotations of a Node."""
    metadata: dict[str, Any] = pipeline.admin.expect("GET", f"/api/v1/nodes/{node}")["metadata"]
    annotations: dict[str, str] = metadata.get("annotations") or {}
    return annotations


def read_archive(pipeline: Pipeline) -> Archived:
    """Read back everything in the archive, the report through a hash."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    client = storage.Client(
        project=topology.PROJECT,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": f"http://{pipeline.storage.removeprefix('http://')}"},
    )
    objects, manifest, sha256 = [], "", ""
    for blob in client.list_blobs(topology.ARCHIVE):
        objects.append((blob.name, blob.size))
        if blob.name.endswith("manifest.json"):
            manifest = blob.download_as_bytes().decode()
        else:
            digest = hashlib.sha256()
            with blob.open("rb") as report:
                while chunk := report.read(1 << 20):
                    digest.update(chunk)
            sha256 = digest.hexdigest()
    client.close()
    return Archived(objects, manifest, sha256)


def describe_line(line: str) -> str | None:
    """Turn one log line of ours into a step for people; None for a line that is no step."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict):
        return None
    if "outcome" in entry and "function" in entry:
        reason = f" ({entry['reason']})" if entry.get("reason") else ""
        return f"{entry['function']}: {entry['outcome']}{reason}"
    event = entry.get("event")
    if event == "exec":
        words = str(entry.get("argv")).split()
        return next((CHILDREN[word] for word in words if word in CHILDREN), "agent: the host's script is started")
    if event in SAID_AS_THEY_ARE:
        return f"agent: {str(entry.get('message'))[:SHOWN_CHARACTERS]}"
    return STEPS.get(str(event))


def _say_last(steps: Iterator[list[str]], say: Say) -> None:
    """Say what is still to come of the log: the Node was written before write_status logs that."""
    until = time.monotonic() + LAST_LINE_S_MAX
    while time.monotonic() < until:
        last = next(steps)
        for step in last:
            say(step)
        if any(step.startswith("write_status") for step in last):
            return
        time.sleep(LOOK_S)


def _follow_steps(paths: list[Path]) -> Iterator[list[str]]:
    """Yield, at each look, the steps that the logs have gained since the look before."""
    for lines in _follow_logs(paths):
        described = (describe_line(line) for line in lines)
        yield [step for step in described if step is not None]


def _follow_logs(paths: list[Path]) -> Iterator[list[str]]:
    """Yield, at each look, the whole lines that were added to the files since the look before."""
    positions = {path: path.stat().st_size for path in paths}
    while True:
        added: list[str] = []
        for path, position in positions.items():
            with path.open("rb") as file:
                file.seek(position)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            positions[path] += len(whole)
            added += whole.decode(errors="replace").splitlines()
        yield added
