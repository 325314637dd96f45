"""The stand-in as a program: TLS, hooks, journal, beginning and end."""

import http.client
import json
import os
import signal
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.certificates import ensure_certificates

NODES = "/api/v1/nodes"


def test_a_server_of_another_authority_is_not_trusted(tls_standin: Any, tmp_path: Path) -> None:
    stranger = ensure_certificates(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        tls_standin._replace(ca=stranger.ca).ask("GET", NODES)


def test_certificates_are_made_once(tmp_path: Path) -> None:
    made = ensure_certificates(tmp_path / "new")
    before = [path.read_bytes() for path in made]
    assert [path.read_bytes() for path in ensure_certificates(tmp_path / "new")] == before
    assert made.key.stat().st_mode & 0o777 == 0o600
    made.ca.unlink()
    assert ensure_certificates(tmp_path / "new").ca.is_file()


def read_journal(server: Any) -> list[dict[str, Any]]:
    return server.ask("GET", "/_local/requests").body


def test_the_journal_has_every_request_in_order(standin: Any) -> None:
    standin.ask("DELETE", "/_local/requests")
    standin.ask("POST", NODES, {"metadata": {"name": "journal"}})
    standin.merge(f"{NODES}/journal", {"metadata": {"resourceVersion": "1"}})
    shown = [(entry["method"], entry["path"], entry["status"]) for entry in read_journal(standin)]
    assert shown == [("POST", NODES, 201), ("PATCH", f"{NODES}/journal", 409)]


def test_a_fault_answers_in_the_place_of_the_server_as_often_as_asked(standin: Any, node_path: str) -> None:
    standin.fail(f"PATCH {node_path}", 429, times=2, headers={"Retry-After": "1"}, body="Too many requests\n")
    for _ in range(2):
        reply = standin.merge(node_path, {"metadata": {"labels": {"x": "y"}}})
        assert (reply.status, reply.headers["Retry-After"], reply.raw) == (429, "1", b"Too many requests\n")
    assert "x" not in standin.ask("GET", node_path).body["metadata"].get("labels", {})
    assert standin.merge(node_path, {"metadata": {"labels": {"x": "y"}}}).status == 200


@pytest.fixture
def node_path(standin: Any, request: pytest.FixtureRequest) -> str:
    name = f"standin-{abs(hash(request.node.name)):x}"
    assert standin.ask("POST", NODES, {"metadata": {"name": name}}).status == 201
    return f"{NODES}/{name}"


def test_a_fault_of_status_zero_closes_the_connection(standin: Any, node_path: str) -> None:
    standin.fail(f"PATCH {node_path}", 0)
    with pytest.raises(http.client.RemoteDisconnected):
        standin.merge(node_path, {"metadata": {"labels": {"x": "y"}}})
    assert "labels" not in standin.ask("GET", node_path).body["metadata"]


@pytest.mark.parametrize("status", [0, 504])
def test_a_fault_after_the_write_loses_only_the_answer(standin: Any, node_path: str, status: int) -> None:
    standin.fail(f"PATCH {node_path}", status, after=True)
    if status:
        assert standin.merge(node_path, {"metadata": {"labels": {"x": "y"}}}).status == 504
    else:
        with pytest.raises(http.client.RemoteDisconnected):
            standin.merge(node_path, {"metadata": {"labels": {"x": "y"}}})
    assert standin.ask("GET", node_path).body["metadata"]["labels"] == {"x": "y"}


def test_a_fault_can_delay_and_can_be_taken_back(standin: Any, node_path: str) -> None:
    standin.fail(f"GET {node_path}", 200, after=True, delay_s=0.3, body="{}")
    started = time.monotonic()
    standin.ask("GET", node_path)
    assert time.monotonic() - started >= 0.3
    standin.fail(f"GET {node_path}", 500)
    standin.ask("DELETE", "/_local/fail")
    assert standin.ask("GET", node_path).status == 200


def test_a_malformed_fault_is_400(standin: Any) -> None:
    for order in ({}, [], {"match": "GET", "status": "x"}):
        assert standin.ask("POST", "/_local/fail", order).status == 400


def test_objects_from_a_file_are_there_with_their_status(start_server: Callable[..., Any], tmp_path: Path) -> None:
    objects = tmp_path / "objects.json"
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "u1"}, "status": {"phase": "x"}}
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p1", "namespace": "team"},
        "status": {"phase": "Running"},
    }
    objects.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, pod]}))
    server = start_server("--objects", str(objects))
    assert server.ask("GET", f"{NODES}/n1").body["metadata"]["uid"] == "u1"
    assert server.ask("GET", "/api/v1/namespaces/team/pods/p1").body["status"] == {"phase": "Running"}


def test_sigterm_ends_the_stand_in_within_a_second_with_watches_open(start_server: Callable[..., Any]) -> None:
    server = start_server()
    with server.watch(NODES) as watch:
        pidfd = os.pidfd_open(server.pid)
        started = time.monotonic()
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT)
        os.close(pidfd)
        assert time.monotonic() - started < 1
        assert watch.next() is None
