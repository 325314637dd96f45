"""Fixtures of the functions' tests; the world they play in is `world.py`."""

import pytest

from tests.functions.world import World, build_report


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def report() -> bytes:
    return build_report()
