"""One request is refused under one run id, whatever becomes of the patch that says so."""

import json

import pytest

from tests.agent.agent_world import KEYS, NODE, AgentWorld, wait_until

PATCH = "PATCH /api/v1/nodes/gpu-n1"


@pytest.fixture
def opted_out(world: AgentWorld) -> AgentWorld:
    """A node without automatic reports, with an agent."""
    world.start(delivery_backoff="60")
    return world


def put(world: AgentWorld, status: str) -> None:
    """Ask by a PUT: tests make patches fail."""
    metadata = {"name": NODE, "labels": {KEYS.disable: "true"}, "annotations": {KEYS.status: status}}
    world.apiserver.ask("PUT", f"/api/v1/nodes/{NODE}", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def count_patches(world: AgentWorld) -> int:
    """Count the agent's patches, also those that were made to fail before anybody asked who sends them."""
    journal = world.apiserver.ask("GET", "/_local/requests")
    return len([entry for entry in journal if entry["method"] == "PATCH" and entry["user"] != "admin"])


def assert_refused_once(world: AgentWorld) -> None:
    api = world.apiserver
    wait_until(lambda: api.status == "failed: disabled", "a refusal")
    claim = api.claim
    assert claim is not None
    orders = wait_until(lambda: world.orders, "a delivery")
    assert [order["claim"]["runId"] for order in orders] == [claim.run_id]
    assert world.outbox == [f"{claim.run_id}.json"]
    output = api.output | {"archivedAt": "2026-11-30T09:15:09Z"}
    api.merge(annotations={KEYS.output: json.dumps(output)})
    wait_until(lambda: not world.outbox, "an empty outbox")


def test_refusal_that_is_tried_again_keeps_its_run_id(opted_out: AgentWorld) -> None:
    opted_out.apiserver.fail(PATCH, 403, times=3)
    put(opted_out, "collect")
    assert_refused_once(opted_out)
    assert count_patches(opted_out) == 4


def test_refusal_whose_answer_was_lost_is_delivered(opted_out: AgentWorld) -> None:
    opted_out.apiserver.fail(PATCH, 0, times=1, after=True)
    put(opted_out, "collect")
    assert_refused_once(opted_out)
    assert count_patches(opted_out) == 1


def test_refusal_of_a_request_that_is_gone_leaves_no_parcel(opted_out: AgentWorld) -> None:
    opted_out.apiserver.fail(PATCH, 403, times=1000)
    put(opted_out, "collect")
    wait_until(lambda: count_patches(opted_out) >= 2, "two refused patches")
    assert len(opted_out.outbox) == 1
    put(opted_out, "completed")
    wait_until(lambda: not opted_out.outbox, "an empty outbox")
    assert opted_out.orders == []
