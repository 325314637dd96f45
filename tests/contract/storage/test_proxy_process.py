"""The proxy as a process: it ends at once when told, and takes the server behind with it however it ends."""

import os
import signal
import time
from pathlib import Path

import pytest


def list_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("number", "want"), [(signal.SIGTERM, 0), (signal.SIGINT, 0)])
def test_a_signal_ends_both_within_a_second(start_proxy, number, want):
    proxy = start_proxy()
    [server] = list_children(proxy.child.pid)
    started_at = time.monotonic()
    assert proxy.end(number) == want
    assert time.monotonic() - started_at < 1.0
    assert not is_running(server)


def test_a_killed_proxy_leaves_no_child(start_proxy, wait_until):
    proxy = start_proxy()
    [server] = list_children(proxy.child.pid)
    proxy.end(signal.SIGKILL)
    assert wait_until(lambda: not is_running(server), timeout_s=2.0)


def test_the_proxy_ends_with_status_one_when_the_server_dies(start_proxy):
    proxy = start_proxy()
    [server] = list_children(proxy.child.pid)
    signal.pidfd_send_signal(os.pidfd_open(server), signal.SIGKILL)
    assert proxy.child.wait(5) == 1
    proxy.child.stdout.close()


def test_objects_outlive_the_proxy(start_proxy, connect, tmp_path):
    proxy = start_proxy()
    before = connect(proxy.url)
    before.put("a", b"kept")
    generation = before.generation("a")
    proxy.end()
    again = start_proxy("--root", str(tmp_path / "proxy-0"))
    before.url = again.url
    assert (before.content("a"), before.generation("a")) == (b"kept", generation)


def test_what_would_slip_past_the_conditions_is_not_served(requester):
    for method, path in [("PUT", f"/{requester.bucket}/a"), ("POST", "/batch/storage/v1")]:
        assert requester.ask(method, path, body=b"x").status == 501


def test_links_in_metadata_lead_to_the_proxy(requester):
    stored = requester.put("a/b", b"bytes").json
    assert stored["selfLink"].startswith(requester.url)
    assert requester.ask("GET", stored["mediaLink"].removeprefix(requester.url)).body == b"bytes"


def test_a_body_in_chunks_is_stored(requester):
    query = {"uploadType": "media", "name": "a"}
    path = f"/upload/storage/v1/b/{requester.bucket}/o"
    assert requester.ask("POST", path, query, iter([b"in ", b"chunks"])).status == 200
    assert requester.content("a") == b"in chunks"
