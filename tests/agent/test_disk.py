"""A disk that is full, broken or in disorder ends a run truthfully; the agent goes on, and ends when it is told to."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.agent_faults import fill
from tests.agent.agent_world import KEYS, WHOLE, AgentWorld, wait_until

EXIT_S_MAX = 20.0
BROKEN_WORK = 'd=$(pwd); cd /; rm -r "$d"; echo x > "$d"'


@pytest.fixture
def disk(world: AgentWorld, small_disk: Callable[..., Path]) -> Iterator[Path]:
    """The reports folder as a disk of its own, of 1 MiB."""
    yield small_disk("1m", world.reports)
    world.stop()


def remount(disk: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(disk)], check=True)


def end_of(world: AgentWorld, label: str) -> str:
    """Ask, and return the status that the request ended in: `evidence` for a report."""
    api = world.apiserver
    api.request(label)

    def look() -> str | None:
        if KEYS.trigger in api.labels:
            return None
        return "evidence" if api.status == "in-progress" and api.evidence() else api.status

    return str(wait_until(look, f"the end of request {label}"))


def assert_ends_at_once(world: AgentWorld) -> None:
    world.processes[-1].terminate()
    assert world.processes[-1].wait(timeout=EXIT_S_MAX) == 0


def assert_nothing_left(world: AgentWorld) -> None:
    assert [name for name in os.listdir(world.reports) if name.startswith(".work")] == []


def test_script_that_replaces_its_folder_by_a_file_ends_its_run_alone(world: AgentWorld) -> None:
    world.write_script(f"{BROKEN_WORK}; exit 0")
    world.start()
    assert end_of(world, "first") == "failed: no-report"
    assert_nothing_left(world)
    world.write_script(WHOLE)
    assert end_of(world, "second") == "evidence"
    assert_ends_at_once(world)


def test_broken_work_folder_does_not_stop_a_restarted_agent(world: AgentWorld) -> None:
    world.write_script(f"{BROKEN_WORK}; sleep 100")
    world.start()
    world.apiserver.collect()
    wait_until((world.reports / ".work").is_file, "a broken work folder")
    world.processes[-1].kill()
    world.processes[-1].wait(timeout=10)
    os.killpg(world.script_pid, 9)
    world.start()
    wait_until(lambda: world.apiserver.status == "failed: interrupted", "an interrupted run")
    wait_until(lambda: not (world.reports / ".work").exists(), "no work folder")
    world.write_script(WHOLE)
    assert end_of(world, "second") == "evidence"


def test_process_that_goes_on_writing_into_the_work_folder_holds_up_nothing(world: AgentWorld) -> None:
    stop = world.folder / "stop"
    writer = f"while [ ! -e {stop} ]; do i=$((i+1)); mkdir -p a b; : > a/$i; : > b/$i; done"
    world.write_script(f"setsid sh -c 'exec 9>&-; {writer}' >/dev/null 2>&1 & sleep 0.3; exit 3")
    world.start()
    try:
        assert end_of(world, "first") == "failed: script-failed"
        assert_ends_at_once(world)
    finally:
        stop.touch()


def test_disk_that_becomes_read_only_during_the_script_ends_the_run(world: AgentWorld, disk: Path) -> None:
    world.write_script(f"{WHOLE}; sleep 1.5")
    world.start()
    world.apiserver.request("first")
    wait_until(lambda: world.run_count == 1, "a script at work")
    remount(disk, "ro")
    wait_until(lambda: world.apiserver.status == "failed: disk", "a run failed by the disk")
    assert end_of(world, "second") == "failed: disk"
    wait_until(lambda: len(world.orders) >= 2, "both on their way to the archive")
    assert world.events("internal") == []
    remount(disk, "rw")
    world.write_script(WHOLE)
    assert end_of(world, "third") == "evidence"
    assert world.run_count == 2
    assert_ends_at_once(world)


def test_end_that_the_disk_did_not_take_stands_after_a_restart(world: AgentWorld, disk: Path) -> None:
    (world.finish / "exit-code").write_text("5")
    world.write_script(f"{WHOLE}; sleep 1.5")
    world.start()
    world.apiserver.request()
    wait_until(lambda: world.run_count == 1, "a script at work")
    remount(disk, "ro")
    wait_until(lambda: world.apiserver.status == "failed: disk", "a run failed by the disk")
    world.processes[-1].kill()
    world.processes[-1].wait(timeout=10)
    remount(disk, "rw")
    assert world.record["phase"] == "running"
    (world.finish / "exit-code").unlink()
    world.start()
    order = wait_until(lambda: [order for order in world.orders if order["code"] == 0], "a delivery")[0]
    assert order["claim"]["result"]["reason"] == "disk"
    assert (world.apiserver.status, world.run_count) == ("failed: disk", 1)
    assert_nothing_left(world)


def test_disk_that_fills_up_with_reports_takes_every_run(world: AgentWorld, disk: Path) -> None:
    world.write_script('printf WHOLE > "$out.gz"; head -c 300000 /dev/zero >> "$out.gz"; exit 0')
    world.start()
    for number in range(6):
        assert end_of(world, f"request-{number}") == "evidence"
        claim = world.apiserver.claim
        assert claim is not None
        world.apiserver.archive(claim.run_id)
        wait_until(lambda: not world.outbox, "an empty outbox")
    assert world.events("internal") == []
    assert len(world.report_files) <= 5


def test_oldest_report_goes_before_the_next_one_is_kept(world: AgentWorld) -> None:
    world.start(max_reports="2")
    for number in range(4):
        assert end_of(world, f"request-{number}") == "evidence"
        claim = world.apiserver.claim
        assert claim is not None
        world.apiserver.archive(claim.run_id)
        wait_until(lambda: not world.outbox, "an empty outbox")
        assert len(world.report_files) == min(2, number + 1)


def test_report_that_is_not_archived_is_never_deleted(world: AgentWorld) -> None:
    (world.finish / "exit-code").write_text("5")
    world.start(max_reports="1")
    for number in range(3):
        assert end_of(world, f"request-{number}") == "evidence"
        claim = world.apiserver.claim
        assert claim is not None
        world.apiserver.merge(annotations={KEYS.status: "completed"})
    assert len(world.report_files) == 3


def test_request_on_a_full_disk_fails_and_the_next_one_is_served(world: AgentWorld, disk: Path) -> None:
    world.start()
    fill(disk)
    (disk / ".state" / "reserve").unlink(missing_ok=True)
    fill(disk)
    assert end_of(world, "first") == "failed: disk"
    said = [line["message"] for line in world.events("disk")]
    assert len(said) == len(set(said))
    assert world.events("internal") == []
    assert world.run_count == 0
    order = wait_until(lambda: world.orders, "a delivery")[0]
    claim = world.apiserver.claim
    assert claim is not None
    assert order["claim"]["runId"] == claim.run_id
    (disk / "filler").unlink()
    assert end_of(world, "second") == "evidence"


def test_automatic_request_on_a_full_disk_is_refused_once(world: AgentWorld, disk: Path) -> None:
    world.start()
    fill(disk)
    (disk / ".state" / "reserve").unlink()
    fill(disk)
    world.apiserver.collect()
    wait_until(lambda: world.apiserver.status == "failed: disk", "a refusal")
    wait_until(lambda: world.orders, "a delivery")
    assert len({order["claim"]["runId"] for order in world.orders}) == 1
    assert_ends_at_once(world)


def test_report_that_got_its_name_before_the_agent_died_counts(world: AgentWorld) -> None:
    world.write_script("sleep 100")
    world.start()
    world.apiserver.request()
    wait_until(lambda: world.record and "scriptSessionId" in world.record, "a script at work")
    world.processes[-1].kill()
    world.processes[-1].wait(timeout=10)
    os.killpg(world.script_pid, 9)
    name = "nvidia-bug-report-20261130T091506Z-manual.log.gz"
    (world.reports / name).write_text("WHOLE")
    record = world.record | {"reportPath": f"{world.reports}/{name}"}
    (world.reports / ".state" / "run.json").write_text(json.dumps(record))
    world.start()
    claim = wait_until(world.apiserver.evidence, "evidence")
    assert claim.result.file_path == f"{world.reports}/{name}"
    assert (world.report_files, world.run_count) == ([name], 1)
    assert_nothing_left(world)
