"""What is done for each operation: look up, judge by the conditions, forward, all under the object's lock.

Reading the request and sending the reply is the HTTP edge's affair; the steps of a resumable upload stand in
`resumable`.
"""

import json
import secrets
from collections.abc import Iterator
from urllib.parse import urlencode

from infra.local.gcs_proxy.conditions import (
    CONDITION_PARAMETERS,
    SOURCE_PARAMETERS,
    Conditions,
    Live,
    decide_existing,
    decide_write,
    parse_conditions,
)
from infra.local.gcs_proxy.incoming import Request, parse_json_object
from infra.local.gcs_proxy.object_locks import ObjectLocks
from infra.local.gcs_proxy.replies import Rejected, Reply, build_error, build_json_reply
from infra.local.gcs_proxy.routes import Kind, Route
from infra.local.gcs_proxy.spool import Staged, find_wrong_checksum, parse_claimed_checksums
from infra.local.gcs_proxy.upstream import Upstream

OUR_PARAMETERS = frozenset({*CONDITION_PARAMETERS, *SOURCE_PARAMETERS, "rewriteToken", "maxBytesRewrittenPerCall"})
"""Answered for here, so not passed on."""


class Gateway:
    """The operations on objects, with the conditions kept."""

    def __init__(self, upstream: Upstream, rewrite_bytes_max: int | None) -> None:
        self.upstream = upstream
        self._rewrite_bytes_max = rewrite_bytes_max
        self._locks = ObjectLocks()

    def read(self, route: Route, request: Request) -> Reply:
        """Metadata or bytes of the live generation; the lock goes once the server has opened it."""
        with self._locks.hold((route.bucket, route.name)):
            self._check_existing(route.bucket, route.name, parse_conditions(request.query), reading=True)
            return self._forward(request)

    def change(self, route: Route, request: Request) -> Reply:
        """Patch or delete; a deletion is answered 204, as Cloud Storage does and the server behind doesn't."""
        body = request.body.read_json()
        with self._locks.hold((route.bucket, route.name)):
            self._check_existing(route.bucket, route.name, parse_conditions(request.query))
            reply = self._forward(request, body).read_whole()
        deleted = route.kind is Kind.DELETE and reply.status == 200
        return Reply(204) if deleted else reply

    def copy(self, route: Route, request: Request) -> Reply:
        """Copy, or rewrite in as many calls as its limit asks for."""
        body = request.body.read_json()
        with self._locks.hold((route.bucket, route.name), (route.target_bucket, route.target_name)):
            source = parse_conditions(request.query, SOURCE_PARAMETERS)
            live = self._check_existing(route.bucket, route.name, source)
            self._check_write(route.target_bucket, route.target_name, parse_conditions(request.query))
            unfinished = self._rewrite_part(request, live) if route.kind is Kind.REWRITE else None
            return unfinished or self._forward(request, body).read_whole()

    def _rewrite_part(self, request: Request, live: Live) -> Reply | None:
        asked = request.query.get("maxBytesRewrittenPerCall", "")
        limit_bytes = int(asked) if asked.isdecimal() else self._rewrite_bytes_max
        generation, _, done = request.query.get("rewriteToken", f"{live.generation}-0").partition("-")
        if generation != str(live.generation) or not done.isdecimal():
            raise Rejected(build_error(400, "Invalid rewrite token"))
        done_bytes = int(done) + (limit_bytes or live.size_bytes)
        if done_bytes >= live.size_bytes:
            return None
        content = {
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": str(done_bytes),
            "objectSize": str(live.size_bytes),
            "done": False,
            "rewriteToken": f"{live.generation}-{done_bytes}",
        }
        return build_json_reply(200, content)

    def compose(self, route: Route, request: Request) -> Reply:
        """Concatenate objects of one bucket, each with its own conditions."""
        body = request.body.read_json()
        sources = [source for source in parse_json_object(body).get("sourceObjects", []) if isinstance(source, dict)]
        keys = [(route.bucket, str(source.get("name"))) for source in sources]
        with self._locks.hold((route.bucket, route.name), *keys):
            for source, key in zip(sources, keys, strict=True):
                conditions = {**(source.get("objectPreconditions") or {}), "generation": source.get("generation")}
                self._check_existing(*key, parse_conditions(conditions))
            self._check_write(route.bucket, route.name, parse_conditions(request.query))
            return self._forward(request, body).read_whole()

    def check_start(self, bucket: str, name: str, conditions: Conditions) -> None:
        """Refuse an upload early that would be refused at its end."""
        reply = self.upstream.send("GET", f"/storage/v1/b/{bucket}").read_whole()
        if reply.status != 200:
            raise Rejected(reply)
        with self._locks.hold((bucket, name)):
            self._check_write(bucket, name, conditions)

    def commit(self, staged: Staged, conditions: Conditions, hash_header: str) -> Reply:
        """Make an upload that is here whole the live generation: sums first, then the conditions, in one step."""
        wrong = find_wrong_checksum(staged, parse_claimed_checksums(staged.metadata, hash_header))
        if wrong:
            raise Rejected(build_error(400, f"Provided {wrong} hash does not match the calculated one."))
        described = {key: value for key, value in staged.metadata.items() if key not in ("crc32c", "md5Hash")}
        described |= {"name": staged.name, "contentType": staged.content_type}
        boundary = secrets.token_hex(16)
        head = (
            f"--{boundary}\r\nContent-Type: application/json\r\n\r\n{json.dumps(described)}\r\n"
            f"--{boundary}\r\nContent-Type: {staged.content_type}\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()
        with self._locks.hold((staged.bucket, staged.name)):
            self._check_write(staged.bucket, staged.name, conditions)
            return self.upstream.send(
                "POST",
                f"/upload/storage/v1/b/{staged.bucket}/o?"
                + urlencode({"uploadType": "multipart", "name": staged.name}),
                [("Content-Type", f"multipart/related; boundary={boundary}")],
                _enclosed(head, staged, tail),
                len(head) + staged.size_bytes + len(tail),
            ).read_whole()

    def forward(self, _route: Route, request: Request) -> Reply:
        """Buckets and listings, unchanged."""
        return self._forward(request, request.body.read_json())

    def _check_existing(self, bucket: str, name: str, conditions: Conditions, *, reading: bool = False) -> Live:
        live = self.upstream.describe(bucket, name)
        status = decide_existing(conditions, live, reading=reading)
        if status is not None or live is None:
            raise Rejected(_build_refusal(status or 404, bucket, name))
        return live

    def _check_write(self, bucket: str, name: str, conditions: Conditions) -> None:
        status = decide_write(conditions, self.upstream.describe(bucket, name))
        if status is not None:
            raise Rejected(_build_refusal(status, bucket, name))

    def _forward(self, request: Request, body: bytes = b"") -> Reply:
        query = urlencode({key: value for key, value in request.query.items() if key not in OUR_PARAMETERS})
        target = f"{request.path}?{query}" if query else request.path
        return self.upstream.send(request.method, target, request.headers.items(), (body,), len(body))


def _enclosed(head: bytes, staged: Staged, tail: bytes) -> Iterator[bytes]:
    yield head
    yield from staged.pieces()
    yield tail


def _build_refusal(status: int, bucket: str, name: str) -> Reply:
    if status == 404:
        return build_error(404, f"No such object: {bucket}/{name}")
    return build_error(status, "At least one of the pre-conditions you specified did not hold.")
