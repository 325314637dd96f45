"""Which operation on which object does a request ask for? Pure: method, path and query in, one `Route` out.

Only the JSON API; the XML API and batches would slip past the conditions and are not served.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple
from urllib.parse import unquote


class Kind(Enum):
    """What is done to an object, as far as conditions tell operations apart."""

    READ = "read"
    PATCH = "patch"
    DELETE = "delete"
    COPY = "copy"
    REWRITE = "rewrite"
    COMPOSE = "compose"
    UPLOAD_MEDIA = "upload media"
    UPLOAD_MULTIPART = "upload multipart"
    UPLOAD_START = "upload start"
    UPLOAD_CONTINUE = "upload continue"
    UPLOAD_CANCEL = "upload cancel"
    FORWARD = "forward"
    """Buckets and listings: no conditions of ours."""
    UNSERVED = "unserved"


class Route(NamedTuple):
    """One operation; `target_*` are set for copy and rewrite, whose `bucket` and `name` are the source."""

    kind: Kind
    bucket: str = ""
    name: str = ""
    target_bucket: str = ""
    target_name: str = ""


_OBJECT = re.compile(r"/(?:download/)?storage/v1/b/([^/]+)/o/([^/]+)")
_UPLOAD = re.compile(r"/upload/storage/v1/b/([^/]+)/o")
_COMPOSE = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/compose")
_COPY = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/(copyTo|rewriteTo)/b/([^/]+)/o/([^/]+)")
_FORWARDED = re.compile(r"/storage/v1/b(/[^/]+(/o)?)?|/_internal/healthcheck")

_ON_OBJECT = {"GET": Kind.READ, "HEAD": Kind.READ, "PATCH": Kind.PATCH, "PUT": Kind.PATCH, "DELETE": Kind.DELETE}
_UPLOADS = {"media": Kind.UPLOAD_MEDIA, "multipart": Kind.UPLOAD_MULTIPART, "resumable": Kind.UPLOAD_START}


def parse_route(method: str, path: str, query: Mapping[str, str]) -> Route:
    """Tell what is asked for; `path` is percent-encoded, as it came."""
    if match := _OBJECT.fullmatch(path):
        return Route(_ON_OBJECT.get(method, Kind.UNSERVED), *_unquoted(match.groups()))
    if match := _UPLOAD.fullmatch(path):
        return Route(_upload_kind(method, query), unquote(match[1]), query.get("name", ""))
    if method == "POST" and (match := _COMPOSE.fullmatch(path)):
        return Route(Kind.COMPOSE, *_unquoted(match.groups()))
    if method == "POST" and (match := _COPY.fullmatch(path)):
        kind = Kind.COPY if match[3] == "copyTo" else Kind.REWRITE
        return Route(kind, *_unquoted((match[1], match[2], match[4], match[5])))
    return Route(Kind.FORWARD if _FORWARDED.fullmatch(path) else Kind.UNSERVED)


def _upload_kind(method: str, query: Mapping[str, str]) -> Kind:
    if "upload_id" in query:
        return {"PUT": Kind.UPLOAD_CONTINUE, "POST": Kind.UPLOAD_CONTINUE, "DELETE": Kind.UPLOAD_CANCEL}.get(
            method, Kind.UNSERVED
        )
    return _UPLOADS.get(query.get("uploadType", "media"), Kind.UNSERVED) if method == "POST" else Kind.UNSERVED


def _unquoted(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(unquote(part) for part in parts)
