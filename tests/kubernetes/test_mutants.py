"""Is every part of every policy needed? Whatever is taken away, a row of the tables notices.

Requests are dry runs: each row begins from its start, without anything having changed.
"""

from collections.abc import Callable
from functools import partial

import pytest

from tests.kubernetes.agents import Agents
from tests.kubernetes.cluster import Actor, RealCluster, wait_until
from tests.kubernetes.conftest import Applied
from tests.kubernetes.mutants import MARK, MARKED, MUTANTS, Mutant, read_policies
from tests.kubernetes.rows import Row, Who

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@pytest.fixture(scope="module")
def mutated(applied: Applied) -> RealCluster:
    """The cluster with every mutant applied."""
    for mutant in MUTANTS:
        applied.cluster.ensure(POLICIES, mutant.policy)
        binding = {
            "metadata": {"name": mutant.name},
            "spec": {"policyName": mutant.name, "validationActions": ["Deny"]},
        }
        applied.cluster.ensure(BINDINGS, binding)
    return applied.cluster


def build_finder(cluster: RealCluster, mutant: Mutant) -> Callable[[Who], Actor]:
    """Return who is sent for a row: the mutant's own identity."""
    if mutant.user:
        writer = Actor(cluster.tokens[mutant.user])
        return lambda _who: writer
    return Agents(cluster, mutant.account).find


def is_marked(cluster: RealCluster, actor: Actor) -> bool:
    return any(MARKED in refusal for refusal in cluster.probe(actor, MARK))


def find_surprise(cluster: RealCluster, find: Callable[[Who], Actor], rows: tuple[Row, ...]) -> str:
    """Return what the first row that is not answered as the table says got; empty when all are."""
    for row in rows:
        answer = cluster.ask_dry(find(row.who), row)
        if not answer.is_as_wanted(row):
            return f"{row}: {answer.status} {answer.message}"
    return ""


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if not one.is_whole], ids=str)
def test_what_is_taken_away_is_noticed(mutant: Mutant, mutated: RealCluster) -> None:
    find = build_finder(mutated, mutant)
    wait_until(partial(is_marked, mutated, find(Who.AGENT)), f"{mutant.name} in force")

    assert find_surprise(mutated, find, mutant.table), "no row of the table notices"


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if one.is_whole], ids=str)
def test_policy_without_nothing_gives_no_surprise(mutant: Mutant, mutated: RealCluster) -> None:
    find = build_finder(mutated, mutant)
    wait_until(partial(is_marked, mutated, find(Who.AGENT)), f"{mutant.name} in force")

    assert find_surprise(mutated, find, mutant.table) == ""


def test_every_policy_has_mutants() -> None:
    assert {mutant.name.rpartition("-")[0] for mutant in MUTANTS} == set(read_policies())
