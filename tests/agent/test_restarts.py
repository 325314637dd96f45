"""An agent that dies, or is told to end, at any point leaves a run that its successor ends truthfully."""

import os
import signal
import time

from tests.agent.agent_faults import is_alive, kill, kill_with_script
from tests.agent.agent_world import KEYS, WHOLE, AgentWorld, wait_until

EXIT_S_MAX = 20.0


def test_sigterm_during_the_script_interrupts_the_run_and_keeps_the_label(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100 & wait")
    agent = world.start()
    api.request("please")
    wait_until(lambda: world.run_count == 1, "a script at work")
    began_s = time.monotonic()
    agent.terminate()
    assert agent.wait(timeout=EXIT_S_MAX) == 0
    assert time.monotonic() - began_s < EXIT_S_MAX
    assert api.status == "failed: interrupted"
    assert api.labels[KEYS.trigger] == "please"
    claim = api.claim
    assert claim is not None
    assert claim.result is not None
    assert (claim.result.outcome, claim.result.reason) == ("none", "interrupted")
    assert not is_alive(world.script_pid)
    assert [order["claim"]["result"]["reason"] for order in world.orders] == ["interrupted"]


def test_manual_request_survives_a_restart(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    agent = world.start()
    api.request("please")
    wait_until(lambda: world.run_count == 1, "a script at work")
    interrupted = api.claim
    assert interrupted is not None
    agent.terminate()
    agent.wait(timeout=EXIT_S_MAX)
    world.write_script(WHOLE)
    world.start()
    claim = wait_until(api.evidence, "evidence of the successor's run")
    assert claim.run_id != interrupted.run_id
    assert claim.previous.run_id == interrupted.run_id
    assert KEYS.trigger not in api.labels


def test_sigterm_while_idle_ends_the_agent_at_once(world: AgentWorld) -> None:
    agent = world.start()
    began_s = time.monotonic()
    agent.terminate()
    assert agent.wait(timeout=EXIT_S_MAX) == 0
    assert time.monotonic() - began_s < 3
    assert world.apiserver.status is None


def test_sigterm_while_waiting_for_the_archive_fails_nothing(world: AgentWorld) -> None:
    api = world.apiserver
    agent = world.start()
    api.request()
    wait_until(lambda: world.orders, "a delivery")
    agent.terminate()
    assert agent.wait(timeout=EXIT_S_MAX) == 0
    assert api.status == "in-progress"
    claim = api.claim
    assert claim is not None
    world.start()
    wait_until(lambda: len(world.orders) > 1, "the successor's delivery")
    api.archive(claim.run_id)
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert world.run_count == 1


def test_sigterm_during_a_delivery_ends_its_child(world: AgentWorld) -> None:
    (world.finish / "hang").write_text("60")
    agent = world.start()
    world.apiserver.request()
    wait_until(
        lambda: [e for e in world.events("exec") if e["message"] == "the run is delivered"], "a delivery at work"
    )
    agent.terminate()
    began_s = time.monotonic()
    assert agent.wait(timeout=EXIT_S_MAX) == 0
    assert time.monotonic() - began_s < 4
    assert len(world.outbox) == 1


def test_agent_killed_after_the_evidence_still_gets_the_run_on_record(world: AgentWorld) -> None:
    api = world.apiserver
    (world.finish / "exit-code").write_text("5")
    world.start()
    api.request()
    claim = wait_until(api.evidence, "evidence")
    kill(world)
    (world.finish / "exit-code").unlink()
    world.start()
    wait_until(lambda: [order for order in world.orders if order["code"] == 0], "a delivery")
    api.archive(claim.run_id)
    wait_until(lambda: not world.outbox, "an empty outbox")
    assert (api.status, world.run_count) == ("completed", 1)


def test_orphan_of_a_killed_agent_is_waited_for_and_its_whole_report_counts(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 2\n{WHOLE}")
    world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    run_id = world.record["claim"]["runId"]
    kill(world)
    world.start()
    claim = wait_until(api.evidence, "evidence of the orphan's report")
    assert (claim.run_id, claim.result.outcome) == (run_id, "complete")
    assert world.run_count == 1
    assert KEYS.trigger not in api.labels


def test_orphan_past_its_deadline_is_ended(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("trap '' TERM; sleep 300 & wait; sleep 300")
    world.start(timeout="2")
    api.collect()
    wait_until(lambda: world.run_count == 1, "a script at work")
    pid = world.script_pid
    kill(world)
    world.start(timeout="2")
    wait_until(lambda: api.status == "failed: interrupted", "an interrupted run")
    assert not is_alive(pid)
    assert world.run_count == 1


def test_request_that_dies_twice_with_its_agent_ends_as_crash_loop(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    world.start()
    api.request("please")
    kill_with_script(world, 1)
    world.start()
    kill_with_script(world, 2)
    world.start()
    wait_until(lambda: api.status == "failed: crash-loop", "a crash loop")
    assert KEYS.trigger not in api.labels
    assert world.run_count == 2


def test_agent_killed_before_the_claim_arrived_decides_afresh(world: AgentWorld) -> None:
    api = world.apiserver
    api.fail("PATCH /api/v1/nodes/gpu-n1", 503, times=1000)
    world.start()
    api.request_by_put()
    wait_until(lambda: world.record and world.record["phase"] == "claimed", "a recorded claim")
    forgotten = world.record["claim"]["runId"]
    kill(world)
    api.ask("DELETE", "/_local/fail")
    world.start()
    claim = wait_until(api.evidence, "evidence")
    assert claim.run_id != forgotten
    assert world.run_count == 1


def test_run_without_a_record_is_interrupted(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    world.start()
    api.collect()
    wait_until(lambda: world.run_count == 1, "a script at work")
    pid = world.script_pid
    kill(world)
    os.killpg(pid, signal.SIGKILL)
    (world.reports / ".state" / "run.json").unlink()
    world.start()
    wait_until(lambda: api.status == "failed: interrupted", "an interrupted run")
    assert world.run_count == 1


def test_record_of_another_boot_is_interrupted(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    world.start()
    api.collect()
    wait_until(lambda: world.run_count == 1, "a script at work")
    kill(world)
    path = world.reports / ".state" / "run.json"
    boot_id = world.record["claim"]["bootId"]
    path.write_text(path.read_text().replace(boot_id, "00000000-0000-4000-8000-000000000000"))
    world.start()
    wait_until(lambda: api.status == "failed: interrupted", "an interrupted run")


def test_damaged_record_is_set_aside(world: AgentWorld) -> None:
    state = world.reports / ".state"
    state.mkdir(parents=True)
    world.reports.chmod(0o700)
    (state / "run.json").write_text('{"schema":1,"phase":')
    world.start()
    world.apiserver.request()
    wait_until(world.apiserver.evidence, "evidence")
    assert (state / "run.json.bad").exists()


def test_newer_agents_unfinished_record_is_left_alone(world: AgentWorld) -> None:
    state = world.reports / ".state"
    state.mkdir(parents=True)
    world.reports.chmod(0o700)
    record = '{"schema":2,"phase":"running","unheardOf":true}'
    (state / "run.json").write_text(record)
    world.start()
    world.apiserver.request()
    wait_until(lambda: world.events("ledger"), "a line about the newer record")
    assert (state / "run.json").read_text() == record
    assert (world.apiserver.status, world.run_count) == (None, 0)


def test_two_agents_run_the_script_once(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script(f"sleep 0.5\n{WHOLE}")
    world.start()
    world.start()
    for number in (1, 2, 3):
        api.request(f"request-{number}")
        claim = wait_until(lambda: KEYS.trigger not in api.labels and api.evidence(), "evidence")
        assert world.run_count == number
        api.archive(claim.run_id)
        wait_until(lambda: not world.outbox, "an empty outbox")
    assert api.status == "completed"


def test_sigterm_ends_the_agent_while_the_apiserver_does_not_answer(world: AgentWorld) -> None:
    api = world.apiserver
    world.write_script("sleep 100")
    agent = world.start()
    api.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    api.fail("GET /api/v1/nodes/gpu-n1", 200, times=1000, delay_s=60)
    agent.terminate()
    agent.wait(timeout=EXIT_S_MAX)
    assert not is_alive(world.script_pid)
