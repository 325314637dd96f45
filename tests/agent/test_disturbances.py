"""Other writers, lost answers, a broken apiserver: the run ends right, the script runs once, nobody is overwritten."""

import json

import pytest

from tests.agent.agent_world import KEYS, WHOLE, AgentWorld, wait_until

PATCH = "PATCH /api/v1/nodes/gpu-n1"


def test_claim_whose_answer_was_lost_is_recognised(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.fail(PATCH, 0, times=2, after=True)
    api.request_by_put()
    claim = wait_until(api.evidence, "evidence")
    assert claim.result.outcome == "complete"
    assert world.run_count == 1


def test_status_that_somebody_else_set_is_never_overwritten(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.7\n{WHOLE}")
    world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.merge(annotations={KEYS.status: "failed: deadline-exceeded"})
    claim = wait_until(api.evidence, "evidence")
    assert claim.result.outcome == "complete"
    assert api.status == "failed: deadline-exceeded"
    assert KEYS.trigger not in api.labels
    wait_until(lambda: world.orders, "a delivery")


def test_failure_of_a_run_that_somebody_else_ended_writes_its_result_only(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 0.7\nexit 3")
    world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.merge(annotations={KEYS.status: None})
    wait_until(lambda: api.claim and api.claim.result, "a result")
    assert api.status is None
    assert api.output is None
    assert KEYS.trigger not in api.labels


def test_label_changed_during_the_run_stays(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.7\n{WHOLE}")
    world.start()
    api.request("first")
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.request("second")
    wait_until(api.evidence, "evidence")
    assert api.labels[KEYS.trigger] == "second"


def test_run_whose_claim_was_overwritten_is_delivered_without_touching_the_node(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.7\n{WHOLE}")
    world.start(delivery_backoff="60")
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    theirs = json.dumps({"theirs": True})
    api.merge(annotations={KEYS.run: theirs})
    wait_until(lambda: world.orders, "a delivery")
    assert api.annotations[KEYS.run] == theirs
    wait_until(lambda: not world.outbox, "an empty outbox")
    wait_until(lambda: world.events("unattested"), "a line about it")


def test_node_recreated_during_the_run_is_left_alone(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.7\n{WHOLE}")
    world.start(delivery_backoff="60")
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.delete_node()
    api.create_node(labels={KEYS.disable: "true"})
    wait_until(lambda: world.orders, "a delivery")
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert api.annotations == {}
    api.request()
    wait_until(lambda: world.run_count == 2, "a run of the new Node")


def test_node_that_does_not_exist_yet_is_waited_for(world: AgentWorld) -> None:
    api = world.apiserver
    api.delete_node()
    world.launch()
    wait_until(lambda: world.events("watch"), "a line about the missing Node")
    api.create_node(labels={KEYS.trigger: "true"})
    wait_until(api.evidence, "evidence", 40)
    assert len(api.requests("GET")) < 40


def test_refused_patches_are_tried_again_without_running_the_script_again(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.5\n{WHOLE}")
    world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.fail(PATCH, 403, times=2)
    wait_until(api.evidence, "evidence")
    assert world.run_count == 1
    assert world.events("apiserver")


def test_apiserver_away_at_the_evidence_is_waited_for(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.5\n{WHOLE}")
    world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.fail("GET /api/v1/nodes/gpu-n1", 0, times=3)
    wait_until(lambda: world.events("evidence"), "a line about the evidence")
    wait_until(api.evidence, "evidence")
    assert world.run_count == 1


def test_watch_whose_history_was_compacted_begins_anew(world: AgentWorld) -> None:
    api = world.apiserver
    world.start(watch_timeout="1")
    for number in range(3):
        api.merge(labels={"unrelated": str(number)})
        api.hook("compact")
        api.hook("drop")
    api.request()
    wait_until(api.evidence, "evidence")


def test_watch_that_falls_silent_is_replaced(world: AgentWorld) -> None:
    api = world.apiserver
    world.start(watch_timeout="1")
    api.hook("hang")
    api.request()
    wait_until(api.evidence, "evidence after the silence", 40)


def test_refused_watches_do_not_make_a_tight_loop(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.fail("GET /api/v1/nodes", 500, times=1000)
    api.hook("drop")
    wait_until(lambda: len(world.events("watch")) >= 1, "a line about the watch")
    api.ask("DELETE", "/_local/fail")
    api.request()
    wait_until(api.evidence, "evidence", 40)
    assert len(api.requests("GET")) < 60


def test_throttled_requests_wait_as_long_as_they_are_told(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.fail(PATCH, 429, times=2, headers={"Retry-After": "1"}, body="Too many requests, please try again later.\n")
    api.request_by_put()
    wait_until(api.evidence, "evidence")
    assert world.run_count == 1
    assert len(api.requests("PATCH")) < 10


@pytest.mark.parametrize("request_line", ["GET /api/v1/nodes/gpu-n1", PATCH])
def test_one_wrong_answer_that_there_is_no_node_does_not_make_the_agent_deaf(
    world: AgentWorld, request_line: str
) -> None:
    api = world.apiserver
    world.start()
    api.fail(request_line, 404, times=1)
    api.request_by_put()
    wait_until(lambda: world.events("apiserver"), "a line about the answer")
    wait_until(api.evidence, "evidence")
    assert world.run_count == 1


def test_answer_about_another_node_is_not_believed(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    other = {"metadata": {"name": "other", "uid": "x", "resourceVersion": "999999", "labels": {}}}
    api.fail("GET /api/v1/nodes/gpu-n1", 200, times=1, body=json.dumps(other))
    api.request_by_put()
    wait_until(lambda: world.events("apiserver"), "a line about the answer")
    claim = wait_until(api.evidence, "evidence")
    assert claim.node_uid == api.metadata["uid"]
