"""Nodes and Pods of one cluster, read and patched through the official Kubernetes client.

What each answer means; how a request gets there is in `kubernetes_connection`, what to write is the callers' part.
Objects stay the JSON that the API returned.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpureport.adapters.kubernetes_connection import ERROR_TEXT_MAX, Connection, Response, TokenSource, cut_text
from gpureport.ports import PatchOutcome, Refused, ServedNode, Unavailable

LIST_TIMEOUT_S = 30.0
"""Longest silence before a page of a list: a loaded server takes seconds to put 500 Pods together."""


class KubernetesCluster:
    """One cluster. Every method may raise `Unavailable` or `Refused`; nothing is repeated behind the caller's back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def from_kubeconfig(cls, path: Path | str, context: str | None = None) -> "KubernetesCluster":
        """Take the cluster of a kubeconfig's context, the current one by default; read at the first request."""
        return cls(Connection.from_kubeconfig(path, context))

    @classmethod
    def from_default(cls) -> "KubernetesCluster":
        """Take the cluster that kubectl would talk to: $KUBECONFIG, else ~/.kube/config, else that of this Pod."""
        return cls(Connection.from_default())

    @classmethod
    def from_endpoint(cls, server: str, token_source: TokenSource, ca_file: Path | None = None) -> "KubernetesCluster":
        """Take the cluster at a URL; without a CA file the system's authorities are trusted (DNS endpoints)."""
        return cls(Connection.from_endpoint(server, token_source, ca_file))

    def read_node(self, name: str) -> ServedNode | None:
        """Read one Node with a consistent read; None when there is none of that name."""
        response = self._connection.request("GET", f"/api/v1/nodes/{_escape(name)}")
        if response.status == 404:
            return None
        self._check(response, f"get node {name}")
        return ServedNode(self._parse_object(response), self._parse_date(response))

    def patch_node(self, name: str, operations: Sequence[dict[str, Any]]) -> PatchOutcome:
        """Apply one RFC 6902 patch as a whole.

        A patch whose answer got lost raises `Unavailable` and may have been applied: read again before deciding.
        """
        path = f"/api/v1/nodes/{_escape(name)}"
        response = self._connection.request("PATCH", path, patch=list(operations))
        if response.status == 404:
            return PatchOutcome.GONE
        if _is_conflict(response):
            return PatchOutcome.CONFLICT
        self._check(response, f"patch node {name}")
        return PatchOutcome.APPLIED

    def read_pod(self, namespace: str, name: str) -> bytes | None:
        """Read one Pod as the JSON that the API returned; None when it is absent."""
        response = self._connection.request("GET", f"/api/v1/namespaces/{_escape(namespace)}/pods/{_escape(name)}")
        if response.status == 404:
            return None
        self._check(response, f"get pod {namespace}/{name}")
        return response.body

    def list_pages(self, kind: str, limit: int = 500) -> Iterator[bytes]:
        """Yield all objects of a kind (`nodes` or `pods`) in pages of at most `limit`, each the JSON of a List.

        All pages show one moment; when the server no longer knows it before the last page, `Unavailable` is raised.
        """
        token = ""
        while True:
            query = {"limit": str(limit), **({"continue": token} if token else {})}
            path = f"/api/v1/{_escape(kind)}"
            response = self._connection.request("GET", path, query=query, read_timeout_s=LIST_TIMEOUT_S)
            self._check(response, f"list {kind}")
            yield response.body
            token = self._parse_continue(response.body)
            if not token:
                return

    def close(self) -> None:
        """Close the connections kept."""
        self._connection.close()

    def _check(self, response: Response, action: str) -> None:
        """Raise for every status but success; 410 ends a list that took too long, and a new one may succeed."""
        if response.status in (410, 429) or response.status >= 500:
            raise Unavailable(self._describe(response, action))
        if not 200 <= response.status < 300:
            raise Refused(self._describe(response, action))

    def _describe(self, response: Response, action: str) -> str:
        status = _parse_status(response)
        text = str(status.get("message") or response.body[: 4 * ERROR_TEXT_MAX].decode("utf-8", "replace").strip())
        if status.get("reason"):
            text = f"{status['reason']}: {text}"
        return cut_text(f"{self._connection.server}: {action}: {response.status} {text}")

    def _parse_object(self, response: Response) -> dict[str, Any]:
        try:
            found = json.loads(response.body)
        except ValueError as error:
            raise Unavailable(f"{self._connection.server}: an answer that is no JSON") from error
        if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
            raise Unavailable(f"{self._connection.server}: an answer that is no Kubernetes object")
        return found

    def _parse_continue(self, page: bytes) -> str:
        try:
            return _build_list_decoder()(page)
        except ValueError as error:
            raise Unavailable(f"{self._connection.server}: an answer that is no list") from error

    def _parse_date(self, response: Response) -> datetime:
        try:
            return parsedate_to_datetime(response.headers.get("Date", "")).astimezone(UTC)
        except ValueError as error:
            raise Unavailable(f"{self._connection.server}: an answer without a Date header") from error


@cache
def _build_list_decoder() -> Callable[[bytes], str]:
    """Build the reader of a page's continue token, which skips the items: they are the caller's to decode, once."""
    import msgspec

    class Metadata(msgspec.Struct, rename={"token": "continue"}):
        token: str = ""

    class Page(msgspec.Struct):
        metadata: Metadata

    decoder = msgspec.json.Decoder(Page)
    return lambda page: decoder.decode(page).metadata.token


def _is_conflict(response: Response) -> bool:
    """Tell a lost race from a bad value.

    A lost race is 409 Conflict, or the 422 of a JSON patch that did not apply, which carries no causes as every
    validation error does. Source: kube-apiserver 1.36, measured.
    """
    if response.status == 409:
        return bool(_parse_status(response).get("reason") == "Conflict")
    if response.status != 422:
        return False
    details = _parse_status(response).get("details")
    return not (isinstance(details, dict) and details.get("causes"))


def _parse_status(response: Response) -> dict[str, Any]:
    """Parse the Status object of an error; empty when the answer is something else, as that of a proxy may be."""
    try:
        status = json.loads(response.body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _escape(segment: str) -> str:
    return quote(segment, safe="")
