"""The whole pipeline on one machine: which parts there are, how they are configured, in which order they start.

The one place that wires the local side. What a part does stands in its own folder.
"""

import http.client
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from infra.layout import REPOSITORY, STAND_IN_SCRIPT, lay_agent_home, lay_bundle, lay_finish_home
from infra.local import topology
from infra.local.cluster_access import ClusterError, write_kubeconfig, write_secret
from infra.local.clusters import APISERVER, Cluster, GivenCluster, StandInCluster
from infra.local.control_plane import Ports
from infra.local.demo_objects import NODES
from infra.local.identities import FUNCTIONS
from infra.local.part import HOST, READY_LINE, Definition, take_free_ports
from infra.local.real_cluster import RealCluster
from infra.local.supervisor import Supervisor, say_nothing

CLUSTER = "local"

STAND_IN = "stand-in"
REAL = "real"
CLUSTERS = (STAND_IN, REAL)

PUBSUB = "pubsub"
STORAGE = "storage"

BARE_PYTHON = str(getattr(sys, "_base_executable", sys.executable))
"""The interpreter without the virtual environment: what an agent runs on."""

PROBE_S_MAX = 1.0

_AGENT_READY = re.compile(r'"event": ?"watching"')


class Settings(NamedTuple):
    """What a user may choose of the local pipeline."""

    work: Path
    """Folder of everything it writes; logs are in `logs/`."""
    script: Path = STAND_IN_SCRIPT
    timeout_s: float = 60.0
    emulator: bool = False
    """Use Google's Pub/Sub emulator in place of the broker."""
    cluster: str = STAND_IN
    """`STAND_IN`, or `REAL` for a control plane of Kubernetes itself."""
    kubeconfig: Path | None = None
    """Use this cluster in place of one of ours: the demonstration's objects are put there, and removed at the end."""
    delivery_backoff_s: float = 30.0


class Pipeline:
    """The running pipeline; a context manager. After `start`, its addresses and files are attributes."""

    def __init__(self, settings: Settings, say: Callable[[str], None] = say_nothing) -> None:
        self.settings = settings
        self._say = say
        self.supervisor = Supervisor(settings.work / "logs", say)
        self.kubeconfig = settings.work / "kubeconfig"
        self.desk_kubeconfig = settings.work / "desk.kubeconfig"
        self.pubsub = ""
        self.storage = ""
        names = (APISERVER, PUBSUB, STORAGE, *FUNCTIONS)
        free = iter(take_free_ports(len(names) + len(Ports._fields)))
        self._ports = {name: next(free) for name in names}
        self._control_plane_ports = Ports(*free)
        self.cluster = self._open_cluster()
        self.admin = self.cluster.identities.admin

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_error: object) -> None:
        self.supervisor.stop_all()
        self.cluster.clear()

    def start(self) -> None:
        """Start all parts; `PartFailed`, `ClusterError` or `OSError` say what was not to be had."""
        self._start_servers()
        self._lay_folders()
        topology.ensure_topics(self.pubsub)
        topology.ensure_buckets(self.storage)
        self.cluster.furnish()
        self._write_kubeconfigs()
        self._write_tokens()
        self.supervisor.start(*(self._function(name) for name in FUNCTIONS))
        self._ensure_subscriptions()
        self.supervisor.start(*(self._agent(node) for node in NODES))

    def revive(self) -> None:
        """Restart what has ended by itself, put back what it held in memory alone, renew tokens before they expire."""
        revived = self.supervisor.revive()
        self.cluster.restore(revived)
        try:
            self._write_tokens()
        except ClusterError as error:
            self._say(f"agents keep their tokens for now: {error}")
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

    def token_file(self, node: str) -> Path:
        """Return the file that holds the token of a node's agent."""
        return self.settings.work / "nodes" / node / "token"

    def _open_cluster(self) -> Cluster:
        settings = self.settings
        if settings.kubeconfig is not None:
            return GivenCluster(settings.kubeconfig)
        if settings.cluster == REAL:
            return RealCluster(settings.work, self._control_plane_ports, self._say)
        return StandInCluster(settings.work, self._ports[APISERVER])

    def _ensure_subscriptions(self) -> None:
        topology.ensure_subscriptions(self.pubsub, *(self.function_url(name) for name in FUNCTIONS))

    def _start_servers(self) -> None:
        emulator = ("infra.local.pubsub.emulator", "--log-file", str(self.supervisor.log_path("emulator")))
        servers = [
            self._server(PUBSUB, *(emulator if self.settings.emulator else ("infra.local.pubsub",))),
            self._server(STORAGE, "infra.local.gcs_proxy", "--root", str(self.settings.work / "storage")),
        ]
        first, *others = self.cluster.list_groups() or [[]]
        self.pubsub, self.storage, *_ = (part.address for part in self.supervisor.start(*servers, *first))
        for group in others:
            self.supervisor.start(*group)

    def _write_kubeconfigs(self) -> None:
        """Give everyone a kubeconfig of their own, and each function a cluster map that names its."""
        work, identities = self.settings.work, self.cluster.identities
        write_kubeconfig(self.kubeconfig, identities.admin)
        write_kubeconfig(self.desk_kubeconfig, identities.desk)
        for name, access in identities.functions.items():
            kubeconfig = write_kubeconfig(work / f"{name}.kubeconfig", access)
            write_secret(self._cluster_map(name), json.dumps({CLUSTER: {"kubeconfig": str(kubeconfig)}}))

    def _cluster_map(self, function: str) -> Path:
        return self.settings.work / f"{function}.clusters.json"

    def _write_tokens(self) -> None:
        for node in NODES:
            token = self.cluster.find_new_token(node)
            if token is not None:
                write_secret(self.token_file(node), token)

    def _server(self, name: str, module: str, *arguments: str) -> Definition:
        """Define a server of ours; its port stays the same when it is restarted."""
        command = [sys.executable, "-m", module, "--port", str(self._ports[name]), *arguments]
        return Definition(name, command, ready=READY_LINE, folder=REPOSITORY)

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
                "CLUSTERS": f"@{self._cluster_map(name)}",
            },
            probe=lambda: _answers(port),
            folder=self.settings.work / "bundle",
        )

    def _agent(self, node: str) -> Definition:
        work, settings = self.settings.work, self.settings
        options = {
            "--node-name": node,
            "--cluster": CLUSTER,
            "--apiserver": self.admin.server,
            "--token-file": str(self.token_file(node)),
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
