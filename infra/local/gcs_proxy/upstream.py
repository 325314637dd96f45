"""How is fake-gcs-server asked? One connection per request, bodies streamed; what to ask is decided elsewhere."""

import json
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import quote

from infra.local.gcs_proxy.conditions import Live
from infra.local.gcs_proxy.incoming import PIECE_BYTES
from infra.local.gcs_proxy.replies import Rejected, Reply, build_error

ANSWER_TIMEOUT_S = 60.0
"""The server hashes and writes whole objects before it answers."""

HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect", "content-length", "date"}
)
"""Never passed on: they belong to one connection, or are set anew."""


class Upstream:
    """The server behind the proxy, on 127.0.0.1."""

    def __init__(self, port: int, host_header: str) -> None:
        self._port = port
        self._host_header = host_header

    def describe(self, bucket: str, name: str) -> Live | None:
        """Ask what lives under the name; None when nothing does."""
        reply = self.send("GET", f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}")
        if reply.status == 404:
            reply.close()
            return None
        if reply.status != 200:
            reply.close()
            raise Rejected(build_error(503, f"storage answered {reply.status} to a look-up"))
        found = json.loads(b"".join(reply.read_whole().body))
        return Live(int(found["generation"]), int(found.get("metageneration", 1)), int(found.get("size", 0)))

    def send(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]] = (),
        body: Iterable[bytes] = (),
        size_bytes: int = 0,
    ) -> Reply:
        """Send a request and return once the answer's head is here; 503 when the server does not answer."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_TIMEOUT_S)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", self._host_header)
            for key, value in headers:
                if key.lower() not in HOP_BY_HOP and key.lower() != "host":
                    connection.putheader(key, value)
            connection.putheader("Content-Length", str(size_bytes))
            connection.endheaders()
            for piece in body:
                connection.send(piece)
            answer = connection.getresponse()
        except (OSError, HTTPException) as error:
            connection.close()
            raise Rejected(build_error(503, f"storage does not answer: {type(error).__name__}")) from error
        passed_on = tuple((key, value) for key, value in answer.getheaders() if key.lower() not in HOP_BY_HOP)
        return Reply(answer.status, passed_on, _pieces(answer), answer.length, connection.close)


def _pieces(answer: HTTPResponse) -> Iterator[bytes]:
    while piece := answer.read1(PIECE_BYTES):
        yield piece
