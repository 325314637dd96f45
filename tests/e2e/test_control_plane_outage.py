"""A control plane that dies or stalls in the middle of a run costs time and nothing else."""

import os
import signal
import time

import pytest

from infra.local import topology
from infra.local.control_plane import APISERVER, ETCD
from infra.local.demo_objects import SICK_NODE
from infra.local.identities import ARCHIVE_REPORT
from tests.e2e.world import World, wait_until

AWAY_S = 3.0
STALL_S = 40.0
"""Longer than the 34 seconds after which an apiserver gives a write up whose outcome it does not know."""
RECOVERY_S_MAX = 120.0


def check_one_whole_run(world: World, runs_before: int) -> None:
    assert world.status(SICK_NODE) == "completed"
    assert world.script_runs() == runs_before + 1
    # The agent may have staged once more before it saw the run on record; that event empties staging again.
    wait_until(lambda: world.objects(topology.STAGING) == {}, "empty staging")


@pytest.mark.long
def test_run_ends_completed_when_the_apiserver_dies_while_its_script_runs(real_world: World) -> None:
    before, runs_before = real_world.output(SICK_NODE), real_world.script_runs()

    with real_world.script_held(SICK_NODE):
        real_world.pipeline.supervisor.part(APISERVER).kill()
    time.sleep(AWAY_S)  # the script ends meanwhile, and its evidence finds nobody
    real_world.pipeline.supervisor.restart(APISERVER)

    real_world.wait_on_record(SICK_NODE, before, RECOVERY_S_MAX)
    check_one_whole_run(real_world, runs_before)


@pytest.mark.long
def test_run_ends_completed_when_the_apiserver_dies_while_its_event_is_on_the_way(real_world: World) -> None:
    supervisor = real_world.pipeline.supervisor
    before, runs_before = real_world.output(SICK_NODE), real_world.script_runs()
    supervisor.part(ARCHIVE_REPORT).stop()
    real_world.request(SICK_NODE)
    wait_until(lambda: real_world.new_evidence(SICK_NODE, before), "evidence on the Node")

    supervisor.part(APISERVER).kill()
    supervisor.restart(ARCHIVE_REPORT)
    time.sleep(AWAY_S)  # deliveries fail meanwhile
    supervisor.restart(APISERVER)

    real_world.wait_on_record(SICK_NODE, before, RECOVERY_S_MAX)
    check_one_whole_run(real_world, runs_before)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_run_ends_completed_when_etcd_stalls_in_its_middle(real_world: World) -> None:
    before, runs_before = real_world.output(SICK_NODE), real_world.script_runs()
    etcd = real_world.pipeline.supervisor.part(ETCD).pid

    try:
        with real_world.script_held(SICK_NODE):
            os.kill(etcd, signal.SIGSTOP)
        time.sleep(STALL_S)  # a stall lasts as long as it lasts; the script ends within it
    finally:
        os.kill(etcd, signal.SIGCONT)

    real_world.wait_on_record(SICK_NODE, before, RECOVERY_S_MAX)
    check_one_whole_run(real_world, runs_before)
