"""What a watch sends, and when it ends.

A generator of lines over the store; sending them is the server's part.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from infra.local.apiserver.failures import (
    Cause,
    Failure,
    build_expired,
    build_future_version,
    build_internal,
    build_invalid,
)
from infra.local.apiserver.faults import Faults
from infra.local.apiserver.rendering import render_object, render_watch_event
from infra.local.apiserver.routes import Target, parse_version, parse_whole_number
from infra.local.apiserver.selectors import build_matcher
from infra.local.apiserver.store import Change, HistoryGone, Store, Stored, encode

TIMEOUT_S_DEFAULT = 1800
"""How long a watch lasts that does not say. Source: kube-apiserver --min-request-timeout."""

BOOKMARK_BEFORE_END_S = 2.0
"""A bookmark is due this long before the timeout. Source: kube-apiserver 1.36, measured."""

LOOK_S = 1.0
"""How often a watch without changes looks whether its client is still there."""


class WatchPlan(NamedTuple):
    """One watch, understood and checked."""

    target: Target
    matches: Callable[[dict[str, Any]], bool]
    from_version: int
    starts_with_objects: bool
    marks_initial_end: bool
    wants_bookmarks: bool
    timeout_s: float


def plan_watch(target: Target) -> WatchPlan:
    """Check the query of a watch; raises `Failure` (400, 422, 500), all before the first byte is sent."""
    query = target.query
    try:
        from_version = parse_version(query.get("resourceVersion", ""))
    except ValueError as error:
        raise build_internal(str(error)) from error
    timeout_s = parse_whole_number(query, "timeoutSeconds")
    wants_initial = target.asks("sendInitialEvents")
    _check_options(query)
    wants_bookmarks = target.asks("allowWatchBookmarks")
    return WatchPlan(
        target,
        build_matcher(
            target.resource, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        ),
        from_version,
        wants_initial or (from_version == 0 and "sendInitialEvents" not in query),
        wants_initial and wants_bookmarks,
        wants_bookmarks,
        timeout_s or TIMEOUT_S_DEFAULT,
    )


def _check_options(query: dict[str, str]) -> None:
    match = query.get("resourceVersionMatch", "")
    why = ""
    if "sendInitialEvents" in query and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    elif match and "sendInitialEvents" not in query:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    if why:
        cause = Cause("FieldValueForbidden", "resourceVersionMatch", f"Forbidden: {why}")
        raise build_invalid("ListOptions.meta.k8s.io", "", [cause])


class Watch:
    """One watch in progress."""

    def __init__(self, store: Store, faults: Faults, plan: WatchPlan, bookmark_s: float) -> None:
        self._store = store
        self._faults = faults
        self._plan = plan
        self._resource = plan.target.resource
        self._bookmark_s = bookmark_s
        self._drops, self._hangs = faults.drops, faults.hangs
        self._ends_at = time.monotonic() + plan.timeout_s
        self._bookmark_at = self._next_bookmark(time.monotonic())
        self._position = 0
        self._bookmarked = 0

    def iter_lines(self, is_client_gone: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the lines until the time is up, the history is gone, the client is gone, or all watches are ended."""
        try:
            yield from self._start()
            while not self._is_over() and not is_client_gone():
                yield from self._wait()
        except Failure as failure:
            yield render_watch_event("ERROR", encode(failure.status))

    def _start(self) -> list[bytes]:
        with self._store.changed:
            current = self._store.version
            asked = self._plan.from_version
            self._bookmarked = self._store.version_of(self._resource.storage)
            if not self._plan.starts_with_objects:
                self._position = asked or current
                self._check_history()
                return []
            if asked > current:
                raise build_future_version(asked, current)
            self._position = current
            objects = [stored for _, stored in self._store.list_sorted(self._resource.storage)]
        lines = [self._render("ADDED", stored) for stored in objects if self._plan.matches(stored.object)]
        if self._plan.marks_initial_end:
            lines.append(self._render_bookmark(current, {"k8s.io/initial-events-end": "true"}))
        return lines

    def _is_over(self) -> bool:
        """Tell whether the watch ends now; a silenced one, like a dead peer, does not even end on time."""
        if self._faults.drops != self._drops:
            return True
        return time.monotonic() >= self._ends_at and not self._is_silenced()

    def _is_silenced(self) -> bool:
        return self._faults.hangs != self._hangs

    def _wait(self) -> list[bytes]:
        """Wait for changes, the next bookmark or the end, `LOOK_S` at most."""
        with self._store.changed:
            lines = self._render_changes() or self._render_due_bookmark()
            if not lines and not self._is_over():
                due = min(self._ends_at, self._bookmark_at) - time.monotonic()
                self._store.changed.wait(min(max(due, 0.001), LOOK_S))
        return [] if self._is_silenced() else lines

    def _check_history(self) -> None:
        try:
            self._store.check_history(self._resource.storage, self._position)
        except HistoryGone as error:
            raise build_expired(str(error)) from error

    def _render_changes(self) -> list[bytes]:
        try:
            changes = self._store.list_changes(self._resource.storage, self._position)
        except HistoryGone as error:
            raise build_expired(str(error)) from error
        if changes:
            self._position = changes[-1].version
        return [line for change in changes if (line := self._render_change(change))]

    def _render_change(self, change: Change) -> bytes:
        """Render a change as the selectors show it: what enters them is added, what leaves them is deleted."""
        matches = self._plan.matches
        was = change.previous is not None and matches(change.previous.object)
        now = change.event != "DELETED" and matches(change.current.object)
        if now:
            return self._render("MODIFIED" if was else "ADDED", change.current)
        if was and change.previous is not None:
            metadata = {**change.previous.object["metadata"], "resourceVersion": str(change.version)}
            return self._render("DELETED", Stored({**change.previous.object, "metadata": metadata}))
        return b""

    def _render_due_bookmark(self) -> list[bytes]:
        now = time.monotonic()
        if now < self._bookmark_at:
            return []
        self._bookmark_at = self._next_bookmark(now)
        version = self._store.version_of(self._resource.storage)
        if version == self._bookmarked:
            return []
        self._bookmarked = version
        return [self._render_bookmark(version, None)]

    def _next_bookmark(self, now: float) -> float:
        last = self._ends_at - BOOKMARK_BEFORE_END_S
        if not self._plan.wants_bookmarks or now >= last:
            return self._ends_at
        return min(now + self._bookmark_s, last)

    def _render(self, event: str, stored: Stored) -> bytes:
        return render_watch_event(event, render_object(self._resource, stored))

    def _render_bookmark(self, version: int, annotations: dict[str, str] | None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        return self._render("BOOKMARK", Stored({"metadata": metadata}))
