"""The laid bundle behind the real framework, and the servers that it talks to, one process each."""

import json
import re
import socket
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from infra.layout import lay_bundle
from infra.local import topology
from infra.local.cluster_access import ClusterAccess, write_kubeconfig
from infra.local.part import Definition, Part

READY = re.compile(r"^ready (?:http://)?(\S+)$", re.MULTILINE)


class Function:
    """One served entry point; `lines` are what it logged so far."""

    def __init__(self, part: Part, port: int) -> None:
        self.part = part
        self.port = port

    def ask(self, method: str, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, "/", body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        return self.ask("POST", body, headers)[0]

    @property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.part.log.read_text().splitlines()]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "bundle"
    lay_bundle(folder)
    return folder


@pytest.fixture
def start(tmp_path):
    """Start parts; all of them are ended with the test."""
    with ExitStack() as started:

        def start_part(definition: Definition) -> Part:
            part = Part(definition, tmp_path / f"{definition.name}.log")
            started.callback(part.stop)
            part.wait_ready()
            return part

        yield start_part


@pytest.fixture
def serve(start, bundle):
    """Serve one function of the bundle with the given environment, as the cloud does."""

    def serve_function(name: str, environment: dict[str, str] | None = None) -> Function:
        port = _find_free_port()
        command = [sys.executable, "-I", "-m", "functions_framework", "--target", name, "--signature-type", "http"]
        command += ["--source", "main.py", "--host", "127.0.0.1", "--port", str(port)]
        part = start(Definition(name, command, environment or {}, probe=lambda: _is_listening(port), folder=bundle))
        return Function(part, port)

    return serve_function


class Servers(NamedTuple):
    """Stand-ins for everything outside, and the environment by which a function finds them."""

    apiserver: ClusterAccess
    environment: dict[str, str]


@pytest.fixture
def servers(start, tmp_path) -> Servers:
    parts = {
        name: start(Definition(name, [sys.executable, "-m", f"infra.local.{name}", *options], ready=READY))
        for name, options in {
            "apiserver": [],
            "pubsub": [],
            "gcs_proxy": ["--root", str(tmp_path / "buckets")],
        }.items()
    }
    apiserver = ClusterAccess(f"http://{parts['apiserver'].address}", "", "any")
    topology.ensure_topics(parts["pubsub"].address)
    topology.ensure_buckets(f"http://{parts['gcs_proxy'].address}")
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", apiserver)
    return Servers(
        apiserver,
        {
            "GOOGLE_CLOUD_PROJECT": topology.PROJECT,
            "STAGING_BUCKET": topology.STAGING,
            "ARCHIVE_BUCKET": topology.ARCHIVE,
            "CLUSTERS": json.dumps({"prod": {"kubeconfig": str(kubeconfig)}}),
            "PUBSUB_EMULATOR_HOST": parts["pubsub"].address,
            "STORAGE_EMULATOR_HOST": f"http://{parts['gcs_proxy'].address}",
        },
    )


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
