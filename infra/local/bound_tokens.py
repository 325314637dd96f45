"""How an agent's process here gets what the kubelet gives an agent: a token bound to its Pod, renewed in time."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from infra.local.cluster_access import ClusterAccess, ClusterError

AGENT_NAMESPACE = "/api/v1/namespaces/gpu-report"
AGENT_TOKEN = f"{AGENT_NAMESPACE}/serviceaccounts/agent/token"
AGENT_PODS = f"{AGENT_NAMESPACE}/pods?labelSelector=app.kubernetes.io/name%3Dgpu-report-agent"

TOKEN_LIFE_S = 3600
"""As the DaemonSet's volume asks for; the apiserver gives no less than 600."""

RETRY_S = 10.0
"""Seconds between attempts to renew a token; half of its life is left for them."""


class Token(NamedTuple):
    """A token as it was granted."""

    text: str
    life_s: float


class BoundTokens:
    """The agents' tokens of one cluster; `clock` gives monotonic seconds."""

    def __init__(self, admin: ClusterAccess, clock: Callable[[], float] = time.monotonic) -> None:
        self._admin = admin
        self._clock = clock
        self._renew_at: dict[str, float] = {}

    def find_new(self, node: str) -> str | None:
        """Return a new token for a node's agent at the first call and when half the life of the last one is over.

        Raises `ClusterError` when it is due and not to be had; it is due again `RETRY_S` later.
        """
        now = self._clock()
        if now < self._renew_at.get(node, now):
            return None
        self._renew_at[node] = now + RETRY_S
        pod = find_agent_pod(self._admin, node)
        if pod is None:
            raise ClusterError(f"no agent's Pod is on {node}")
        metadata = pod["metadata"]
        token = request_token(self._admin, {"kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]})
        self._renew_at[node] = now + token.life_s / 2
        return token.text


def request_token(admin: ClusterAccess, bound_to: Mapping[str, str] | None = None) -> Token:
    """Ask for a token of the agents' ServiceAccount, bound to an object (kind, name, uid) or to none."""
    spec: dict[str, Any] = {"expirationSeconds": TOKEN_LIFE_S}
    if bound_to is not None:
        spec["boundObjectRef"] = {"apiVersion": "v1", **bound_to}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = admin.expect("POST", AGENT_TOKEN, request)
    return Token(answer["status"]["token"], answer["spec"]["expirationSeconds"])


def find_agent_pod(admin: ClusterAccess, node: str) -> dict[str, Any] | None:
    """Return the Pod that the DaemonSet has on a node; None until the scheduler has put one there."""
    pods: list[dict[str, Any]] = admin.expect("GET", AGENT_PODS)["items"]
    return next((pod for pod in pods if pod["spec"].get("nodeName") == node), None)
