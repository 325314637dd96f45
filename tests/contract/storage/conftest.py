"""Storage to hold to the contract: proxies with a fake-gcs-server behind, buckets of both kinds, requests by hand."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from gpureport.adapters.google_storage import GoogleBucket
from tests.contract.storage.servers import find_server
from tests.fakes.object_store import MemoryBucket, MemoryStore

REPOSITORY = Path(__file__).resolve().parents[3]
PROXIES = {"1.54.0": "wheel_proxy", "1.56.1": "built_proxy"}

_bucket_numbers = itertools.count(1)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Requester:
    """Requests by hand, each on a connection of its own; `bucket` is a fresh one."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bucket = f"bucket-{os.getpid()}-{next(_bucket_numbers):05}"
        self.ask("POST", "/storage/v1/b", {"project": "test"}, json.dumps({"name": self.bucket}).encode())

    def ask(self, method: str, path: str, query=None, body: bytes = b"", headers=None) -> Answer:
        target = urlsplit(self.url)
        connection = HTTPConnection(target.hostname or "", target.port, timeout=30)
        try:
            connection.request(method, path + ("?" + urlencode(query) if query else ""), body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def put(self, name: str, data: bytes, **query) -> Answer:
        path = f"/upload/storage/v1/b/{self.bucket}/o"
        return self.ask("POST", path, {"uploadType": "media", "name": name, **query}, data, {"Content-Type": "text/x"})

    def generation(self, name: str) -> int:
        return int(self.ask("GET", f"/storage/v1/b/{self.bucket}/o/{name}").json["generation"])

    def content(self, name: str) -> bytes | None:
        answer = self.ask("GET", f"/download/storage/v1/b/{self.bucket}/o/{name}", {"alt": "media"})
        return answer.body if answer.status == 200 else None

    def fail(self, **fault) -> None:
        assert self.ask("POST", "/_local/fail", body=json.dumps(fault).encode()).status == 200

    def served(self) -> list[str]:
        return self.ask("GET", "/_local/served").json


class Proxy:
    """One proxy process, and what it started."""

    def __init__(self, root: Path, *options: str) -> None:
        launcher = [sys.executable, "-I", "-S", "infra/local/launch.py", "--"]
        command = [sys.executable, "-m", "infra.local.gcs_proxy", "--root", str(root), *options]
        self.child = subprocess.Popen([*launcher, *command], cwd=REPOSITORY, stdout=subprocess.PIPE)
        assert self.child.stdout is not None
        ready = self.child.stdout.readline().decode().split()
        assert ready[:1] == ["ready"]
        self.url = ready[1]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.child.send_signal(number)
        status = self.child.wait(10)
        assert self.child.stdout is not None
        self.child.stdout.close()
        return status


@pytest.fixture(scope="session")
def wheel_proxy(tmp_path_factory):
    """The proxy with the server of the wheel, which everybody has."""
    proxy = Proxy(tmp_path_factory.mktemp("wheel"))
    yield proxy
    proxy.end()


@pytest.fixture(scope="session")
def built_proxy(tmp_path_factory):
    """The proxy with the newer server; where that is missing, what needs it fails by its name."""
    proxy = Proxy(tmp_path_factory.mktemp("built"), "--server", str(find_server("1.56.1")))
    yield proxy
    proxy.end()


@pytest.fixture(params=PROXIES.values(), ids=PROXIES)
def storage_proxy(request):
    """The proxy with each server behind in turn; what it promises is the same."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def start_proxy(tmp_path):
    """Start proxies of the test's own; what still runs at the end is ended."""
    proxies = []

    def start(*options: str) -> Proxy:
        proxies.append(Proxy(tmp_path / f"proxy-{len(proxies)}", *options))
        return proxies[-1]

    yield start
    for proxy in proxies:
        if proxy.child.returncode is None:
            proxy.end()


@pytest.fixture
def connect():
    """Make requests to a server given by its URL."""
    return Requester


@pytest.fixture
def requester(storage_proxy):
    """Requests to the proxy; failures that were ordered and did not happen are called off at the end."""
    requester = Requester(storage_proxy.url)
    yield requester
    assert requester.ask("DELETE", "/_local/fail").status == 204


@pytest.fixture
def judged(storage_proxy):
    """Requests to the proxy whose conditions are judged."""
    return Requester(storage_proxy.url)


@pytest.fixture
def open_bucket(monkeypatch):
    """Open a requester's bucket with the vendor's library, as our code does."""

    def open_by(requester: Requester, *, name: str | None = None, retry_deadline_s: float = 20.0) -> GoogleBucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", requester.url)
        return GoogleBucket(name or requester.bucket, project="test", retry_deadline_s=retry_deadline_s)

    return open_by


class MemorySubject:
    """Two buckets of the fake, and a way to overwrite beside the port."""

    def __init__(self) -> None:
        store = MemoryStore()
        self.bucket: MemoryBucket = store.bucket("first")
        self.other: MemoryBucket = store.bucket("second")

    def replace(self, name: str, data: bytes) -> None:
        self.bucket.replace(name, data)

    def content_type(self, name: str) -> str:
        return self.bucket.content_type(name)


class GoogleSubject:
    """Two buckets behind the vendor's library, and a way to overwrite beside the port."""

    def __init__(self, url: str, open_bucket) -> None:
        self._requester = Requester(url)
        self.bucket: GoogleBucket = open_bucket(self._requester)
        self.other: GoogleBucket = open_bucket(Requester(url))

    def replace(self, name: str, data: bytes) -> None:
        assert self._requester.put(name, data).status == 200

    def content_type(self, name: str) -> str:
        return self._requester.ask("GET", f"/storage/v1/b/{self._requester.bucket}/o/{name}").json["contentType"]


@pytest.fixture(params=["memory", *PROXIES])
def subject(request):
    """Each implementation of the object ports in turn."""
    if request.param == "memory":
        return MemorySubject()
    url = request.getfixturevalue(PROXIES[request.param]).url
    return GoogleSubject(url, request.getfixturevalue("open_bucket"))


@pytest.fixture
def wait_until():
    """Poll until a condition holds, and say whether it came to hold in time."""

    def wait(condition, timeout_s: float) -> bool:
        give_up_at = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > give_up_at:
                return False
            time.sleep(0.01)
        return True

    return wait
