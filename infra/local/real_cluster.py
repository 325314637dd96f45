"""Kubernetes' own control plane as the local pipeline's cluster: our manifests applied, their policies in force.

Each agent has a Pod of the DaemonSet, put on its Node by the scheduler, and a token bound to that Pod. There is no
kubelet, so the agents themselves are processes of the pipeline, and their Pods stay pending.
"""

import fcntl
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from infra.layout import REPOSITORY
from infra.local.bound_tokens import BoundTokens, find_agent_pod, request_token
from infra.local.certificates import ensure_certificates
from infra.local.cluster_access import MERGE_PATCH, ClusterAccess, ClusterError
from infra.local.control_plane import ControlPlane, Ports
from infra.local.demo_objects import NODES, SICK_NODE, create_objects
from infra.local.identities import ARCHIVE_REPORT, DESK, WRITE_STATUS, build_identities, make_tokens
from infra.local.part import Definition
from infra.local.supervisor import say_nothing
from infra.parts.catalogue import CONTROL_PLANE, require

MANIFESTS = REPOSITORY / "infra" / "kubernetes"
MINOR_MIN = 30
"""Kubernetes 1.30 has ValidatingAdmissionPolicy v1, and says in a Pod's token on which node that Pod runs."""

EVENTS = "/api/v1/namespaces/default/events"
DENIED_BY = "ValidatingAdmissionPolicy 'gpu-report-{}'"
"""What the apiserver's answer to a request says that a policy of ours refuses."""

APPLY_S_MAX = 60.0
FURNISH_S_MAX = 30.0
"""Seconds until policies and rights are in force and the scheduler has placed the agents' Pods; 2 were measured."""
LOOK_S = 0.05

Found = TypeVar("Found")


class Probe(NamedTuple):
    """A request that shows by its answer that a right or a policy is in force; it changes nothing."""

    access: ClusterAccess
    method: str
    path: str
    body: object
    want: str
    """The status code, or a part of the message."""

    def is_answered(self) -> bool:
        """Ask, and say whether the answer is as wanted."""
        content_type = MERGE_PATCH if self.method == "PATCH" else "application/json"
        status, answer = self.access.call(self.method, self.path, self.body, content_type)
        return self.want == str(status) or self.want in str(answer.get("message", ""))


class RealCluster:
    """etcd, kube-apiserver, kube-scheduler and kube-controller-manager; `CannotBring` when they are not here."""

    def __init__(self, work: Path, ports: Ports, say: Callable[[str], None] = say_nothing) -> None:
        self._assets = require(CONTROL_PLANE)
        folder = work / "control-plane"
        clear_stale_data(folder)
        tokens = make_tokens()
        self.control_plane = ControlPlane(
            self._assets, folder, ports, ensure_certificates(work / "certificates"), tokens
        )
        admin = self.control_plane.admin
        self.identities = build_identities(admin.server, admin.ca_file, tokens)
        self._say = say
        self._tokens = BoundTokens(self.identities.admin)

    def list_groups(self) -> Sequence[Sequence[Definition]]:
        """Define the parts; the reverse of this order is the one in which they can end: without etcd nothing can."""
        plane = self.control_plane
        return [[plane.etcd()], [plane.apiserver()], [plane.scheduler(), plane.controller_manager()]]

    def furnish(self) -> None:
        """Apply the manifests, create the demonstration's objects, and wait until all of it is in force."""
        admin, began = self.identities.admin, time.monotonic()
        version = check_version(admin)
        self._apply_manifests()
        _bind_desk(admin)
        create_objects(admin)
        for probe in self._build_probes():
            _wait_until(probe.is_answered, f"{probe.want!r} in the answer to {probe.method} {probe.path}")
        for node in NODES:
            _wait_until(partial(find_agent_pod, admin, node), f"an agent's Pod on {node}")
        took_s = time.monotonic() - began
        self._say(f"Kubernetes {version}: policies in force, agents' Pods scheduled in {took_s:.1f} s")

    def restore(self, revived: Collection[str]) -> None:
        """Nothing is lost: etcd keeps all in its folder."""

    def find_new_token(self, node: str) -> str | None:
        """Return a token bound to the Pod of the node's agent, when one is due."""
        return self._tokens.find_new(node)

    def clear(self) -> None:
        """Nothing of it outlives its parts."""

    def _apply_manifests(self) -> None:
        """Apply the folder with kubectl: the DaemonSet comes after the rights and their policies."""
        command = [
            *(str(self._assets / "kubectl"), "apply", "-k", str(MANIFESTS)),
            *("--kubeconfig", str(self.control_plane.kubeconfig)),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=APPLY_S_MAX, check=False)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"kubectl apply -k {MANIFESTS} took more than {APPLY_S_MAX:.0f} s") from None
        if done.returncode != 0:
            raise ClusterError(f"kubectl apply -k {MANIFESTS}: {done.stderr.strip()[-1000:]}")

    def _build_probes(self) -> list[Probe]:
        agent = self.identities.admin._replace(token=request_token(self.identities.admin).text)
        functions, node = self.identities.functions, f"/api/v1/nodes/{SICK_NODE}"
        change = {"metadata": {"annotations": {"example.com/probe": "1"}}}
        event = {"metadata": {"name": "probe"}, "involvedObject": {"kind": "Node", "name": SICK_NODE}}
        return [
            Probe(agent, "PATCH", f"{node}?dryRun=All", change, DENIED_BY.format("agent")),
            Probe(agent, "POST", f"{EVENTS}?dryRun=All", event, DENIED_BY.format("agent-events")),
            Probe(functions[WRITE_STATUS], "PATCH", f"{node}?dryRun=All", change, DENIED_BY.format("write-status")),
            Probe(functions[ARCHIVE_REPORT], "GET", node, None, "200"),
            Probe(self.identities.desk, "GET", "/api/v1/nodes?limit=1", None, "200"),
        ]


def check_version(cluster: ClusterAccess) -> str:
    """Return the apiserver's version; `ClusterError` names what is missing when the manifests need a newer one."""
    version = cluster.expect("GET", "/version")
    major, minor = (re.sub(r"\D.*", "", str(version.get(part, ""))) for part in ("major", "minor"))
    if (int(major or 0), int(minor or 0)) < (1, MINOR_MIN):
        raise ClusterError(
            f"{cluster.server} is Kubernetes {major}.{minor}: infra/kubernetes needs 1.{MINOR_MIN}, for"
            " ValidatingAdmissionPolicy v1 and the node in a Pod's token (authentication.kubernetes.io/node-name)"
        )
    return str(version.get("gitVersion", ""))


def clear_stale_data(folder: Path) -> None:
    """Remove what an earlier control plane left in a folder; `ClusterError` when its etcd still runs."""
    database = folder / "etcd" / "member" / "snap" / "db"
    if database.exists():
        with database.open("rb") as file:
            try:
                # etcd holds this lock as long as it runs.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(
                    f"the etcd of an earlier run still uses {folder}: end it, or use another --work"
                ) from None
    shutil.rmtree(folder, ignore_errors=True)


def _bind_desk(admin: ClusterAccess) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gpu-report-desk"}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DESK}
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "gpu-report-desk"},
        "roleRef": role,
        "subjects": [user],
    }
    admin.expect("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


def _wait_until(find: Callable[[], Found], what: str) -> Found:
    until = time.monotonic() + FURNISH_S_MAX
    while not (found := find()):
        if time.monotonic() > until:
            raise ClusterError(f"{what}: not in {FURNISH_S_MAX:.0f} s")
        time.sleep(LOOK_S)
    return found
