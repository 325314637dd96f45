"""One real control plane for all tests of the manifests."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from infra.local.identities import ADMIN
from infra.local.supervisor import Supervisor
from tests.kubernetes.agents import Agents
from tests.kubernetes.cluster import NODE, Actor, RealCluster, wait_until
from tests.kubernetes.mutants import MANIFESTS, MUTANTS, WRITER, read_policies
from tests.kubernetes.rows import Who

KUBELET = f"system:node:{NODE}"


class Applied(NamedTuple):
    """The cluster, and what kubectl said when the manifests were applied."""

    cluster: RealCluster
    said: str


@pytest.fixture(scope="session")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    work: Path = tmp_path_factory.mktemp("kubernetes")
    users = (KUBELET, WRITER, *(mutant.user for mutant in MUTANTS if mutant.user))
    with Supervisor(work / "logs") as supervisor:
        cluster = RealCluster(supervisor, work, users)
        done = cluster.kubectl("apply", "-k", str(MANIFESTS))
        assert done.returncode == 0, done.stderr
        cluster.prepare()
        yield Applied(cluster, done.stdout + done.stderr)
        cluster.wire.close()


@pytest.fixture
def cluster(applied: Applied) -> RealCluster:
    return applied.cluster


@pytest.fixture(scope="session")
def find_actor(applied: Applied) -> Callable[[Who], Actor]:
    """Everybody who is sent for a row; every policy is in force."""
    cluster = applied.cluster
    agents = Agents(cluster, "agent")
    others = {
        Who.WRITE_STATUS: Actor(cluster.tokens[WRITER]),
        Who.KUBELET: Actor(cluster.tokens[KUBELET]),
        Who.ADMIN: Actor(cluster.tokens[ADMIN]),
    }

    def find(who: Who) -> Actor:
        return others.get(who) or agents.find(who)

    for policy in read_policies():
        wait_until(
            partial(_is_in_force, cluster, policy, [find(Who.AGENT), find(Who.WRITE_STATUS)]), f"{policy} in force"
        )
    return find


def _is_in_force(cluster: RealCluster, policy: str, actors: list[Actor]) -> bool:
    return any(f"'{policy}' " in refusal for actor in actors for refusal in cluster.probe(actor, "foreign"))
