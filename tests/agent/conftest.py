"""The world of the agent's tests: a stand-in apiserver for each test, the laid agent home and certificates once."""

import compileall
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.layout import lay_agent_home
from infra.local.certificates import ensure_certificates
from tests.agent.agent_world import WHOLE, AgentWorld, Apiserver


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount disks of their own: a full or a read-only one can be had no other way."""
    if os.geteuid() != 0:
        pytest.skip("a disk of its own needs root: run the tests as root in a mount namespace (unshare --mount)")
    mounted: list[Path] = []

    def mount(size: str, at: Path | None = None) -> Path:
        disk = at or tmp_path / f"disk-{len(mounted)}"
        disk.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", str(disk)], check=True)
        mounted.append(disk)
        return disk

    yield mount
    for disk in mounted:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture(scope="session")
def agent_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the agent runs from, compiled as in the image."""
    home = tmp_path_factory.mktemp("agent") / "home"
    lay_agent_home(home)
    compileall.compile_dir(home, quiet=1)
    return home


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def apiserver(tmp_path: Path, certificates: Any) -> Iterator[Apiserver]:
    server = Apiserver(tmp_path, certificates)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def world(tmp_path: Path, agent_home: Path, apiserver: Apiserver) -> Iterator[AgentWorld]:
    """A node with a script that leaves a whole report at once, and no agent yet."""
    apiserver.create_node()
    world = AgentWorld(tmp_path, agent_home, apiserver)
    world.write_script(WHOLE)
    try:
        yield world
    finally:
        world.stop()
