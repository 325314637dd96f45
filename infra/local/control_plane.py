"""A real Kubernetes control plane as parts of the local pipeline: etcd, kube-apiserver, scheduler, controller-manager.

There is no kubelet: Nodes are objects, and a Pod on one of them stays as it was scheduled. The binaries come from
`make parts PART=control-plane`. How they are used for the pipeline stands in `real_cluster`.
"""

import json
import re
import signal
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from infra.local.certificates import CertificatePaths
from infra.local.cluster_access import ClusterAccess, write_kubeconfig, write_secret
from infra.local.identities import ADMIN, format_token_file
from infra.local.part import HOST, Definition

ETCD = "etcd"
APISERVER = "kube-apiserver"
SCHEDULER = "kube-scheduler"
CONTROLLER_MANAGER = "kube-controller-manager"

PROBE_S_MAX = 2.0

SERVING = re.compile("Serving securely on")
"""A part of Kubernetes has its port; the answer alone could be another's that was there before."""

CONTROLLERS = (
    "daemonset-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "resourcequota-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "validatingadmissionpolicy-status-controller",
)
"""What the pipeline's manifests need of kube-controller-manager."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class Ports(NamedTuple):
    """The ports of one control plane on 127.0.0.1."""

    etcd: int
    etcd_peer: int
    apiserver: int
    scheduler: int
    controller_manager: int


class ControlPlane:
    """Defines the parts of one control plane whose files lie in one folder."""

    def __init__(
        self, assets: Path, work: Path, ports: Ports, certificates: CertificatePaths, users: Mapping[str, str]
    ) -> None:
        self._assets = assets
        self._work = work
        self._ports = ports
        self._certificates = certificates
        self.audit_log = work / "audit.log"
        self.kubeconfig = work / "kubeconfig"
        self.admin = ClusterAccess(f"https://{HOST}:{ports.apiserver}", str(certificates.ca), users[ADMIN])
        self._write_files(users)

    def etcd(self) -> Definition:
        """Define etcd; its data is gone with the folder, so nothing waits for the disk."""
        client, peer = f"http://{HOST}:{self._ports.etcd}", f"http://{HOST}:{self._ports.etcd_peer}"
        return Definition(
            ETCD,
            [
                *(str(self._assets / "etcd"), "--data-dir", str(self._work / "etcd"), "--unsafe-no-fsync"),
                *("--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer),
                *("--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
            ],
            ready=re.compile("ready to serve client requests"),
            probe=_answers(f"{client}/health", None),
        )

    def apiserver(self) -> Definition:
        """Define kube-apiserver: RBAC, admission policies, token requests, an audit log."""
        key = str(self._work / "service-account.key")
        return Definition(
            APISERVER,
            [
                *(str(self._assets / "kube-apiserver"), "--etcd-servers", f"http://{HOST}:{self._ports.etcd}"),
                *("--bind-address", HOST, "--secure-port", str(self._ports.apiserver)),
                *(
                    "--tls-cert-file",
                    str(self._certificates.cert),
                    "--tls-private-key-file",
                    str(self._certificates.key),
                ),
                *("--cert-dir", str(self._work / "certs"), "--service-cluster-ip-range", "10.0.0.0/24"),
                *("--service-account-key-file", key, "--service-account-signing-key-file", key),
                *("--service-account-issuer", "https://kubernetes.default.svc"),
                *(
                    "--authorization-mode",
                    "RBAC,Node",
                    "--allow-privileged=true",
                    "--token-auth-file",
                    str(self._work / "tokens.csv"),
                ),
                *("--audit-policy-file", str(self._work / "audit-policy.json")),
                *("--audit-log-path", str(self.audit_log), "--enable-priority-and-fairness=false"),
            ],
            ready=SERVING,
            # Without etcd, which gets its signal at the same moment, it would not end for minutes after SIGTERM.
            orphan_signal=signal.SIGKILL,
            probe=_answers(f"{self.admin.server}/readyz", self._certificates.ca),
        )

    def scheduler(self) -> Definition:
        """Define kube-scheduler."""
        port = self._ports.scheduler
        return Definition(
            SCHEDULER,
            [
                *(str(self._assets / "kube-scheduler"), "--kubeconfig", str(self.kubeconfig), "--bind-address", HOST),
                *("--secure-port", str(port), "--leader-elect=false", "--cert-dir", str(self._work / "certs")),
            ],
            ready=SERVING,
            probe=_answers(f"https://{HOST}:{port}/healthz", None),
        )

    def controller_manager(self) -> Definition:
        """Define kube-controller-manager with the controllers that are needed."""
        port = self._ports.controller_manager
        return Definition(
            CONTROLLER_MANAGER,
            [
                *(str(self._assets / "kube-controller-manager"), "--kubeconfig", str(self.kubeconfig)),
                *("--bind-address", HOST, "--secure-port", str(port), "--leader-elect=false"),
                *("--cert-dir", str(self._work / "certs"), "--controllers", ",".join(CONTROLLERS)),
                *("--root-ca-file", str(self._certificates.ca)),
                *("--service-account-private-key-file", str(self._work / "service-account.key")),
            ],
            ready=SERVING,
            probe=_answers(f"https://{HOST}:{port}/healthz", None),
        )

    def _write_files(self, users: Mapping[str, str]) -> None:
        self._work.mkdir(parents=True, exist_ok=True)
        write_secret(self._work / "tokens.csv", format_token_file(users))
        write_secret(self._work / "audit-policy.json", json.dumps(AUDIT_POLICY))
        write_secret(self._work / "service-account.key", _make_key())
        write_kubeconfig(self.kubeconfig, self.admin)


def _make_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()


def _answers(url: str, ca: Path | None) -> Callable[[], bool]:
    """Build a probe that asks whether this URL answers 200."""
    if ca is None:
        # The parts' own health ports have certificates of their own making; nothing is sent to them but this.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context = ssl.create_default_context(cafile=str(ca))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def probe() -> bool:
        try:
            with opener.open(url, timeout=PROBE_S_MAX) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    return probe
