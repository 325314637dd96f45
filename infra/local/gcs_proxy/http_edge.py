"""How do requests come in and replies go out? HTTP alone: what a request means is decided by `routes` and `gateway`."""

import json
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from infra.local.gcs_proxy.conditions import MalformedCondition
from infra.local.gcs_proxy.faults import Fault, Faults, Point
from infra.local.gcs_proxy.incoming import Request, build_request, parse_json_object
from infra.local.gcs_proxy.replies import Rejected, Reply, build_error, build_json_reply
from infra.local.gcs_proxy.routes import Kind, Route, parse_route

CONNECTIONS_MAX = 256
"""More are closed unanswered: a thread stands behind each."""

IDLE_TIMEOUT_S = 120.0
"""A connection that says nothing for so long is closed."""

Operation = Callable[[Route, Request], Reply]
Connection = socket.socket | tuple[bytes, socket.socket]


class ProxyServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1; operations are given once the server behind is known."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), ProxyHandler)
        self.faults = Faults()
        self.operations: dict[Kind, Operation] = {}
        self._connections = threading.BoundedSemaphore(CONNECTIONS_MAX)

    @property
    def authority(self) -> str:
        """HOST:PORT of this server."""
        return f"127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: Connection, client_address: object) -> None:
        """Start a thread for the connection, if there is room."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Connection, client_address: object) -> None:
        """Serve one connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()


class ProxyHandler(BaseHTTPRequestHandler):
    """One client connection."""

    server: ProxyServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_TIMEOUT_S
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def serve(self) -> None:
        """Serve one request; a connection whose body was not read to its end is not used again."""
        request = build_request(self.command, self.path, self.headers, self.rfile)
        try:
            self._serve_judged(request)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        if not request.body.finished:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815 - http.server calls these names

    def _serve_judged(self, request: Request) -> None:
        fault = None if request.path.startswith("/_local/") else self.server.faults.take(request.method, request.path)
        if fault and fault.point is Point.BEFORE:
            self._drain(request)
            self._send(build_error(fault.status, "ordered failure"))
            return
        reply = self._answer(request)
        try:
            if fault and fault.point is Point.AFTER:
                self._drain(request)
                self._send(build_error(fault.status, "ordered failure"))
            else:
                self._send(reply, fault)
        finally:
            reply.close()

    def _answer(self, request: Request) -> Reply:
        try:
            if request.path.startswith("/_local/"):
                return self._answer_local(request)
            route = parse_route(request.method, request.path, request.query)
            operation = self.server.operations.get(route.kind)
            if operation is None:
                return build_error(501, f"not served here: {request.method}")
            return operation(route, request)
        except Rejected as rejected:
            return rejected.reply
        except MalformedCondition as error:
            return build_error(400, f"Invalid value for {error.parameter}")

    def _answer_local(self, request: Request) -> Reply:
        if (request.method, request.path) == ("POST", "/_local/fail"):
            self.server.faults.order(parse_json_object(request.body.read_json()))
            return build_json_reply(200, {})
        if (request.method, request.path) == ("DELETE", "/_local/fail"):
            self.server.faults.forget()
            return Reply(204)
        if (request.method, request.path) == ("GET", "/_local/served"):
            body = json.dumps(self.server.faults.served()).encode()
            return Reply(200, (("Content-Type", "application/json"),), (body,), len(body))
        return build_error(404, "no such hook")

    def _drain(self, request: Request) -> None:
        for _ in request.body.pieces():
            pass

    def _send(self, reply: Reply, fault: Fault | None = None) -> None:
        bodiless = self.command == "HEAD" or reply.status in (204, 304)
        chunked = reply.size_bytes is None and not bodiless
        self.send_response(reply.status)
        for key, value in reply.headers:
            self.send_header(key, value)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif reply.status not in (204, 304):
            self.send_header("Content-Length", str(reply.size_bytes or 0))
        self.end_headers()
        left_bytes = fault.after_bytes if fault else None
        for piece in () if bodiless else reply.body:
            if left_bytes is not None and left_bytes < len(piece):
                self._break_off(piece[:left_bytes])
                return
            left_bytes = None if left_bytes is None else left_bytes - len(piece)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _break_off(self, rest: bytes) -> None:
        self.wfile.write(rest)
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: `/_local/served` tells what was served."""
