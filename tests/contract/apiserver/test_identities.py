"""Whom kube-apiserver knows, by which token, and what it says to the others. Right answers: kube-apiserver 1.36."""

from typing import Any

import pytest

NODES = "/api/v1/nodes"
IN_CLUSTER = 'in API group "" at the cluster scope'
IN_DEFAULT = 'in API group "" in the namespace "default"'
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.mark.parametrize("path", [NODES, "/readyz"])
def test_an_unknown_token_is_401(server: Any, path: str) -> None:
    reply = server._replace(token="unknown").ask("GET", path)
    assert (reply.status, reply.body["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "what", "deed"),
    [
        ("GET", NODES, "nodes is ", f'list resource "nodes" {IN_CLUSTER}'),
        ("GET", f"{NODES}/n1", 'nodes "n1" is ', f'get resource "nodes" {IN_CLUSTER}'),
        ("PATCH", f"{NODES}/n1/status", 'nodes "n1" is ', f'patch resource "nodes/status" {IN_CLUSTER}'),
        ("POST", "/api/v1/namespaces/default/events", "events is ", f'create resource "events" {IN_DEFAULT}'),
        ("GET", "/api", "", 'get path "/api"'),
    ],
)
def test_nobody_may_do_nothing_without_a_token(server: Any, method: str, path: str, what: str, deed: str) -> None:
    reply = server._replace(token="").ask(method, path, None if method == "GET" else {})
    want = (403, "Forbidden", f'{what}forbidden: User "system:anonymous" cannot {deed}')
    assert (reply.status, reply.body["reason"], reply.body["message"]) == want


def test_everybody_may_ask_for_version_and_health(server: Any) -> None:
    anonymous = server._replace(token="")
    assert anonymous.ask("GET", "/readyz").raw == b"ok"
    assert anonymous.ask("GET", "/version").body["minor"] == "36"


def test_a_user_without_rights_is_403(server: Any) -> None:
    assert server._replace(token=server.nobody).ask("GET", NODES).status == (403 if server.traits.authorizes else 200)


def test_an_issued_token_is_its_service_accounts(server: Any) -> None:
    assert server.ask("POST", f"{ACCOUNTS}/absent/token", {"spec": {}}).status == 404
    server.ask("DELETE", f"{ACCOUNTS}/agent")
    assert server.ask("POST", ACCOUNTS, {"metadata": {"name": "agent"}}).status == 201
    reply = server.ask("POST", f"{ACCOUNTS}/agent/token", {"spec": {"expirationSeconds": 600}})
    assert (reply.status, reply.body["kind"]) == (201, "TokenRequest")
    answer = server._replace(token=reply.body["status"]["token"]).ask("GET", f"{NODES}?who=agent")
    if server.traits.authorizes:
        assert 'User "system:serviceaccount:default:agent" cannot list' in answer.body["message"]
    else:
        journal = server.ask("GET", "/_local/requests").body
        users = [entry["user"] for entry in journal if entry["path"] == f"{NODES}?who=agent"]
        assert users == ["system:serviceaccount:default:agent"]


def test_a_token_lasts_ten_minutes_at_least(server: Any) -> None:
    server.ask("POST", ACCOUNTS, {"metadata": {"name": "short"}})
    reply = server.ask("POST", f"{ACCOUNTS}/short/token", {"spec": {"expirationSeconds": 5}})
    assert (reply.status, reply.body["details"]["causes"][0]["field"]) == (422, "spec.expirationSeconds")
