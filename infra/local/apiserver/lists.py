"""What a LIST answers: which objects, which page of them, and how the next page continues.

A page after the first comes from the snapshot that the first was cut from, so a long list is consistent.
"""

import base64
import binascii
import json
from bisect import bisect_right
from collections import OrderedDict
from itertools import islice

from infra.local.apiserver.failures import (
    Cause,
    build_bad_request,
    build_expired,
    build_future_version,
    build_invalid,
)
from infra.local.apiserver.rendering import render_list
from infra.local.apiserver.routes import Target, parse_version, parse_whole_number
from infra.local.apiserver.selectors import build_matcher
from infra.local.apiserver.store import Key, Store, Stored

SNAPSHOTS_MAX = 8
"""Lists that can be continued at one time; a client that is slower than the next eight lists gets 410."""

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list."
)
Entries = list[tuple[Key, Stored]]


class Lists:
    """Answers LIST requests from a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._snapshots: OrderedDict[tuple[int, str], Entries] = OrderedDict()

    def list_page(self, target: Target) -> bytes:
        """Render one page; raises `Failure`: 400 for a malformed query, 410 for a token too old, 504 for the future."""
        query = target.query
        limit = parse_whole_number(query, "limit")
        parse_whole_number(query, "timeoutSeconds")
        _check_options(query)
        asked = self._parse_version(query.get("resourceVersion", ""))
        matches = build_matcher(
            target.resource, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        with self._store.changed:
            version, entries = self._read_entries(target)
            if asked > self._store.version:
                raise build_future_version(asked, self._store.version)
        matching = (entry for entry in entries if matches(entry[1].object))
        metadata: dict[str, object] = {"resourceVersion": str(version)}
        if limit <= 0 or query.get("resourceVersion") == "0":
            return render_list(target.resource, metadata, [stored for _, stored in matching])
        found = list(islice(matching, limit))
        left = _count_after(entries, target.namespace, found[-1][0]) if len(found) == limit else 0
        if left:
            # Whether what is left matches the selectors, kube-apiserver does not look: the last page may be empty.
            metadata["continue"] = _format_token(version, found[-1][0])
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                metadata["remainingItemCount"] = left
        return render_list(target.resource, metadata, [stored for _, stored in found])

    def forget_snapshots(self) -> None:
        """Forget every snapshot, so that every list in progress answers 410 to its next page."""
        with self._store.changed:
            self._snapshots.clear()

    def _parse_version(self, text: str) -> int:
        try:
            return parse_version(text)
        except ValueError as error:
            raise build_bad_request(f"invalid resource version: {error}") from error

    def _read_entries(self, target: Target) -> tuple[int, Entries]:
        """Read all objects of the kind, or those after the continue token; the version is that of the whole list."""
        storage = target.resource.storage
        token = target.query.get("continue", "")
        if not token:
            version, entries = self._store.version, self._store.list_sorted(storage)
            if target.query.get("limit"):
                self._keep(version, storage, entries)
            return version, entries
        if target.query.get("resourceVersion"):
            raise build_bad_request("specifying resource version is not allowed when using continue")
        version, after = _parse_token(token)
        snapshot = self._snapshots.get((version, storage))
        if snapshot is None and version:
            raise build_expired(_TOO_OLD, _format_token(0, after))
        if snapshot is None:
            version, snapshot = self._store.version, self._store.list_sorted(storage)
            self._keep(version, storage, snapshot)
        return version, snapshot[bisect_right(snapshot, after, key=lambda entry: entry[0]) :]

    def _keep(self, version: int, storage: str, entries: Entries) -> None:
        self._snapshots[version, storage] = entries
        self._snapshots.move_to_end((version, storage))
        if len(self._snapshots) > SNAPSHOTS_MAX:
            self._snapshots.popitem(last=False)


def _check_options(query: dict[str, str]) -> None:
    """Refuse what does not go together; raises 422."""
    match, version, why = query.get("resourceVersionMatch", ""), query.get("resourceVersion", ""), ""
    field, reason = "resourceVersionMatch", "FieldValueForbidden"
    if "sendInitialEvents" in query:
        field, why = "sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list"
    elif match and not version:
        why = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and version == "0":
        why = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    elif match not in ("", "Exact", "NotOlderThan"):
        reason = "FieldValueNotSupported"
        why = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
    if why:
        raise build_invalid("ListOptions.meta.k8s.io", "", [Cause(reason, field, why)])


def _count_after(entries: Entries, namespace: str | None, after: Key) -> int:
    """Count the entries of a namespace, or of all, after a key; the entries are in key order."""
    first = bisect_right(entries, after, key=lambda entry: entry[0])
    end = len(entries) if namespace is None else bisect_right(entries, namespace, key=lambda entry: entry[0][0])
    return end - first


def _format_token(version: int, after: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *after]).encode()).decode()


def _parse_token(token: str) -> tuple[int, Key]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token))
        return int(version), (str(namespace), str(name))
    except (binascii.Error, ValueError, TypeError) as error:
        raise build_bad_request("continue key is not valid") from error
