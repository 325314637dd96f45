"""Buckets in memory with the generation semantics of the object ports; the suite in contract/storage holds it to them.

Small objects only: everything is kept.
"""

import base64
import itertools
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO

import google_crc32c

from gpureport.ports import READ_CHUNK_BYTES, Refused, StoredObject


class MemoryStore:
    """The buckets that copy from each other; `now` is the time of creation of what is stored next."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
        self.lock = threading.Lock()
        self.buckets: dict[str, MemoryBucket] = {}
        self._generations = itertools.count(1796041156147531)

    def bucket(self, name: str) -> "MemoryBucket":
        """Return the bucket of that name, made at first use."""
        return self.buckets.setdefault(name, MemoryBucket(self, name))

    def next_generation(self) -> int:
        """Return a number larger than any before."""
        return next(self._generations)


class MemoryBucket:
    """One bucket; `failure` is raised by every call while it is set, `failures` by as many calls as it holds."""

    def __init__(self, store: MemoryStore, name: str) -> None:
        self.name = name
        self.failure: Exception | None = None
        self.failures: list[Exception] = []
        self._store = store
        self._objects: dict[str, tuple[StoredObject, bytes, str]] = {}

    def stat(self, name: str) -> StoredObject | None:
        self._fail_if_told()
        with self._store.lock:
            found = self._objects.get(name)
        return found[0] if found else None

    def read(self, stored: StoredObject) -> Iterator[bytes]:
        self._fail_if_told()
        data = self._get(stored)
        for start in range(0, len(data), READ_CHUNK_BYTES):
            self._fail_if_told()
            yield data[start : start + READ_CHUNK_BYTES]

    def create(self, name: str, data: bytes, content_type: str) -> StoredObject | None:
        self._fail_if_told()
        if len(data) > 1024 * 1024:
            raise Refused(f"{len(data)} bytes are no small object")
        with self._store.lock:
            return None if name in self._objects else self._put(name, data, content_type)

    def copy_from(self, source: StoredObject, name: str, content_type: str) -> StoredObject | None:
        self._fail_if_told()
        data = self._store.bucket(source.bucket)._get(source)
        with self._store.lock:
            return None if name in self._objects else self._put(name, data, content_type)

    def upload(self, name: str, file: BinaryIO, size_bytes: int, content_type: str) -> StoredObject | None:
        self._fail_if_told()
        data = file.read(size_bytes)
        if len(data) < size_bytes:
            raise Refused(f"the file ends {size_bytes - len(data)} bytes early")
        with self._store.lock:
            return None if name in self._objects else self._put(name, data, content_type)

    def delete(self, stored: StoredObject) -> None:
        self._fail_if_told()
        with self._store.lock:
            found = self._objects.get(stored.name)
            if found and found[0].generation == stored.generation:
                del self._objects[stored.name]

    def replace(self, name: str, data: bytes) -> StoredObject:
        """Overwrite, as somebody beside us would."""
        with self._store.lock:
            return self._put(name, data, "application/octet-stream")

    def names(self) -> list[str]:
        """List what is there, sorted."""
        with self._store.lock:
            return sorted(self._objects)

    def content(self, name: str) -> bytes:
        """Return the live bytes."""
        return self._objects[name][1]

    def content_type(self, name: str) -> str:
        """Return the live content type."""
        return self._objects[name][2]

    def _get(self, stored: StoredObject) -> bytes:
        with self._store.lock:
            found = self._objects.get(stored.name)
        if found is None or found[0].generation != stored.generation:
            raise Refused(f"{self.name}/{stored.name}#{stored.generation} is gone")
        return found[1]

    def _put(self, name: str, data: bytes, content_type: str) -> StoredObject:
        crc32c = base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
        generation = self._store.next_generation()
        stored = StoredObject(self.name, name, generation, len(data), crc32c, self._store.now)
        self._objects[name] = (stored, data, content_type)
        return stored

    def _fail_if_told(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self.failures:
            raise self.failures.pop(0)
