"""The whole pipeline on one machine: which parts there are, how they are configured, in which order they start.

The one place that wires the local side. What a part does stands in its own folder.
"""

import http.client
import json
import re
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from infra.layout import REPOSITORY, STAND_IN_SCRIPT, lay_agent_home, lay_bundle, lay_finish_home
from infra.local import topology
from infra.local.certificates import ensure_certificates
from infra.local.cluster_access import ClusterAccess, read_kubeconfig, write_kubeconfig, write_secret
from infra.local.demo_objects import NODES, create_objects, remove_objects
from infra.local.part import Definition
from infra.local.supervisor import Supervisor, say_nothing

HOST = "127.0.0.1"
CLUSTER = "local"

ARCHIVE_REPORT = "archive_report"
WRITE_STATUS = "write_status"
FUNCTIONS = (ARCHIVE_REPORT, WRITE_STATUS)

APISERVER = "apiserver"
PUBSUB = "pubsub"
STORAGE = "storage"

BARE_PYTHON = str(getattr(sys, "_base_executable", sys.executable))
"""The interpreter without the virtual environment: what an agent runs on."""

PROBE_S_MAX = 1.0

_READY = re.compile(r"^ready (\S+)$", re.MULTILINE)
_AGENT_READY = re.compile(r'"event": ?"watching"')


class Settings(NamedTuple):
    """What a user may choose of the local pipeline."""

    work: Path
    """Folder of everything it writes; logs are in `logs/`."""
    script: Path = STAND_IN_SCRIPT
    timeout_s: float = 60.0
    emulator: bool = False
    """Use Google's Pub/Sub emulator in place of the broker."""
    kubeconfig: Path | None = None
    """Use this cluster in place of the stand-in: the demonstration's objects are put there, and removed at the end."""
    delivery_backoff_s: float = 30.0


class Pipeline:
    """The running pipeline; a context manager. After `start`, its addresses and files are attributes."""

    def __init__(self, settings: Settings, say: Callable[[str], None] = say_nothing) -> None:
        self.settings = settings
        self.supervisor = Supervisor(settings.work / "logs", say)
        self.admin: ClusterAccess
        self._created: list[str] = []
        self.kubeconfig = settings.work / "kubeconfig"
        self.pubsub = ""
        self.storage = ""
        self._ports = {name: take_free_port() for name in (APISERVER, PUBSUB, STORAGE, *FUNCTIONS)}

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_error: object) -> None:
        self.supervisor.stop_all()
        if self.settings.kubeconfig is not None:
            remove_objects(self.admin, self._created)

    def start(self) -> None:
        """Start all parts; `PartFailed`, `ClusterError` or `OSError` say what was not to be had."""
        self._start_servers()
        self._lay_folders()
        topology.ensure_topics(self.pubsub)
        topology.ensure_buckets(self.storage)
        self._created = create_objects(self.admin)
        self.supervisor.start(*(self._function(name) for name in FUNCTIONS))
        self._ensure_subscriptions()
        self.supervisor.start(*(self._agent(node) for node in NODES))

    def revive(self) -> None:
        """Restart what has ended by itself; cluster and Pub/Sub hold all in memory, so they are furnished anew."""
        revived = self.supervisor.revive()
        if APISERVER in revived:
            create_objects(self.admin)
        if PUBSUB in revived:
            topology.ensure_topics(self.pubsub)
            self._ensure_subscriptions()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which Google's clients and kubectl find this pipeline."""
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "PUBSUB_EMULATOR_HOST": self.pubsub,
            "STORAGE_EMULATOR_HOST": self.storage,
            "GOOGLE_CLOUD_PROJECT": topology.PROJECT,
        }

    def function_url(self, name: str) -> str:
        """Return where a function is served."""
        return f"http://{HOST}:{self._ports[name]}/"

    def reports_folder(self, node: str) -> Path:
        """Return the reports folder of a node."""
        return self.settings.work / "nodes" / node / "reports"

    def _ensure_subscriptions(self) -> None:
        topology.ensure_subscriptions(self.pubsub, *(self.function_url(name) for name in FUNCTIONS))

    def _start_servers(self) -> None:
        work, settings = self.settings.work, self.settings
        emulator = ("infra.local.pubsub.emulator", "--log-file", str(self.supervisor.log_path("emulator")))
        servers = [
            self._server(PUBSUB, *(emulator if settings.emulator else ("infra.local.pubsub",))),
            self._server(STORAGE, "infra.local.gcs_proxy", "--root", str(work / "storage")),
        ]
        if settings.kubeconfig is not None:
            self.admin = read_kubeconfig(settings.kubeconfig)
            self._agent_tokens = dict.fromkeys(NODES, self.admin.token)
            functions = self.admin
            self.pubsub, self.storage = (part.address for part in self.supervisor.start(*servers))
        else:
            certificates = ensure_certificates(work / "certificates")
            tokens = {user: secrets.token_hex(16) for user in ("admin", "functions", *NODES)}
            write_secret(work / "tokens.csv", "".join(_token_line(user, token) for user, token in tokens.items()))
            tls = ("--tls-cert", str(certificates.cert), "--tls-key", str(certificates.key))
            token_file = ("--tokens", str(work / "tokens.csv"))
            apiserver = self._server(APISERVER, "infra.local.apiserver", *tls, *token_file)
            server, self.pubsub, self.storage = (part.address for part in self.supervisor.start(apiserver, *servers))
            self.admin = ClusterAccess(server, str(certificates.ca), tokens["admin"])
            self._agent_tokens = {node: tokens[node] for node in NODES}
            functions = self.admin._replace(token=tokens["functions"])
        write_kubeconfig(self.kubeconfig, self.admin)
        self._clusters = write_secret(
            work / "clusters.json",
            json.dumps({CLUSTER: {"kubeconfig": str(write_kubeconfig(work / "functions.kubeconfig", functions))}}),
        )

    def _server(self, name: str, module: str, *arguments: str) -> Definition:
        """Define a server of ours; its port stays the same when it is restarted."""
        command = [sys.executable, "-m", module, "--port", str(self._ports[name]), *arguments]
        return Definition(name, command, ready=_READY, folder=REPOSITORY)

    def _lay_folders(self) -> None:
        lay_bundle(self.settings.work / "bundle")
        lay_agent_home(self.settings.work / "agent-home")
        lay_finish_home(self.settings.work / "finish-home")

    def _function(self, name: str) -> Definition:
        port = self._ports[name]
        return Definition(
            name=name,
            command=[
                *(sys.executable, "-m", "functions_framework", "--target", name, "--signature-type", "http"),
                *("--source", "main.py", "--host", HOST, "--port", str(port)),
            ],
            environment={
                **self.environment,
                "STAGING_BUCKET": topology.STAGING,
                "ARCHIVE_BUCKET": topology.ARCHIVE,
                "CLUSTERS": f"@{self._clusters}",
            },
            probe=lambda: _answers(port),
            folder=self.settings.work / "bundle",
        )

    def _agent(self, node: str) -> Definition:
        work, settings = self.settings.work, self.settings
        token_file = write_secret(work / "nodes" / node / "token", self._agent_tokens[node])
        options = {
            "--node-name": node,
            "--cluster": CLUSTER,
            "--apiserver": self.admin.server,
            "--token-file": str(token_file),
            "--host-root": "/",
            "--reports-dir": str(self.reports_folder(node)),
            "--script": str(settings.script.resolve()),
            "--timeout": f"{settings.timeout_s:g}",
            "--finish-python": sys.executable,
            "--finish-home": str(work / "finish-home"),
            "--project": topology.PROJECT,
            "--staging-bucket": topology.STAGING,
            "--delivery-backoff": f"{settings.delivery_backoff_s:g}",
            **({"--ca-file": self.admin.ca_file} if self.admin.ca_file else {}),
        }
        return Definition(
            name=agent_name(node),
            command=[
                *(BARE_PYTHON, "-I", "-S", str(work / "agent-home"), "run"),
                *(word for option in options.items() for word in option),
            ],
            environment=self.environment,
            ready=_AGENT_READY,
        )


def agent_name(node: str) -> str:
    """Return the name of the part that is a node's agent."""
    return f"agent-{node}"


def take_free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _token_line(user: str, token: str) -> str:
    """One line of a static token file: token, user name, user id, groups (kube-apiserver --token-auth-file)."""
    groups = "system:masters" if user == "admin" else ""
    return f'{token},{user},{user},"{groups}"\n'


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=PROBE_S_MAX)
    try:
        # functions-framework answers this path itself: no function sees it, and no log line comes of it.
        connection.request("GET", "/robots.txt")
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
