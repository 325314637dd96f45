"""The servers, started once, and each test's own objects on them.

`server` is each in turn. `standin` is for the tests that need its hooks: each test file gets one of its own.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from infra.local.certificates import ensure_certificates
from tests.contract.apiserver.servers import Server, run_kube_apiserver, run_secure_stand_in, run_stand_in


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    """Start stand-ins as processes; all are stopped when the session is over."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(run_stand_in(*options))


@pytest.fixture(scope="module")
def standin(start_server: Callable[..., Server]) -> Server:
    """A stand-in over HTTP that lets every request in."""
    return start_server()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def tls_standin(certificates: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stand-in over TLS that knows an admin and a nobody by their tokens."""
    with run_secure_stand_in(tmp_path_factory.mktemp("tokens"), certificates) as running:
        yield running


@pytest.fixture(scope="session")
def kube_apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real kube-apiserver that knows the same two; where its binaries are missing, what needs it fails by name."""
    with run_kube_apiserver(tmp_path_factory.mktemp("kube-apiserver")) as running:
        yield running


@pytest.fixture(scope="module", params=["stand-in", "kube-apiserver"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each server in turn."""
    running: Server = request.getfixturevalue("tls_standin" if request.param == "stand-in" else "kube_apiserver")
    return running


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
