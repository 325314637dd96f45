"""What is wrong at the start is said in one line with what to do; what may get better is waited for."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.agent_world import AgentWorld, wait_until


def put_file_above(path: Path) -> None:
    path.parent.touch()


def put_open_folder(path: Path) -> None:
    path.mkdir(parents=True)
    path.chmod(0o777)


def put_link(path: Path) -> None:
    path.parent.mkdir()
    (path.parent / "real").mkdir(mode=0o700)
    path.symlink_to(path.parent / "real")


def put_dangling_link(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("/nowhere/at/all")


def put_file(path: Path) -> None:
    path.parent.mkdir()
    path.touch()


def assert_refused(world: AgentWorld, want: str) -> None:
    assert world.launch().wait(timeout=20) == 2
    lines = world.logs[-1].read_text().splitlines()
    assert len(lines) == 1
    assert want in lines[0]


@pytest.mark.parametrize(
    ("put", "want"),
    [
        (put_file, "is no folder"),
        (put_file_above, "above it is no folder"),
        (put_link, "is a link"),
        (put_dangling_link, "is a link"),
        (put_open_folder, "written by others"),
    ],
)
def test_reports_folder_that_is_not_ours_is_refused_and_not_touched(
    world: AgentWorld, put: Callable[[Path], None], want: str
) -> None:
    world.reports = world.folder / "above" / "reports"
    put(world.reports)
    assert_refused(world, want)
    assert list(world.folder.rglob(".state")) == []


@pytest.mark.parametrize(
    ("text", "want"), [(None, "No such file"), ("", "no certificate in PEM"), ("nope\n", "no certificate in PEM")]
)
def test_wrong_ca_file_is_named(world: AgentWorld, text: str | None, want: str) -> None:
    ca = world.folder / "ca.pem"
    if text is not None:
        ca.write_text(text)
    world.apiserver.ca = ca
    assert_refused(world, want)
    assert "--ca-file" in world.logs[-1].read_text()


def test_disk_that_cannot_be_written_yet_is_waited_for(world: AgentWorld, small_disk: Callable[..., Path]) -> None:
    disk = small_disk("1m", world.folder / "disk")
    world.reports = disk / "reports"
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    agent = world.launch()
    wait_until(lambda: world.events("disk"), "a line about the disk")
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    world.apiserver.request()
    wait_until(world.apiserver.evidence, "evidence")
    assert len(world.events("disk")) == 1
    agent.terminate()
    assert agent.wait(timeout=20) == 0


def test_agent_that_waits_for_its_disk_ends_at_once(world: AgentWorld, small_disk: Callable[..., Path]) -> None:
    disk = small_disk("1m", world.folder / "disk")
    world.reports = disk / "reports"
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    agent = world.launch()
    wait_until(lambda: world.events("disk"), "a line about the disk")
    agent.terminate()
    assert agent.wait(timeout=5) == 0


@pytest.mark.parametrize("name", ["run.json", f"outbox/{'1' * 32}.json", "lock", "outbox"])
def test_wrong_thing_in_a_state_files_place_is_set_aside(world: AgentWorld, name: str) -> None:
    state = world.reports / ".state"
    state.mkdir(parents=True)
    world.reports.chmod(0o700)
    if name == "outbox":
        (state / name).touch()
    else:
        (state / name).mkdir(parents=True)
    world.start()
    world.apiserver.request()
    wait_until(world.apiserver.evidence, "evidence")
    assert os.path.lexists(state / f"{name}.bad")
