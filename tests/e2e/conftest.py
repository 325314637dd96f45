"""One running pipeline for all end-to-end tests.

Every event goes through push and through functions-framework serving the bundle.
"""

from collections.abc import Iterator

import pytest

from infra.local.pipeline import Pipeline, Settings
from tests.e2e.world import CAPTURES, World, write_counting_script


@pytest.fixture(scope="session")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    work = tmp_path_factory.mktemp("pipeline")
    script, runs = write_counting_script(work / "host")
    with Pipeline(Settings(work=work / "local", script=script, timeout_s=20, delivery_backoff_s=2)) as pipeline:
        pipeline.start()
        world = World(pipeline, runs)
        yield world
        world.close()


@pytest.fixture
def world(shared_world: World) -> World:
    """The running pipeline, quiet and with nothing captured."""
    shared_world.wait_quiet()
    for topic in CAPTURES:
        shared_world.captured(topic)
    return shared_world
