"""What is away for a while, or dies, costs time and nothing else."""

import time

import pytest

from infra.local import topology
from infra.local.demo_objects import SICK_NODE
from infra.local.identities import FUNCTIONS
from infra.local.pipeline import agent_name
from tests.e2e.world import World, wait_until

AWAY_S = 30.0


@pytest.mark.long
def test_run_ends_completed_after_functions_were_away_and_the_agent_was_killed(real_world: World) -> None:
    supervisor = real_world.pipeline.supervisor
    before, runs_before = real_world.output(SICK_NODE), real_world.script_runs()
    for function in FUNCTIONS:
        supervisor.part(function).stop()
    stopped_at = time.monotonic()

    real_world.request(SICK_NODE)
    wait_until(lambda: real_world.new_evidence(SICK_NODE, before), "evidence on the Node")
    supervisor.part(agent_name(SICK_NODE)).kill()
    time.sleep(max(0.0, stopped_at + AWAY_S - time.monotonic()))  # an outage lasts as long as it lasts
    assert real_world.status(SICK_NODE) == "in-progress"
    for name in (*FUNCTIONS, agent_name(SICK_NODE)):
        supervisor.restart(name)

    output = real_world.wait_on_record(SICK_NODE, before)

    assert real_world.status(SICK_NODE) == "completed"
    assert output.archived is not None
    assert real_world.script_runs() == runs_before + 1
    # The agent may have staged once more before it saw the run on record; that event empties staging again.
    wait_until(lambda: real_world.objects(topology.STAGING) == {}, "empty staging")
