"""A run that the Node does not name any more is delivered once at most, or its loss is said."""

from gpureport.contract.claims import format_claim
from tests.agent.agent_faults import is_alive, kill, kill_with_script
from tests.agent.agent_world import KEYS, WHOLE, AgentWorld, wait_until


def test_report_of_a_node_that_was_recreated_meanwhile_is_delivered_once(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 1\n{WHOLE}")
    world.start(delivery_backoff="60")
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    run_id = world.record["claim"]["runId"]
    kill(world)
    api.delete_node()
    api.create_node()
    wait_until(lambda: not is_alive(world.script_pid), "the script's end")
    world.start(delivery_backoff="60")
    wait_until(lambda: world.events("unattested"), "the run's end")
    assert [(order["claim"]["runId"], order["file"] is not None) for order in world.orders] == [(run_id, True)]
    assert (api.annotations, world.outbox, world.run_count) == ({}, [], 1)
    assert not (world.reports / ".work").exists()


def test_run_without_a_report_of_a_node_that_was_recreated_is_said_to_be_lost(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    world.start()
    api.request()
    kill_with_script(world, 1)
    api.delete_node()
    api.create_node()
    world.start()
    lines = wait_until(lambda: world.events("unclaimed"), "a line about the loss")
    assert [line["runId"] for line in lines] == [world.record["claim"]["runId"]]
    assert "lost" in lines[0]["message"]
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert not (world.reports / ".work").exists()


def test_delivered_run_that_a_newer_one_replaced_is_not_delivered_again(world: AgentWorld) -> None:
    api = world.apiserver
    world.start(delivery_backoff="60")
    api.request()
    claim = wait_until(api.evidence, "evidence")
    wait_until(lambda: world.events("delivered"), "a delivery")
    # By its name: the file that a write begins with is there a moment before.
    parcel = world.reports / ".state" / "outbox" / f"{claim.run_id}.json"
    wait_until(lambda: '"delivered":true' in parcel.read_text(), "its mark")
    kill(world)
    newer = claim._replace(run_id="f" * 32)
    api.merge(annotations={KEYS.run: format_claim(newer), KEYS.status: "completed"})
    world.start(delivery_backoff="60")
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert len(world.orders) == 1
