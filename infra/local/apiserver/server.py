"""How requests come in and answers go out: sockets, TLS, HTTP, and the hooks under /_local/.

What an answer says is decided elsewhere.
"""

import select
import socket
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from infra.local.apiserver.authorization import check_rights
from infra.local.apiserver.failures import (
    Failure,
    build_bad_request,
    build_method_not_allowed,
    build_too_large,
    build_unsupported_media_type,
)
from infra.local.apiserver.faults import Fault, Faults
from infra.local.apiserver.hooks import call_hook
from infra.local.apiserver.openapi import build_openapi
from infra.local.apiserver.operations import Answer, Operations, parse_body
from infra.local.apiserver.resources import VERSION, build_discovery
from infra.local.apiserver.routes import Target, parse_target
from infra.local.apiserver.store import Store, encode
from infra.local.apiserver.tokens import Tokens
from infra.local.apiserver.watch import Watch, plan_watch

BODY_BYTES_MAX = 3 * 1024 * 1024
"""Largest request body, inclusive. Source: kube-apiserver 1.36, measured."""

DRAIN_BYTES_MAX = 32 * 1024 * 1024
"""How much of a body over the limit is read away, so that the client sees the answer and not a reset connection."""

CHUNKED_BYTES_MIN = 2048
"""Answers above this size go out chunked, without Content-Length, as those of kube-apiserver do."""

BODY_TYPES = ("application/json", "")
"""What a POST or PUT may send; kube-apiserver takes YAML and protobuf besides."""

HANDSHAKE_S = 10.0
"""How long a client may take for its TLS handshake."""

TEXT = "text/plain; charset=utf-8"
PROBES = ("/healthz", "/livez", "/readyz")
HOOKS = "/_local/"


class ApiServer(ThreadingHTTPServer):
    """The listening server: one thread per connection, the TLS handshake in that thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], tokens: Tokens, bookmark_s: float, tls: ssl.SSLContext | None) -> None:
        self.operations = Operations(Store(), tokens)
        self.tokens = tokens
        self.faults = Faults()
        self.bookmark_s = bookmark_s
        self.version = VERSION
        self._tls = tls
        super().__init__(address, Connection)

    def accept_tls(self, connection: socket.socket) -> socket.socket:
        """Do the TLS handshake of one connection, in the thread that serves it; without TLS there is none."""
        if self._tls is None:
            return connection
        connection.settimeout(HANDSHAKE_S)
        wrapped = self._tls.wrap_socket(connection, server_side=True)
        wrapped.settimeout(None)
        return wrapped

    @property
    def url(self) -> str:
        """The URL that clients use."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{self.server_address[0]!s}:{self.server_address[1]}"

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Say nothing of connections that end in the middle; clients are killed in tests."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Connection(BaseHTTPRequestHandler):
    """One connection and its requests, one after the other."""

    protocol_version = "HTTP/1.1"
    wbufsize = 64 * 1024
    server: ApiServer
    user = ""
    fault: Fault | None = None

    def setup(self) -> None:
        """Begin a connection."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = self.server.accept_tls(self.request)
        super().setup()

    def finish(self) -> None:
        """End a connection."""
        try:
            super().finish()
        finally:
            self.request.close()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet: the journal has every request."""

    def log_error(self, *_: object) -> None:
        """Keep quiet: a request that is no HTTP is the client's affair."""

    def do_GET(self) -> None:
        """Answer a GET."""
        self._serve()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._serve()

    def do_PUT(self) -> None:
        """Answer a PUT."""
        self._serve()

    def do_PATCH(self) -> None:
        """Answer a PATCH."""
        self._serve()

    def do_DELETE(self) -> None:
        """Answer a DELETE."""
        self._serve()

    def _serve(self) -> None:
        self.user = ""
        try:
            raw = self._read_body()
            if self.path.startswith(HOOKS):
                self.fault = None
                hook = urlsplit(self.path).path.removeprefix(HOOKS)
                self._send(call_hook(self.server.faults, self.server.operations, self.command, hook, raw))
                return
            self.fault = self.server.faults.take(self.command, self.path)
            if self.fault is not None:
                time.sleep(self.fault.delay_s)
                if not self.fault.after:
                    self._fail_on_purpose(self.fault)
                    return
            self._answer(raw)
        except Failure as failure:
            self._refuse(failure)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError, TimeoutError):
            self.close_connection = True

    def _refuse(self, failure: Failure) -> None:
        if failure.text:
            self._send(Answer(failure.code, failure.text.encode()), failure.headers, TEXT)
        else:
            self._send(Answer(failure.code, encode(failure.status)), failure.headers)

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit() and len(length) < 16):
            self.close_connection = True
            raise build_bad_request("a request body needs a Content-Length")
        if int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            left = min(int(length), DRAIN_BYTES_MAX)
            while left > 0 and (piece := self.rfile.read(min(left, 65536))):
                left -= len(piece)
            raise build_too_large(f"limit is {BODY_BYTES_MAX}")
        return self.rfile.read(int(length))

    def _answer(self, raw: bytes) -> None:
        path = urlsplit(self.path).path
        self.user = self.server.tokens.identify(self.headers.get("Authorization", ""))
        check_rights(self.user, self.command, self.path)
        if path in PROBES:
            self._send(Answer(200, b"ok"), content_type=TEXT)
            return
        is_version = path.rstrip("/") == "/version"
        document = self.server.version if is_version else build_discovery(path) or build_openapi(path)
        if self.command == "GET" and document is not None:
            self._send(Answer(200, encode(document)))
            return
        target = parse_target(self.path)
        if self.command == "GET" and target.is_watch:
            self._stream(target)
        else:
            self._send(self._operate(target, raw))

    def _operate(self, target: Target, raw: bytes) -> Answer:
        operations = self.server.operations
        content_type = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if self.command in ("POST", "PUT") and content_type not in BODY_TYPES:
            raise build_unsupported_media_type(f"only {BODY_TYPES[0]} is served here")
        body = parse_body(raw, content_type)
        match self.command, "object" if target.name else "collection", target.subresource:
            case "POST", "object", "token":
                answer = operations.issue_token(target, body)
            case "GET", "object", "" | "status":
                answer = operations.read(target)
            case "GET", "collection", _:
                answer = Answer(200, operations.lists.list_page(target))
            case "POST", "collection", _ if not target.resource.namespaced or target.namespace:
                answer = operations.create(target, body)
            case "PUT", "object", "" | "status":
                answer = operations.replace(target, body)
            case "PATCH", "object", "" | "status":
                answer = operations.patch(target, body, content_type)
            case "DELETE", "object", "":
                answer = operations.delete(target, body)
            case _:
                raise build_method_not_allowed()
        return answer

    def _stream(self, target: Target) -> None:
        watch = Watch(self.server.operations.store, self.server.faults, plan_watch(target), self.server.bookmark_s)
        self._begin(200, {"Transfer-Encoding": "chunked"}, "application/json")
        self.wfile.flush()
        for line in watch.iter_lines(self._is_client_gone):
            self._send_chunk(line)
            self.wfile.flush()
        self._send_chunk(b"")

    def _is_client_gone(self) -> bool:
        """Tell whether the connection was closed: the client of a watch has nothing to say but that."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable)

    def _send(
        self, answer: Answer, headers: dict[str, str] | None = None, content_type: str = "application/json"
    ) -> None:
        if self.fault is not None and self.fault.after:
            self._fail_on_purpose(self.fault)
            return
        if len(answer.body) > CHUNKED_BYTES_MIN and self.request_version == "HTTP/1.1":
            self._begin(answer.code, {"Transfer-Encoding": "chunked", **(headers or {})}, content_type)
            self._send_chunk(answer.body)
            self._send_chunk(b"")
        else:
            self._begin(answer.code, {"Content-Length": str(len(answer.body)), **(headers or {})}, content_type)
            self.wfile.write(answer.body)

    def _fail_on_purpose(self, fault: Fault) -> None:
        self.fault = None
        if fault.status == 0:
            self.server.faults.record(self.command, self.path, self.user, 0)
            self.close_connection = True
            return
        body = fault.body
        if body is None:
            body = encode(Failure(fault.status, "InternalError", "failed on purpose", {}).status).decode()
        self._send(Answer(fault.status, body.encode()), fault.headers)

    def _begin(self, code: int, headers: dict[str, str], content_type: str) -> None:
        if not self.path.startswith(HOOKS):
            self.server.faults.record(self.command, self.path, self.user, code)
        self.send_response(code)
        for name, value in {"Content-Type": content_type, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
