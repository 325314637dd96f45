"""What is stored, at which resourceVersion, and what changed since.

Versions, history and waiting only: what a request may change is decided before it gets here. A stored object is never
modified, only replaced, so readers need no copy.
"""

import json
from collections import deque
from threading import Condition, RLock
from typing import Any, NamedTuple

HISTORY_CHANGES_MAX = 5_000
"""Changes kept per kind of object for watches to start from; older ones answer 410."""

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""


class Stored:
    """One version of one object, without kind and apiVersion, and its JSON, encoded once when first asked for."""

    __slots__ = ("_encoded", "object")

    def __init__(self, stored_object: dict[str, Any]) -> None:
        self.object = stored_object
        self._encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The object as compact JSON."""
        if self._encoded is None:
            self._encoded = encode(self.object)
        return self._encoded

    @property
    def version(self) -> str:
        """The resourceVersion."""
        return str(self.object["metadata"]["resourceVersion"])


class Change(NamedTuple):
    """One entry of the history; `previous` is None for a creation, `current` is the last state for a deletion."""

    version: int
    event: str
    current: Stored
    previous: Stored | None


class HistoryGone(Exception):
    """The changes after `asked` are no longer known; the history starts at `oldest`."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class _Kind:
    """The objects and the history of one kind."""

    def __init__(self) -> None:
        self.objects: dict[Key, Stored] = {}
        self.history: deque[Change] = deque()
        self.removed_version = 0
        """Version of the newest change that is no longer in the history."""
        self.version = 1


class Store:
    """All objects of the cluster. Hold `changed` around a read and the write decided from it."""

    def __init__(self) -> None:
        self.changed = Condition(RLock())
        self.version = 1
        self._forgotten_version = 0
        self._kinds: dict[str, _Kind] = {}

    def read(self, storage: str, key: Key) -> Stored | None:
        """Read the current version of one object."""
        with self.changed:
            return self._kind(storage).objects.get(key)

    def list_sorted(self, storage: str) -> list[tuple[Key, Stored]]:
        """List all objects of a kind in key order."""
        with self.changed:
            return sorted(self._kind(storage).objects.items(), key=lambda item: item[0])

    def version_of(self, storage: str) -> int:
        """Tell the version of the newest change of a kind."""
        with self.changed:
            return self._kind(storage).version

    def write(self, storage: str, key: Key, new: dict[str, Any]) -> Stored:
        """Store a new version of an object at the next resourceVersion; its metadata is replaced, not modified."""
        with self.changed:
            kind = self._kind(storage)
            previous = kind.objects.get(key)
            stored = self._at_next_version(new)
            kind.objects[key] = stored
            self._record(kind, "MODIFIED" if previous else "ADDED", stored, previous)
            return stored

    def delete(self, storage: str, key: Key) -> Stored:
        """Delete an object that is there, and return its last state at the version of the deletion."""
        with self.changed:
            kind = self._kind(storage)
            previous = kind.objects.pop(key)
            stored = self._at_next_version(previous.object)
            self._record(kind, "DELETED", stored, previous)
            return stored

    def check_history(self, storage: str, after_version: int) -> None:
        """Raise `HistoryGone` when a new watch cannot start after that version."""
        with self.changed:
            oldest = max(self._forgotten_version, self._kind(storage).removed_version)
            if after_version < oldest:
                raise HistoryGone(after_version, oldest)

    def list_changes(self, storage: str, after_version: int) -> list[Change]:
        """List the changes of a kind after a version, oldest first; raises `HistoryGone` when one is missing."""
        with self.changed:
            kind = self._kind(storage)
            if after_version < kind.removed_version:
                raise HistoryGone(after_version, kind.removed_version)
            changes: list[Change] = []
            for change in reversed(kind.history):
                if change.version <= after_version:
                    break
                changes.append(change)
            return changes[::-1]

    def forget_history(self) -> None:
        """Forget all changes, so that every version seen before is too old to watch from; open watches go on."""
        with self.changed:
            self.version += 1
            self._forgotten_version = self.version
            for kind in self._kinds.values():
                if kind.history:
                    kind.removed_version = kind.history[-1].version
                    kind.history.clear()

    def _kind(self, storage: str) -> _Kind:
        return self._kinds.setdefault(storage, _Kind())

    def _at_next_version(self, source: dict[str, Any]) -> Stored:
        self.version += 1
        return Stored({**source, "metadata": {**source["metadata"], "resourceVersion": str(self.version)}})

    def _record(self, kind: _Kind, event: str, current: Stored, previous: Stored | None) -> None:
        kind.version = self.version
        kind.history.append(Change(self.version, event, current, previous))
        if len(kind.history) > HISTORY_CHANGES_MAX:
            kind.removed_version = kind.history.popleft().version
        self.changed.notify_all()


def encode(value: object) -> bytes:
    """Encode as compact JSON in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
