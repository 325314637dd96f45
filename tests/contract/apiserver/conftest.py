"""The servers and the client that the suite of kube-apiserver's answers uses.

By default each test file gets a stand-in of its own. GPUREPORT_APISERVER names another server (a URL), with
GPUREPORT_APISERVER_TOKEN and GPUREPORT_APISERVER_CA, for the tests that do not need the hooks of the stand-in.
"""

import json
import os
import signal
import ssl
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from infra.local.certificates import ensure_certificates

ROOT = Path(__file__).resolve().parents[3]
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Server(NamedTuple):
    """One server and how to talk to it."""

    url: str
    token: str = ""
    ca: Path | None = None
    pid: int = 0

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


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    """Start stand-ins as processes; each is stopped, and must end within a second, when the session is over."""
    with ExitStack() as stack:

        def start(*options: str, token: str = "", ca: Path | None = None) -> Server:
            command = [sys.executable, "-m", "infra.local.apiserver", "--port", "0", *options]
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
            stack.callback(process.wait, 5)
            stack.callback(process.send_signal, signal.SIGTERM)
            assert process.stdout is not None
            word, _, url = process.stdout.readline().strip().partition(" ")
            assert word == "ready"
            return Server(url, token, ca, process.pid)

        yield start


@pytest.fixture(scope="module")
def standin(start_server: Callable[..., Server]) -> Server:
    """A stand-in over HTTP that lets every request in."""
    return start_server()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def tls_standin(
    start_server: Callable[..., Server], certificates: Any, tmp_path_factory: pytest.TempPathFactory
) -> Server:
    """A stand-in over TLS that lets one token in."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.csv"
    tokens.write_text("secret-of-admin,admin,1\n")
    options = ["--tls-cert", str(certificates.cert), "--tls-key", str(certificates.key), "--tokens", str(tokens)]
    return start_server(*options, token="secret-of-admin", ca=certificates.ca)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Server:
    """The server under test: the stand-in, or the one that the environment names."""
    url = os.environ.get("GPUREPORT_APISERVER", "")
    if not url:
        return request.getfixturevalue("standin")
    ca = os.environ.get("GPUREPORT_APISERVER_CA")
    return Server(url.rstrip("/"), os.environ.get("GPUREPORT_APISERVER_TOKEN", ""), Path(ca) if ca else None)


@pytest.fixture
def node(server: Server) -> Iterator[str]:
    """The path of a fresh Node with the label role=gpu and the annotation a=1."""
    name = f"node-{uuid.uuid4().hex[:8]}"
    metadata = {"name": name, "labels": {"role": "gpu"}, "annotations": {"a": "1"}}
    assert server.ask("POST", "/api/v1/nodes", {"metadata": metadata}).status == 201
    yield f"/api/v1/nodes/{name}"
    server.ask("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def bare_node(server: Server) -> Iterator[str]:
    """The path of a fresh Node without annotations."""
    name = f"bare-{uuid.uuid4().hex[:8]}"
    assert server.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}}).status == 201
    yield f"/api/v1/nodes/{name}"
    server.ask("DELETE", f"/api/v1/nodes/{name}")
