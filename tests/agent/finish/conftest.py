"""The finish child as it runs on a node: its own laid folder, real processes, and the servers that it talks to."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
import pytest
from google.pubsub_v1 import PublisherClient, SubscriberClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from infra.layout import lay_finish_home

REPOSITORY = Path(__file__).resolve().parents[3]
RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"
NEVER_LISTENS = "127.0.0.1:9"


class Finished(NamedTuple):
    code: int
    answer: dict[str, Any]
    stderr: str


def claim(**members):
    """A claim as it stands on the Node; members given as None are left out."""
    whole = {
        "schema": 1,
        "runId": RUN_ID,
        "trigger": "manual",
        "executor": "own",
        "nodeUid": "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f",
        "bootId": "0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f",
        "startedAt": "2026-11-30T09:15:00Z",
        "deadlineAt": "2026-11-30T09:47:10Z",
        "agentVersion": "0.1.0",
        **members,
    }
    return {name: value for name, value in whole.items() if value is not None}


@pytest.fixture(name="claim", scope="session")
def claim_builder():
    return claim


@pytest.fixture(scope="session")
def run_id():
    return RUN_ID


@pytest.fixture(scope="session")
def finish_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("finish") / "home"
    lay_finish_home(home)
    return home


@pytest.fixture(scope="session")
def run_finish(finish_home):
    """Run one command of the child to its end."""

    def run(*arguments, stdin=b"", **environment):
        process = subprocess.run(
            [sys.executable, "-I", str(finish_home), "finish", *arguments],
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
            env={"PATH": os.environ["PATH"], **environment},
        )
        lines = process.stdout.splitlines()
        return Finished(process.returncode, json.loads(lines[0]) if lines else {}, process.stderr.decode())

    return run


class Storage:
    """The local Cloud Storage with one staging bucket."""

    def __init__(self, url):
        self.url = url
        self.ask("POST", "/storage/v1/b?project=local", json.dumps({"name": "staging"}).encode())

    def ask(self, method, path, body=None):
        target = urlsplit(self.url)
        connection = HTTPConnection(target.hostname, target.port, timeout=10)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def names(self):
        items = json.loads(self.ask("GET", "/storage/v1/b/staging/o")[1]).get("items", [])
        return [item["name"] for item in items]

    def content(self, name):
        return self.ask("GET", f"/storage/v1/b/staging/o/{name.replace('/', '%2F')}?alt=media")[1]


class PubSub:
    """The local Pub/Sub with one topic and a subscription to pull from."""

    def __init__(self, address):
        self.address = address
        self._channel = grpc.insecure_channel(address)
        self._subscriber = SubscriberClient(transport=SubscriberGrpcTransport(channel=self._channel))
        publisher = PublisherClient(transport=PublisherGrpcTransport(channel=self._channel))
        publisher.create_topic(name="projects/local/topics/reports", timeout=10)
        self._subscriber.create_subscription(
            request={"name": "projects/local/subscriptions/all", "topic": "projects/local/topics/reports"}, timeout=10
        )

    def take(self):
        """Take the messages that wait."""
        request = {"subscription": "projects/local/subscriptions/all", "max_messages": 100, "return_immediately": True}
        with pytest.warns(DeprecationWarning, match="return_immediately"):
            received = self._subscriber.pull(request=request, timeout=10).received_messages
        if received:
            ids = [message.ack_id for message in received]
            self._subscriber.acknowledge(
                request={"subscription": "projects/local/subscriptions/all", "ack_ids": ids}, timeout=10
            )
        return [message.message for message in received]

    def close(self):
        self._channel.close()


@pytest.fixture(scope="session")
def serve():
    """Start servers of ours as processes; each prints `ready ADDRESS`, and is ended when the session is over."""
    with ExitStack() as stack:

        def start(*arguments):
            command = [sys.executable, "-m", *arguments]
            process = stack.enter_context(subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True))
            stack.callback(process.wait, 15)
            stack.callback(process.terminate)
            word, _, address = process.stdout.readline().strip().partition(" ")
            assert word == "ready"
            return address

        yield start


@pytest.fixture(scope="session")
def storage(serve, tmp_path_factory):
    return Storage(serve("infra.local.gcs_proxy", "--root", str(tmp_path_factory.mktemp("storage"))))


@pytest.fixture(scope="session")
def pubsub(serve):
    running = PubSub(serve("infra.local.pubsub"))
    yield running
    running.close()


@pytest.fixture
def deliver(run_finish, storage, pubsub):
    """Run `finish deliver` with an order against the local servers."""

    def run(order, *, bucket="staging", topic="reports", **environment):
        servers = {"STORAGE_EMULATOR_HOST": storage.url, "PUBSUB_EMULATOR_HOST": pubsub.address}
        flags = ["--project", "local", "--bucket", bucket, "--topic", topic]
        stdin = order if isinstance(order, bytes) else json.dumps(order).encode()
        return run_finish("deliver", *flags, stdin=stdin, **{**servers, **environment})

    return run
