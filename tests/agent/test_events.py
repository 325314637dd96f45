"""Events on the Node, from the whole agent as a process, read where `kubectl describe node` reads them."""

from typing import Any

from tests.agent.agent_world import NODE, AgentWorld, wait_until


def read_events(world: AgentWorld) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = world.apiserver.ask("GET", "/api/v1/namespaces/default/events")["items"]
    return items


def test_completed_run_is_a_normal_event_of_the_very_node(world: AgentWorld) -> None:
    api = world.apiserver
    world.start()
    api.request()
    claim = wait_until(api.evidence, "evidence")
    api.archive(claim.run_id)

    [event] = wait_until(lambda: read_events(world), "an Event")

    assert (event["type"], event["reason"]) == ("Normal", "GPUReportCompleted")
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": api.metadata["uid"]}
    assert event["source"]["component"] == "gpu-report-agent"
    assert claim.run_id in event["message"]


def test_refusal_is_a_warning_event(world: AgentWorld) -> None:
    api = world.apiserver
    api.merge(labels={"cloud.google.com/disable-gpu-report": "true"})
    world.start()
    api.collect()

    [event] = wait_until(lambda: read_events(world), "an Event")

    assert (event["type"], event["reason"]) == ("Warning", "GPUReportFailed")
    assert event["message"].startswith("NVIDIA bug report failed: disabled.")


def test_event_of_an_interrupted_run_is_sent_before_the_agent_ends(world: AgentWorld) -> None:
    world.write_script("sleep 60")
    agent = world.start()
    world.apiserver.request()
    wait_until(lambda: world.run_count, "the script")

    agent.terminate()
    agent.wait(20)

    [event] = read_events(world)
    assert event["message"].startswith("NVIDIA bug report failed: interrupted.")


def test_event_that_is_refused_for_a_moment_is_sent_again(world: AgentWorld) -> None:
    api = world.apiserver
    api.fail("POST /api/v1/namespaces/default/events", 403, times=2)
    api.merge(labels={"cloud.google.com/disable-gpu-report": "true"})
    world.start()
    api.collect()

    assert len(wait_until(lambda: read_events(world), "an Event")) == 1
