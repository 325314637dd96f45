"""What GoogleBucket takes from the environment, and when: proxies, at its first call and never again."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gpureport.adapters.google_storage import GoogleBucket

NOBODY = "http://127.0.0.1:9"
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def set_proxies(monkeypatch):
    """Set the proxies of the environment, by their lower-case names, and nothing else of the kind."""

    def set_all(**values: str) -> None:
        for name in PROXY_VARIABLES:
            monkeypatch.delenv(name.upper(), raising=False)
            monkeypatch.delenv(name, raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.fixture
def http_proxy():
    """Serve as an HTTP proxy behind which there is nothing: its URL, and the URLs that it is asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_requests_go_by_the_proxy_of_the_environment(monkeypatch, set_proxies, http_proxy):
    url, asked = http_proxy
    set_proxies(http_proxy=url)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://storage.invalid")
    assert GoogleBucket("any", project="test").stat("a") is None
    assert [one.partition("?")[0] for one in asked] == ["http://storage.invalid/storage/v1/b/any/o/a"]


def test_requests_pass_the_proxy_by_where_the_environment_says_so(requester, open_bucket, set_proxies):
    set_proxies(http_proxy=NOBODY, no_proxy="127.0.0.1")
    assert open_bucket(requester).create("a", b"bytes", "text/plain") is not None


def test_the_environment_is_asked_at_the_first_call_alone(requester, open_bucket, set_proxies):
    set_proxies()
    bucket = open_bucket(requester)
    stored = bucket.create("a", b"bytes", "text/plain")
    set_proxies(http_proxy=NOBODY)
    assert bucket.stat("a") == stored
