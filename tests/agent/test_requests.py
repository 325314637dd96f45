"""Each request ends in what the contract says, seen on the Node of a real apiserver stand-in."""

import json

import pytest

from tests.agent.agent_world import KEYS, WHOLE, AgentWorld, wait_until


def test_manual_request_ends_with_evidence_and_without_its_label(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.request("please")
    claim = wait_until(api.evidence, "evidence")
    assert claim.trigger == "manual"
    assert claim.result.outcome == "complete"
    assert claim.result.attempts == 1
    assert claim.report.size_bytes == len("WHOLE")
    assert api.status == "in-progress"
    assert KEYS.trigger not in api.labels
    assert claim.node_uid == api.metadata["uid"]
    assert [claim.result.file_path.rpartition("/")[2]] == world.report_files
    order = wait_until(lambda: world.orders, "a delivery")[0]
    assert order["claim"]["runId"] == claim.run_id
    assert order["file"] == claim.result.file_path
    assert (order["cluster"], order["node"]) == ("prod", "gpu-n1")
    assert world.run_count == 1


def test_run_on_record_leaves_the_outbox(world: AgentWorld) -> None:
    api = world.apiserver
    world.start(delivery_backoff="60")
    api.request()
    claim = wait_until(api.evidence, "evidence")
    assert world.outbox == [f"{claim.run_id}.json"]
    wait_until(lambda: world.events("delivered"), "a delivery")
    api.archive(claim.run_id)
    wait_until(lambda: not world.outbox, "an empty outbox")
    wait_until(lambda: world.record["phase"] == "done", "a done run")
    assert [line["runId"] for line in world.events("archived")] == [claim.run_id]


def test_run_is_delivered_again_until_it_is_on_record(world: AgentWorld) -> None:
    (world.finish / "exit-code").write_text("5")
    world.start()
    world.apiserver.request()
    wait_until(lambda: len(world.orders) >= 2, "two refused deliveries")
    (world.finish / "exit-code").unlink()
    wait_until(lambda: len([order for order in world.orders if order["code"] == 0]) >= 2, "two deliveries")
    claim = world.apiserver.claim
    assert claim is not None
    world.apiserver.archive(claim.run_id)
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert {order["claim"]["runId"] for order in world.orders} == {claim.run_id}
    assert world.run_count == 1


def test_automatic_request_is_served_from_collect(world: AgentWorld) -> None:
    world.start()
    world.apiserver.collect()
    claim = wait_until(world.apiserver.evidence, "evidence")
    assert claim.trigger == "automatic"
    assert world.report_files[0].endswith("-automatic.log.gz")


def test_label_and_collect_share_one_manual_run(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(labels={KEYS.trigger: ""}, annotations={KEYS.status: "collect"})
    world.start()
    claim = wait_until(api.evidence, "evidence")
    assert claim.trigger == "manual"
    assert KEYS.trigger not in api.labels
    assert world.run_count == 1


def test_label_with_the_value_false_asks_for_nothing(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.request("false")
    api.merge(labels={KEYS.trigger: "true"})
    wait_until(api.evidence, "evidence of the second label")
    assert world.run_count == 1


def test_opt_out_refuses_an_automatic_request_without_running_anything(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(labels={KEYS.disable: "true"})
    world.start()
    api.collect()
    wait_until(lambda: api.status == "failed: disabled", "a refusal")
    assert api.output["reason"] == "disabled"
    claim = api.claim
    assert claim is not None
    assert claim.result is not None
    assert (claim.result.reason, claim.result.attempts) == ("disabled", 0)
    wait_until(lambda: world.orders, "the failure's event")
    assert world.orders[0]["file"] is None
    assert world.run_count == 0


def test_opt_out_lets_a_manual_request_run_after_the_refusal(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(labels={KEYS.disable: "true", KEYS.trigger: "true"}, annotations={KEYS.status: "collect"})
    world.start()
    claim = wait_until(api.evidence, "evidence")
    assert claim.trigger == "manual"
    assert claim.previous is not None
    assert claim.previous.result.reason == "disabled"
    assert world.run_count == 1


def test_request_during_a_run_waits_for_its_own(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.5\n{WHOLE}")
    world.start()
    api.request("first")
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.request("second")
    first = wait_until(api.evidence, "evidence")
    assert api.labels[KEYS.trigger] == "second"
    api.archive(first.run_id)
    wait_until(lambda: world.run_count == 2, "a second run")
    wait_until(
        lambda: world.record["claim"]["runId"] != first.run_id and KEYS.trigger not in api.labels, "its evidence"
    )
    second = wait_until(api.evidence, "evidence of the second run")
    assert second.previous is None
    assert KEYS.trigger not in api.labels


@pytest.mark.parametrize(
    ("script", "want"),
    [
        ("exit 0", "no-report"),
        ("exit 3", "script-failed"),
        ('printf "" > "$out.gz"', "no-report"),
    ],
)
def test_run_without_a_report_is_failed_by_the_agent(world: AgentWorld, script: str, want: str) -> None:
    api = world.apiserver
    world.write_script(script)
    world.start()
    api.request()
    wait_until(lambda: api.status == f"failed: {want}", want)
    assert KEYS.trigger not in api.labels
    assert api.output["reason"] == want
    assert api.claim is not None
    assert api.output["runId"] == api.claim.run_id
    order = wait_until(lambda: world.orders, "the failure's event")[0]
    assert (order["file"], order["claim"]["result"]["reason"]) == (None, want)


def test_missing_script_fails_the_run(world: AgentWorld) -> None:
    api = world.apiserver
    world.script.unlink()
    world.start()
    api.request()
    wait_until(lambda: api.status == "failed: script-not-found", "a failed run")
    assert KEYS.trigger not in api.labels
    assert api.claim is not None
    assert api.claim.report is None


def test_script_past_its_time_without_output_fails_the_run(world: AgentWorld) -> None:
    world.write_script("exec sleep 60")
    world.start(timeout="1")
    world.apiserver.request()
    wait_until(lambda: world.apiserver.status == "failed: timeout", "a failed run")
    assert KEYS.trigger not in world.apiserver.labels


def test_partial_report_of_a_timed_out_script_is_evidence(world: AgentWorld) -> None:
    world.write_script('printf "PARTIAL" > "$out.gz"\nexec sleep 60')
    world.start(timeout="1")
    world.apiserver.request()
    claim = wait_until(world.apiserver.evidence, "evidence")
    assert (claim.result.outcome, claim.result.reason) == ("partial", "timeout")
    assert claim.report.complete is False
    assert world.apiserver.status == "in-progress"


def test_foreign_annotations_are_inert(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(annotations={KEYS.status: "reticulating", KEYS.run: '{"theirs":true}', KEYS.output: "[]"})
    world.start()
    api.request("x" * 63)
    claim = wait_until(api.evidence, "evidence")
    assert claim.previous is None
    assert json.loads(api.annotations[KEYS.run])["runId"] == claim.run_id


def test_claim_of_another_executor_is_waited_for(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(labels={KEYS.trigger: "true"}, annotations={KEYS.status: "in-progress"})
    world.start()
    api.merge(annotations={KEYS.status: "completed"})
    wait_until(api.evidence, "evidence once the other has ended")
    assert world.run_count == 1
