"""Who an agent can be: with a token of its Pod, of another node's, of no Pod, of a Pod whose Node is another by now."""

from tests.kubernetes.cluster import NAMESPACE, NODE, OTHER_NODE, Actor, RealCluster
from tests.kubernetes.requests import NODES
from tests.kubernetes.rows import Who


class Agents:
    """Everybody who is an agent of one service account; a token is asked for when somebody is first sent."""

    def __init__(self, cluster: RealCluster, account: str) -> None:
        self._cluster = cluster
        self._account = account
        self._recreated = f"recreated-{account}"
        self._actors: dict[Who, Actor] = {}
        cluster.ensure(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": account}})

    def find(self, who: Who) -> Actor:
        if who not in self._actors:
            self._actors[who] = self._make(who)
        return self._actors[who]

    def _make(self, who: Who) -> Actor:
        cluster, account = self._cluster, self._account
        match who:
            case Who.AGENT:
                return Actor(cluster.bind_to_pod(account, NODE))
            case Who.OTHER_AGENT:
                return Actor(cluster.bind_to_pod(account, OTHER_NODE))
            case Who.NODE_BOUND:
                return Actor(cluster.request_token(account, {"apiVersion": "v1", "kind": "Node", "name": NODE}))
            case Who.UNBOUND:
                return Actor(cluster.request_token(account))
            case Who.STALE_AGENT:
                return Actor(self._bind_and_recreate(), self._recreated)
            case Who.RENEWED_AGENT:
                self.find(Who.STALE_AGENT)
                return Actor(cluster.bind_to_pod(account, self._recreated), self._recreated)
        raise ValueError(who)

    def _bind_and_recreate(self) -> str:
        """Return the token of a Pod whose Node has been deleted and created again since."""
        node = {"metadata": {"name": self._recreated}}
        self._cluster.expect("POST", NODES, node)
        stale = self._cluster.bind_to_pod(self._account, self._recreated)
        self._cluster.expect("DELETE", f"{NODES}/{self._recreated}")
        self._cluster.expect("POST", NODES, node)
        return stale
