"""Two running pipelines for all end-to-end tests, the same but for the cluster: the stand-in, and a real control plane.

Every event goes through push and through functions-framework serving the bundle.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.local.pipeline import REAL, STAND_IN, Pipeline, Settings
from tests.e2e.world import CAPTURES, World, write_counting_script


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what judges the audit log come after everything that fills it."""
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)


@contextmanager
def run_world(work: Path, cluster: str) -> Iterator[World]:
    script = write_counting_script(work / "host")
    settings = Settings(work=work / "local", script=script.path, timeout_s=20, cluster=cluster, delivery_backoff_s=2)
    with Pipeline(settings) as pipeline:
        pipeline.start()
        world = World(pipeline, script)
        yield world
        world.close()


@pytest.fixture(scope="session")
def shared_stand_in_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with run_world(tmp_path_factory.mktemp("stand-in"), STAND_IN) as world:
        yield world


@pytest.fixture(scope="session")
def shared_real_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with run_world(tmp_path_factory.mktemp("real"), REAL) as world:
        yield world


@pytest.fixture(params=[STAND_IN, REAL])
def world(request: pytest.FixtureRequest) -> World:
    """The running pipeline on either cluster, quiet and with nothing captured."""
    name = {STAND_IN: "shared_stand_in_world", REAL: "shared_real_world"}[request.param]
    return quieten(request.getfixturevalue(name))


@pytest.fixture
def real_world(shared_real_world: World) -> World:
    """The running pipeline on the real control plane, quiet and with nothing captured."""
    return quieten(shared_real_world)


def quieten(world: World) -> World:
    world.wait_quiet()
    for topic in CAPTURES:
        world.captured(topic)
    return world
