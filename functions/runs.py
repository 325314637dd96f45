"""Which run does an event point at? The Node answers: the event only says which Node to ask, and about which run id.

What is archived or written for that run is decided by the functions themselves.
"""

from datetime import datetime
from typing import NamedTuple

from functions.clusters import Cluster, FindCluster
from functions.outcomes import Answer, late, rejected
from gpureport.contract.claims import Claim, NewerSchema, parse_claim
from gpureport.contract.events import Event
from gpureport.contract.fields import ContractError, shorten
from gpureport.contract.keys import RUN_BYTES_MAX, Keys
from gpureport.contract.manifests import Origin
from gpureport.contract.names import NODE_NAME, RUN_ID
from gpureport.contract.nodes import NodeState, read_node_state
from gpureport.ports import ServedNode


class LocatedRun(NamedTuple):
    """One run as its Node states it at `served_at`, by the apiserver's clock."""

    cluster: Cluster
    state: NodeState
    served_at: datetime
    claim: Claim
    """The whole annotation: the run's own claim, or a later one that has the run as its `previous`."""
    run: Claim

    @property
    def origin(self) -> Origin:
        """Where the run came from, as manifests say it."""
        return Origin(
            cluster=self.cluster.name,
            node=self.state.name,
            project=self.cluster.project,
            location=self.cluster.location,
            cluster_uid=self.cluster.uid,
        )


def locate_run(event: Event, find_cluster: FindCluster, keys: Keys) -> LocatedRun | Answer:
    """Read the Node that the event names, and the run on it; the answer to the event when there is none.

    Raises `Unavailable` or `Refused` as the apiserver does.
    """
    cluster = _choose_cluster(event, find_cluster)
    if isinstance(cluster, Answer):
        return cluster
    served = cluster.nodes.read_node(event.node)
    if served is None:
        return late("node-gone", "there is no Node of that name")
    return _find_run(event.run_id, cluster, served, keys)


def _choose_cluster(event: Event, find_cluster: FindCluster) -> Cluster | Answer:
    """Check the names that the event gives: they choose what is read, and nothing else."""
    if not NODE_NAME.fullmatch(event.node):
        return rejected("bad-node-name", f"{shorten(event.node)} is no name of a Node")
    if not RUN_ID.fullmatch(event.run_id):
        return rejected("bad-run-id", f"{shorten(event.run_id)} is no run id")
    cluster = find_cluster(event.cluster)
    return cluster or rejected("unknown-cluster", f"{shorten(event.cluster)} is not in the cluster map")


def _find_run(run_id: str, cluster: Cluster, served: ServedNode, keys: Keys) -> LocatedRun | Answer:
    state = read_node_state(served.node, keys)
    claim = _read_claim(state)
    if isinstance(claim, Answer):
        return claim
    run = claim.find_run(run_id)
    if run is None:
        return late("not-claimed", "the Node claims another run")
    if run.node_uid != state.uid:
        return late("node-recreated", "the claim is of an earlier Node of that name")
    return LocatedRun(cluster, state, served.served_at, claim, run._replace(previous=None))


def _read_claim(state: NodeState) -> Claim | Answer:
    if state.run is None:
        return late("not-claimed", "the Node claims no run")
    if len(state.run.encode("utf-8", "surrogatepass")) > RUN_BYTES_MAX:
        return rejected("foreign-claim", f"the run annotation is longer than {RUN_BYTES_MAX} bytes")
    try:
        return parse_claim(state.run)
    except NewerSchema:
        return rejected("newer-schema", "the agent is newer than this function: roll the functions out first")
    except ContractError as error:
        return rejected("foreign-claim", str(error))
