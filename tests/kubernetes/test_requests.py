"""Who may write what on a Node: each row of the tables is sent to a real kube-apiserver, with a real token.

A refusal is a 403 that names its rule, and it changes nothing.
"""

from collections.abc import Callable

import pytest

from tests.kubernetes import table_agent, table_agent_refused, table_events, table_functions, table_others
from tests.kubernetes.cluster import Actor, RealCluster
from tests.kubernetes.requests import NODES
from tests.kubernetes.rows import Row, Who

ROWS = (
    *(table_agent.TABLE + table_agent_refused.TABLE),
    *(table_functions.TABLE + table_events.TABLE + table_others.TABLE),
)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_request_is_answered_as_the_table_says(
    row: Row, cluster: RealCluster, find_actor: Callable[[Who], Actor]
) -> None:
    actor = find_actor(row.who)
    before = cluster.settle(actor.node, row.start)

    answer = cluster.ask(actor, row.build(before))

    assert (answer.status, row.says in answer.message) == (row.want, True), answer.message
    if row.want >= 400:
        assert cluster.expect("GET", f"{NODES}/{actor.node}") == before


def test_titles_are_unlike() -> None:
    titles = [str(row) for row in ROWS]
    assert sorted(titles) == sorted(set(titles))
