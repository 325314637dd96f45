"""A real control plane with Nodes to write to, and everybody who writes, with a real token.

Every authenticated user gets every right on Nodes and Events here: what is refused, the policies alone refuse.
"""

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from infra.local.certificates import ensure_certificates
from infra.local.control_plane import ControlPlane, Ports
from infra.local.identities import ADMIN, make_tokens
from infra.local.part import take_free_port
from infra.local.supervisor import Supervisor
from infra.parts.catalogue import CONTROL_PLANE, require
from tests.kubernetes.requests import APPLY, EVENTS, JSON, MERGE, NODES, Object, Request, Start, build_event
from tests.kubernetes.rows import Row
from tests.kubernetes.table_events import STANDING
from tests.kubernetes.wire import Wire

NAMESPACE = "gpu-report"
NODE, OTHER_NODE = "gpu-1", "gpu-2"

WAIT_S_MAX = 20.0
"""Until a change of policies, rights or controllers' work is seen; 2 s were measured."""
LOOK_S = 0.05
KUBECTL_S_MAX = 60.0

RBAC = "/apis/rbac.authorization.k8s.io/v1"
EVERYTHING = [
    {"apiGroups": [""], "resources": ["nodes", "nodes/status", "nodes/proxy", "events"], "verbs": ["*"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["*"]},
]
EVERYBODY = "system:authenticated"
"""The group; a SubjectAccessReview without it tells what the manifests alone grant."""


class Actor(NamedTuple):
    """Somebody with a token, and the Node that this one's rows are about."""

    token: str
    node: str = NODE


class Answer(NamedTuple):
    """A status code, and the message of what was not done."""

    status: int
    message: str

    def is_as_wanted(self, row: Row) -> bool:
        return self.status == row.want and row.says in self.message


class RealCluster:
    """One running control plane; `users` are the ones with a static token beside the admin."""

    def __init__(self, supervisor: Supervisor, work: Path, users: Iterable[str]) -> None:
        self._assets = require(CONTROL_PLANE)
        self.tokens = make_tokens((ADMIN, *users))
        certificates = ensure_certificates(work / "certificates")
        ports = Ports(*(take_free_port() for _ in Ports._fields))
        plane = ControlPlane(self._assets, work / "plane", ports, certificates, self.tokens)
        self._kubeconfig = plane.kubeconfig
        self._stands: dict[str, tuple[Start, Object]] = {}
        for part in (plane.etcd(), plane.apiserver(), plane.controller_manager()):
            supervisor.start(part)
        self.wire = Wire(plane.admin)

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the admin."""
        command = [str(self._assets / "kubectl"), "--kubeconfig", str(self._kubeconfig), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=KUBECTL_S_MAX, check=False)

    def expect(self, method: str, path: str, body: object = None, content_type: str = JSON) -> Object:
        """Do something as the admin that has to succeed."""
        status, answer = self.wire.send(self.tokens[ADMIN], Request(method, path, body, content_type))
        assert status < 300, f"{method} {path}: {status} {answer.get('message')}"
        return answer

    def ensure(self, path: str, body: Object) -> None:
        """Create an object; one of that name that is there already is as good."""
        status, answer = self.wire.send(self.tokens[ADMIN], Request("POST", path, body))
        assert status in (201, 409), answer

    def prepare(self) -> None:
        """Create the Nodes, an Event of somebody else, and everybody's rights."""
        for name in (NODE, OTHER_NODE):
            self.ensure(NODES, {"metadata": {"name": name}})
        node = self.expect("GET", f"{NODES}/{NODE}")
        self.ensure(EVENTS, build_event(node) | {"metadata": {"name": STANDING}})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "everything"}
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": EVERYBODY}
        binding = {"metadata": {"name": "everything"}, "roleRef": role, "subjects": [group]}
        self.ensure(f"{RBAC}/clusterroles", {"metadata": {"name": "everything"}, "rules": EVERYTHING})
        self.ensure(f"{RBAC}/clusterrolebindings", binding)

    def settle(self, name: str, start: Start) -> Object:
        """Make a Node say just that, and return it; its uid stays."""
        stands = self._stands.get(name)
        if stands is not None and stands[0] == start:
            return stands[1]
        node = self.expect("GET", f"{NODES}/{name}")
        node["metadata"] |= {
            "labels": start.labels,
            "annotations": start.annotations,
            "finalizers": ["example.com/guard"],
            "ownerReferences": None,
            "managedFields": [{}],
        }
        del node["metadata"]["resourceVersion"]
        node["spec"] = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
        node = self.expect("PUT", f"{NODES}/{name}", node)
        for manager, labels, annotations in start.applied:
            metadata = {"name": name, "labels": labels, "annotations": annotations}
            applied = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
            node = self.expect("PATCH", f"{NODES}/{name}?fieldManager={manager}&force=true", applied, APPLY)
        self._stands[name] = (start, node)
        return node

    def ask(self, actor: Actor, request: Request) -> Answer:
        """Send a request that may change the Node."""
        self._stands.pop(actor.node, None)
        return self._send(actor, request)

    def ask_dry(self, actor: Actor, row: Row) -> Answer:
        """Send a row's request from its start, as a dry run."""
        node = self.settle(actor.node, row.start)
        return self._send(actor, row.build(node).as_dry_run())

    def probe(self, actor: Actor, annotation: str) -> list[str]:
        """Try to annotate Nodes, a status and Events, changing nothing; return the refusals."""
        notes = {"annotations": {annotation: "x"}}
        standing = {"metadata": {"name": STANDING, "namespace": "default", **notes}, "involvedObject": {}}
        new = {"metadata": {"generateName": "x", "namespace": "default", **notes}, "involvedObject": {}}
        requests = (
            Request("PATCH", f"{NODES}/{NODE}", {"metadata": notes}, MERGE),
            Request("PATCH", f"{NODES}/{NODE}/status", {"metadata": notes}, MERGE),
            Request("POST", NODES, {"metadata": {"name": "new", **notes}}),
            Request("PUT", f"{EVENTS}/{STANDING}", standing),
            Request("POST", EVENTS, new),
        )
        return [self._send(actor, request.as_dry_run()).message for request in requests]

    def _send(self, actor: Actor, request: Request) -> Answer:
        status, answer = self.wire.send(actor.token, request)
        return Answer(status, str(answer.get("message", "")) if status >= 300 else "")

    def bind_to_pod(self, account: str, node: str) -> str:
        """Put a Pod on a Node, as a DaemonSet does, and return its token."""
        name = f"{account}-on-{node}"
        containers = [{"name": "agent", "image": "agent"}]
        spec = {"nodeName": node, "serviceAccountName": account, "containers": containers}
        self.ensure(f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": {"name": name}, "spec": spec})
        return self.request_token(account, {"apiVersion": "v1", "kind": "Pod", "name": name})

    def request_token(self, account: str, bound_to: Object | None = None) -> str:
        """Ask for a token of a service account, bound to an object or to nothing."""
        spec = {} if bound_to is None else {"boundObjectRef": bound_to}
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        return str(self.expect("POST", path, {"spec": spec})["status"]["token"])


def wait_until(holds: Callable[[], Any], what: str) -> None:
    """Look again and again until it holds; the one place here that polls."""
    until = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < until, f"not within {WAIT_S_MAX} s: {what}"
        time.sleep(LOOK_S)
