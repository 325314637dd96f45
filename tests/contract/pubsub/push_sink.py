"""A push endpoint whose answers a test chooses, and which remembers every request."""

import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import NamedTuple

REQUESTS_MAX = 10_000


class Received(NamedTuple):
    """One push request; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float


class PushSink:
    """Serves on loopback. Answers come from `answers`, then `answer`; `gate`, if cleared, holds every answer back."""

    def __init__(self, port: int = 0) -> None:
        self.answer = 204
        self.answers: deque[int] = deque()
        self.gate = threading.Event()
        self.gate.set()
        self.in_flight_max = 0
        self._in_flight = 0
        self._received: list[Received] = []
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._build_handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where to push to."""
        return f"http://127.0.0.1:{self._server.server_port}/push"

    def received(self) -> list[Received]:
        """Return all requests so far."""
        with self._changed:
            return list(self._received)

    def wait_for(self, count: int, timeout_s: float = 15.0) -> list[Received]:
        """Wait until that many requests have come, and return all."""
        return self.wait_until(lambda received: len(received) >= count, timeout_s)

    def wait_until(self, holds: Callable[[list[Received]], bool], timeout_s: float = 15.0) -> list[Received]:
        """Wait until the condition holds for what was received, and return that."""
        with self._changed:
            if not self._changed.wait_for(lambda: holds(self._received), timeout_s):
                raise AssertionError(f"after {timeout_s} s there are {len(self._received)} push requests")
            return list(self._received)

    def count_after(self, seconds: float) -> int:
        """Return how many requests there are once no new one has come for so long, or at the first that does."""
        with self._changed:
            before = len(self._received)
            self._changed.wait_for(lambda: len(self._received) > before, seconds)
            return len(self._received)

    def close(self) -> None:
        """Stop serving."""
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _enter(self, request: Received) -> int:
        with self._changed:
            self._in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self._in_flight)
            if len(self._received) < REQUESTS_MAX:
                self._received.append(request)
            self._changed.notify_all()
            return self.answers.popleft() if self.answers else self.answer

    def _leave(self) -> None:
        with self._changed:
            self._in_flight -= 1

    def _build_handler(self) -> type[BaseHTTPRequestHandler]:
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = sink._enter(Received(self.path, headers, body, monotonic()))
                sink.gate.wait(30)
                sink._leave()
                try:
                    self.send_response(status)
                    self.send_header("content-length", "0")
                    self.end_headers()
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the base class)
                """Nothing: the tests look at what was received."""

        return Handler
