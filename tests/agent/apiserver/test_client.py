"""The own-node client against the stand-in, and against servers that misbehave on a real socket."""

import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent.apiserver.client import BODY_BYTES_MAX, NodeClient
from agent.apiserver.connection import build_tls, parse_endpoint
from agent.apiserver.errors import Gone, LostRace, Unauthorized, Unavailable
from gpureport.contract.keys import build_keys
from gpureport.contract.nodes import ANNOTATIONS, Change, build_patch
from tests.agent.agent_world import NODE, TOKEN, Apiserver

KEYS = build_keys()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "client-token"
    path.write_text(TOKEN)
    return path


Connect = Callable[[str, Path | None], NodeClient]


@pytest.fixture
def connect(token: Path) -> Iterator[Connect]:
    """Build clients of a URL and a CA, closed at the end."""
    clients: list[NodeClient] = []

    def build(url: str, ca: Path | None) -> NodeClient:
        endpoint = parse_endpoint(url, None if ca is None else str(ca), str(token))
        clients.append(NodeClient(endpoint, NODE, KEYS, "0.1.0", tls=build_tls(endpoint)))
        return clients[-1]

    yield build
    for client in clients:
        client.close()


@pytest.fixture
def client(apiserver: Apiserver, connect: Connect) -> NodeClient:
    apiserver.create_node()
    return connect(apiserver.url, apiserver.ca)


def set_status(before: str | None, after: str) -> list[Change]:
    return [Change(ANNOTATIONS, KEYS.status, before, after)]


def test_node_is_read_with_the_servers_time(client: NodeClient) -> None:
    served = client.read_node()
    assert served.state.name == NODE
    assert served.served_at is not None
    assert abs((datetime.now(UTC) - served.served_at).total_seconds()) < 60


def test_patch_returns_the_node_after_it(client: NodeClient) -> None:
    state = client.read_node().state
    served = client.patch_node(build_patch(state, set_status(None, "in-progress")))
    assert served.state.status == "in-progress"
    assert client.read_node() == served._replace(served_at=client.read_node().served_at)


def test_patch_decided_from_an_old_state_is_a_lost_race(client: NodeClient) -> None:
    state = client.read_node().state
    client.patch_node(build_patch(state, set_status(None, "in-progress")))
    with pytest.raises(LostRace):
        client.patch_node(build_patch(state, set_status(None, "in-progress")))


def test_absent_node_is_gone(client: NodeClient, apiserver: Apiserver) -> None:
    apiserver.delete_node()
    with pytest.raises(Gone):
        client.read_node()


def test_wrong_token_is_unauthorized_until_its_file_changes(client: NodeClient, token: Path) -> None:
    token.write_text("expired")
    with pytest.raises(Unauthorized):
        client.read_node()
    token.write_text(TOKEN)
    assert client.read_node().state.name == NODE


def test_read_survives_a_kept_connection_that_was_closed(client: NodeClient, apiserver: Apiserver) -> None:
    client.read_node()
    apiserver.fail(f"GET /api/v1/nodes/{NODE}", 0, times=1)
    assert client.read_node().state.name == NODE


def test_write_whose_answer_is_lost_is_not_repeated(client: NodeClient, apiserver: Apiserver) -> None:
    state = client.read_node().state
    apiserver.fail(f"PATCH /api/v1/nodes/{NODE}", 0, times=1, after=True)
    with pytest.raises(Unavailable):
        client.patch_node(build_patch(state, set_status(None, "in-progress")))
    assert client.read_node().state.status == "in-progress"
    assert len(apiserver.requests("PATCH")) == 1


def test_server_with_another_certificate_is_not_talked_to(apiserver: Apiserver, connect: Connect) -> None:
    client = connect(apiserver.url, None)
    with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
        client.read_node()


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], str]]:
    """Serve one raw answer to each connection on loopback; returns the address."""
    listeners: list[socket.socket] = []

    def start(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=_answer, args=(listener, answer), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


def _answer(listener: socket.socket, answer: bytes) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(answer)
            except OSError:
                continue


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: whenever\r\n\r\n{}",
        b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"metadata":1',
        b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"metadata":1}',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_answer_that_is_no_node_is_unavailable(serve: Callable[[bytes], str], connect: Connect, answer: bytes) -> None:
    client = connect(serve(answer), None)
    with pytest.raises(Unavailable):
        client.read_node()


def test_answer_without_end_is_cut_off(serve: Callable[[bytes], str], connect: Connect) -> None:
    endless: Any = b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (BODY_BYTES_MAX + 2)
    client = connect(serve(endless), None)
    with pytest.raises(Unavailable, match="more than"):
        client.read_node()


def test_nobody_listening_is_unavailable(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = connect(f"http://127.0.0.1:{port}", None)
    with pytest.raises(Unavailable, match="refused"):
        client.read_node()
