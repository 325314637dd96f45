"""How a test says what somebody sends to a Node, and what the Node says before: builders, no network."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpureport.contract.keys import build_keys

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

KEYS = build_keys()
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"

Object = dict[str, Any]


class Request(NamedTuple):
    """One request to the apiserver."""

    method: str
    path: str
    body: object = None
    content_type: str = JSON

    def as_dry_run(self) -> "Request":
        """Return the request that is judged like this one and changes nothing; for a CONNECT there is none."""
        if "/proxy" in self.path:
            return self
        return self._replace(path=f"{self.path}{'&' if '?' in self.path else '?'}dryRun=All")


Build = Callable[[Object], Request]
"""Makes a request from the Node as it stands."""


class Start(NamedTuple):
    """What the Node says before a request; `applied` is what other tools then apply: name, labels, annotations."""

    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    applied: tuple[tuple[str, Mapping[str, str], Mapping[str, str]], ...] = ()


def start(status: str | None = None, label: str | None = None, **ours: str) -> Start:
    """Say what stands on the Node beside a label and an annotation of somebody else."""
    labels = {"keep": "me"} | ({} if label is None else {KEYS.trigger: label})
    return Start(labels, {"other": "keep"} | notes(**({} if status is None else {"status": status}), **ours))


def notes(**values: str | None) -> dict[str, Any]:
    """Name our annotations in full: status, run, output; any other name stays as it is."""
    return {getattr(KEYS, name, name): value for name, value in values.items()}


def run(letter: str, *, result: bool = False) -> str:
    """Write a run annotation whose run id is 32 times that letter."""
    members: Object = {"schema": 1, "runId": letter * 32}
    return json.dumps(members | ({"result": {"outcome": "none"}} if result else {}), separators=(",", ":"))


def output(letter: str) -> str:
    """Write an output annotation about that run."""
    return json.dumps({"status": "failed", "runId": letter * 32}, separators=(",", ":"))


def pad(text: str, size: int, filler: str = "x") -> str:
    """Fill a text up to so many characters."""
    return text + filler * (size - len(text))


def path_of(node: Object) -> str:
    return f"{NODES}/{node['metadata']['name']}"


def merge(where: str = "", content_type: str = MERGE, **members: Any) -> Build:
    """Patch these members by RFC 7386, or strategically; `where` is a subresource or a query."""
    return lambda node: Request("PATCH", path_of(node) + where, members, content_type)


def note(content_type: str = MERGE, **values: str | None) -> Build:
    """Patch annotations by RFC 7386, or strategically."""
    return merge(content_type=content_type, metadata={"annotations": notes(**values)})


def label(**values: str | None) -> Build:
    """Patch labels by RFC 7386."""
    return merge(metadata={"labels": {getattr(KEYS, name, name): value for name, value in values.items()}})


def condition() -> Build:
    """Say in nodes/status that the Node is ready, as kubelets do."""
    return merge("/status", STRATEGIC, status={"conditions": [{"type": "Ready", "status": "True"}]})


def owner() -> Build:
    """Say that the Node belongs to something."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
    return merge(metadata={"ownerReferences": [reference]})


def pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def operations(*steps: tuple[Any, ...]) -> Build:
    """Patch by RFC 6902: (op, pointer) or (op, pointer, value), (move or copy, from, pointer)."""

    def describe(step: tuple[Any, ...]) -> Object:
        names = ("op", "from", "path") if step[0] in ("move", "copy") else ("op", "path", "value")
        return dict(zip(names, step, strict=False))

    return lambda node: Request("PATCH", path_of(node), [describe(step) for step in steps], JSON_PATCH)


def swap(before: str, *steps: tuple[Any, ...]) -> Build:
    """Patch by RFC 6902 if the uid is the Node's and the status is `before`, as all our code does."""

    def build(node: Object) -> Request:
        tests = (
            ("test", "/metadata/uid", node["metadata"]["uid"]),
            ("test", pointer("metadata", "annotations", KEYS.status), before),
        )
        return operations(*tests, *steps)(node)

    return build


def add(key: str, value: str) -> tuple[Any, ...]:
    return ("add", pointer("metadata", "annotations", getattr(KEYS, key, key)), value)


def remove(kind: str, key: str) -> tuple[Any, ...]:
    return ("remove", pointer("metadata", kind, getattr(KEYS, key, key)))


def put(change: Callable[[Object], object], where: str = "") -> Build:
    """Write the whole Node as it stands, changed."""

    def build(node: Object) -> Request:
        changed = copy.deepcopy(node)
        change(changed)
        return Request("PUT", path_of(node) + where, changed)

    return build


def put_notes(**values: str) -> Build:
    """Write the whole Node with other annotations."""
    return put(lambda node: node["metadata"]["annotations"].update(notes(**values)))


def put_metadata(**members: Any) -> Build:
    """Write the whole Node with other metadata."""
    return put(lambda node: node["metadata"].update(members))


def apply(metadata: Object, name: str = "", manager: str = "agent") -> Build:
    """Apply server-side, by force."""

    def build(node: Object) -> Request:
        target = name or node["metadata"]["name"]
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": target, **metadata}}
        return Request("PATCH", f"{NODES}/{target}?fieldManager={manager}&force=true", body, APPLY)

    return build


def send(method: str, where: str = "", body: object = None) -> Build:
    """Send something to the Node or a subresource of it."""
    return lambda node: Request(method, path_of(node) + where, body)


def create(where: str, body: object) -> Build:
    """Create an object that has nothing to do with the Node."""
    return lambda _node: Request("POST", where, body)


def delete(path: str) -> Build:
    """Delete what is not the Node alone."""
    return lambda _node: Request("DELETE", path)


def event(kind: str = "Node", about: str | None = None, uid: str | None = None, **members: Any) -> Build:
    """Create an Event about the Node, or about what is said."""

    def build(node: Object) -> Request:
        return Request("POST", EVENTS, build_event(node, kind, about, uid) | members)

    return build


def build_event(node: Object, kind: str = "Node", about: str | None = None, uid: str | None = None) -> Object:
    """Describe an Event as the agent writes it."""
    involved = {
        "apiVersion": "v1",
        "kind": kind,
        "name": node["metadata"]["name"] if about is None else about,
        "uid": node["metadata"]["uid"] if uid is None else uid,
    }
    return {
        "metadata": {"generateName": "gpu-report-", "namespace": "default"},
        "involvedObject": involved,
        "source": {"component": "gpu-report-agent"},
        "type": "Normal",
        "reason": "GpuReportStarted",
        "message": "the script runs",
    }
