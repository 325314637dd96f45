"""What only a real control plane can show: bound tokens, policies, the scheduler's own verdict."""

import subprocess
from typing import Any

from infra.local.bound_tokens import BoundTokens
from infra.local.cluster_access import MERGE_PATCH, ClusterAccess
from infra.local.demo_objects import HEALTHY_NODE, NAMESPACE, NODES, SICK_NODE, STUCK_POD
from infra.parts.catalogue import CONTROL_PLANE, require
from tests.e2e.world import KEYS, World, wait_until


def agent_access(world: World, node: str) -> ClusterAccess:
    return world.pipeline.admin._replace(token=world.pipeline.token_file(node).read_text())


def remove_label(access: ClusterAccess, node: str) -> tuple[int, str]:
    """Remove the trigger label, as an agent does that has served it; nothing is changed."""
    change = {"metadata": {"labels": {KEYS.trigger: None}}}
    status, answer = access.call("PATCH", f"/api/v1/nodes/{node}?dryRun=All", change, MERGE_PATCH)
    return status, str(answer.get("message", ""))


def test_agents_token_is_good_for_its_own_node_alone(real_world: World) -> None:
    access = agent_access(real_world, SICK_NODE)

    assert remove_label(access, SICK_NODE) == (200, "")
    status, message = remove_label(access, HEALTHY_NODE)

    assert status == 403
    want = f'the gpu-report agent of node "{SICK_NODE}" may not write Node "{HEALTHY_NODE}"'
    assert want in message


def test_tokens_are_renewed_at_half_their_life_and_good_at_once(real_world: World) -> None:
    now = 1000.0
    tokens = BoundTokens(real_world.pipeline.admin, lambda: now)
    first = {node: tokens.find_new(node) for node in NODES}
    now += 1700.0
    assert [tokens.find_new(node) for node in NODES] == [None, None]
    now += 200.0

    second = {node: tokens.find_new(node) for node in NODES}

    for node in NODES:
        token = second[node]
        assert token is not None
        assert token != first[node]
        assert remove_label(real_world.pipeline.admin._replace(token=token), node) == (200, "")


def test_agent_reads_a_token_that_was_renewed(real_world: World) -> None:
    pipeline = real_world.pipeline
    renewed = BoundTokens(pipeline.admin).find_new(SICK_NODE)
    assert renewed is not None
    old = pipeline.token_file(SICK_NODE).read_text()
    pipeline.token_file(SICK_NODE).write_text(renewed)

    real_world.run_once(SICK_NODE)

    assert real_world.status(SICK_NODE) == "completed"
    assert old != renewed


def test_end_of_a_run_is_an_event_that_kubectl_shows_with_its_node(real_world: World) -> None:
    pipeline = real_world.pipeline
    output = real_world.run_once(SICK_NODE)
    command = [require(CONTROL_PLANE) / "kubectl", "describe", "node", SICK_NODE, "--kubeconfig", pipeline.kubeconfig]

    def is_shown() -> bool:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        shown = [line for line in done.stdout.splitlines() if "GPUReportCompleted" in line]
        return any(str(output.run_id) in line for line in shown)

    wait_until(is_shown, f"the Event of run {output.run_id}")


def test_scheduler_and_triage_agree_about_the_stuck_pod(real_world: World) -> None:
    pipeline = real_world.pipeline

    def find_condition() -> dict[str, Any] | None:
        pod = pipeline.admin.expect("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{STUCK_POD}")
        conditions = {condition["type"]: condition for condition in pod["status"].get("conditions", [])}
        return conditions.get("PodScheduled")

    condition = wait_until(find_condition, "the scheduler's verdict")

    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "1 Insufficient nvidia.com/gpu" in condition["message"]
    assert real_world.triage_word(NAMESPACE, STUCK_POD) == "allocatable-zero"
