"""The servers, started once, and each test's own corner of them."""

from collections.abc import Iterator

import pytest

from tests.contract.pubsub.push_sink import PushSink
from tests.contract.pubsub.servers import PubSub, Server, run_server


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The broker."""
    with run_server("broker", tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Google's emulator; where it is missing, what needs it fails by its name."""
    with run_server("emulator", tmp_path_factory.mktemp("emulator")) as running:
        yield running


@pytest.fixture(params=["broker", "emulator"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each server in turn."""
    running: Server = request.getfixturevalue(request.param)
    return running


@pytest.fixture
def pubsub(server: Server) -> Iterator[PubSub]:
    """Fresh topics and subscriptions on a server."""
    client = PubSub(server)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def sink() -> Iterator[PushSink]:
    """A push endpoint of this test's own."""
    endpoint = PushSink()
    try:
        yield endpoint
    finally:
        endpoint.close()
