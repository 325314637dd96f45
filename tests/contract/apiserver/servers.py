"""The two servers that the suite runs on, how a test talks to them, and where they differ."""

import base64
import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from infra.local.certificates import CertificatePaths, ensure_certificates
from infra.local.control_plane import ControlPlane, Ports
from infra.local.identities import ADMIN, format_token_file, make_tokens
from infra.local.part import HOST, take_free_ports
from infra.local.supervisor import Supervisor
from infra.parts.catalogue import CONTROL_PLANE, require

ROOT = Path(__file__).resolve().parents[3]
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
NOBODY = "nobody"
"""A user whom nobody gave a right."""
STOP_S_MAX = 5.0
ETCD_S_MAX = 10.0


class Traits(NamedTuple):
    """Where the stand-in differs on purpose, because nothing of ours could go wrong by it."""

    authorizes: bool
    """A known user needs rights; else everybody with a token may do all. The end-to-end tests have the real rights."""
    validates_specs: bool
    """Taints, containers and what may change in a Pod are checked; else a spec is stored as it comes. We write none."""
    fills_in_defaults: bool
    """A spec and a status have the members that nobody gave; what we read of them, seeded objects have."""
    keeps_deleted_pods: bool
    """A deleted Pod on a Node stays until its kubelet has ended it; else it goes at once."""
    applies_server_side: bool
    """Server-side apply is served; we use JSON patches alone."""
    warns: bool
    """An unknown member is told in a Warning header; both drop it."""
    records_managers: bool
    """Who wrote which member stands in metadata.managedFields; nothing of ours reads or writes that."""
    lists_the_past: bool
    """A LIST of exactly a resourceVersion shows that moment; else now. We page by `continue`, which both keep."""


STAND_IN = Traits(*[False] * len(Traits._fields))
KUBE_APISERVER = Traits(*[True] * len(Traits._fields))


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Server(NamedTuple):
    """One server and how to talk to it; `forget_history` makes every resourceVersion so far too old."""

    url: str
    token: str = ""
    ca: Path | None = None
    pid: int = 0
    traits: Traits = STAND_IN
    nobody: str = ""
    forget_history: Callable[[], None] | None = None

    def connect(self, timeout_s: float = 10) -> HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "http":
            return HTTPConnection(parts.netloc, timeout=timeout_s)
        return HTTPSConnection(parts.netloc, timeout=timeout_s, context=ssl.create_default_context(cafile=self.ca))

    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Reply:
        """Send one request on a connection of its own."""
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if raw is not None else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        with closing(self.connect()) as connection:
            connection.request(method, path, raw, headers)
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())

    def patch(self, path: str, *operations: dict[str, Any]) -> Reply:
        return self.ask("PATCH", path, list(operations), JSON_PATCH)

    def merge(self, path: str, patch: dict[str, Any]) -> Reply:
        return self.ask("PATCH", path, patch, MERGE_PATCH)

    def fail(self, match: str, status: int, **order: object) -> None:
        assert self.ask("POST", "/_local/fail", {"match": match, "status": status, **order}).status == 200

    def watch(self, path: str, **query: str) -> "WatchStream":
        return WatchStream(self, f"{path}?{urlencode({'watch': 'true', **query})}")


class WatchStream:
    """One open watch; every read is bounded by the time-out of its connection."""

    def __init__(self, server: Server, path: str, timeout_s: float = 10) -> None:
        self._connection = server.connect(timeout_s)
        self._connection.request(
            "GET", path, headers={"Authorization": f"Bearer {server.token}"} if server.token else {}
        )
        self._response = self._connection.getresponse()
        self.status = self._response.status

    def next(self) -> dict[str, Any] | None:
        """Read the next event; None at the end of the stream."""
        line = self._response.readline()
        return json.loads(line) if line else None

    def next_name(self) -> tuple[str, str]:
        event = self.next()
        assert event is not None, "the watch ended"
        return event["type"], event["object"]["metadata"].get("name", "")

    def set_timeout(self, timeout_s: float) -> None:
        self._connection.sock.settimeout(timeout_s)

    def __enter__(self) -> "WatchStream":
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()
        self._connection.close()


@contextmanager
def run_stand_in(*options: str, **told: Any) -> Iterator[Server]:
    """Serve in a process of its own until the block ends."""
    command = [sys.executable, "-m", "infra.local.apiserver", "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            word, _, url = process.stdout.readline().strip().partition(" ")
            assert word == "ready"
            yield Server(url, pid=process.pid, **told)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_S_MAX)


@contextmanager
def run_secure_stand_in(folder: Path, certificates: CertificatePaths) -> Iterator[Server]:
    """Serve over TLS those who have a token."""
    tokens = make_tokens((ADMIN, NOBODY))
    file = folder / "tokens.csv"
    file.write_text(format_token_file(tokens))
    options = ["--tls-cert", str(certificates.cert), "--tls-key", str(certificates.key), "--tokens", str(file)]
    with run_stand_in(*options, token=tokens[ADMIN], ca=certificates.ca, nobody=tokens[NOBODY]) as server:

        def compact() -> None:
            assert server.ask("POST", "/_local/compact").status == 200

        yield server._replace(forget_history=compact)


@contextmanager
def run_kube_apiserver(folder: Path) -> Iterator[Server]:
    """Serve etcd and kube-apiserver until the block ends; `CannotBring` says how to get them where they are not."""
    tokens = make_tokens((ADMIN, NOBODY))
    ports = Ports(*take_free_ports(len(Ports._fields)))
    certificates = ensure_certificates(folder / "certificates")
    plane = ControlPlane(require(CONTROL_PLANE), folder / "plane", ports, certificates, tokens)
    with Supervisor(folder / "logs") as supervisor:
        supervisor.start(plane.etcd())
        [part] = supervisor.start(plane.apiserver())

        def compact_and_restart() -> None:
            # The apiserver's own cache answers what etcd has forgotten, so it has to begin anew as well.
            compact_etcd(f"http://{HOST}:{ports.etcd}")
            supervisor.part(part.definition.name).kill()
            supervisor.restart(part.definition.name)

        server = Server(
            plane.admin.server,
            tokens[ADMIN],
            certificates.ca,
            part.pid,
            KUBE_APISERVER,
            tokens[NOBODY],
            compact_and_restart,
        )
        # What a controller would do; without it no Pod is admitted.
        assert server.ask("POST", ACCOUNTS, {"metadata": {"name": "default"}}).status == 201
        yield server


def compact_etcd(url: str) -> None:
    """Make etcd forget every revision but the newest."""
    newest = call_etcd(f"{url}/v3/kv/range", {"key": base64.b64encode(b"any").decode()})
    call_etcd(f"{url}/v3/kv/compaction", {"revision": newest["header"]["revision"], "physical": True})


def call_etcd(url: str, body: dict[str, object]) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, json.dumps(body).encode()), timeout=ETCD_S_MAX) as answer:
        return json.load(answer)
