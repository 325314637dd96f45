"""How are the object ports fulfilled by Cloud Storage? The vendor's objects and answers stay in here.

The library is imported at first use: it costs a fifth of a second that a start need not wait for. How the service is
reached stands in `google_storage_client`. No names, no decisions and no validation of content belong here.
"""

from __future__ import annotations

import base64
import copy
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from gpureport.adapters.google_storage_client import ERRORS_BY_TYPE, StorageClient
from gpureport.ports import READ_CHUNK_BYTES, Refused, StoredObject, Unavailable

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.cloud import storage

CONNECT_TIMEOUT_S = 5.0
"""A connection is there in milliseconds or, most likely, not at all."""

ANSWER_TIMEOUT_S = 30.0
"""Longest silence within one request; a rewrite's call may think for some seconds."""

RETRY_DEADLINE_S = 45.0
"""How long the library repeats one request; the caller's own redelivery is what waits longer."""

RANGE_BYTES = 2 * 1024 * 1024
"""One read request: what a read holds in memory, against a round trip for each."""

SINGLE_REQUEST_BYTES_MAX = 8 * 1024 * 1024
"""Larger files go up resumably. Source: google-cloud-storage sends up to here in one request, from memory."""

UPLOAD_CHUNK_BYTES = 2 * 1024 * 1024
"""What a large upload holds in memory; a multiple of 256 KiB, as resumable uploads ask for."""

BROKEN_READS_MAX = 5
"""How often one range is asked for again after an answer that ended early."""

REWRITE_CALLS_MAX = 1024
"""A call moves at least 1 MiB, in practice gigabytes."""

CREATE_BYTES_MAX = 1024 * 1024

_TIMEOUT_S = (CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S)


class GoogleBucket:
    """One bucket: fulfils `ObjectReader`, `ObjectWriter`, `ObjectUploader` and `ObjectRemover`; safe among threads.

    `STORAGE_EMULATOR_HOST` is honoured as the library does, with anonymous credentials.
    """

    def __init__(self, name: str, *, project: str | None = None, retry_deadline_s: float = RETRY_DEADLINE_S) -> None:
        self._name = name
        self._client = StorageClient(project, retry_deadline_s)

    def open_beside(self, name: str) -> GoogleBucket:
        """Return another bucket, reached by the same client: its connections and credentials are shared."""
        bucket = copy.copy(self)
        bucket._name = name
        return bucket

    def stat(self, name: str) -> StoredObject | None:
        """Describe the live generation; None when there is no such object, or no such bucket."""
        with ERRORS_BY_TYPE:
            blob = self._bucket().get_blob(name, timeout=_TIMEOUT_S, retry=self._retry())
        return None if blob is None else _build_stored(blob)

    def read(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of exactly that generation as stored; `Unavailable` at the end when their sum is wrong.

        An empty object is not asked for.
        """
        import google_crc32c

        blob = self._bucket().blob(stored.name, generation=stored.generation)
        crc32c = 0
        for first in range(0, stored.size_bytes, RANGE_BYTES):
            content = self._read_range(blob, first, min(RANGE_BYTES, stored.size_bytes - first))
            crc32c = google_crc32c.extend(crc32c, content)
            for start in range(0, len(content), READ_CHUNK_BYTES):
                yield content[start : start + READ_CHUNK_BYTES]
        if _format_crc32c(crc32c) != stored.crc32c:
            raise Unavailable(f"the bytes of gs://{self._name}/{stored.name} came with a wrong checksum")

    def _read_range(self, blob: storage.Blob, first: int, size_bytes: int) -> bytes:
        for _ in range(BROKEN_READS_MAX):
            with ERRORS_BY_TYPE:
                content: bytes = blob.download_as_bytes(
                    start=first,
                    end=first + size_bytes - 1,
                    raw_download=True,
                    single_shot_download=True,
                    checksum=None,
                    timeout=_TIMEOUT_S,
                    retry=self._retry(),
                )
            if len(content) == size_bytes:
                return content
        raise Unavailable(f"answers for gs://{self._name}/{blob.name} ended early")

    def create(self, name: str, data: bytes, content_type: str) -> StoredObject | None:
        """Store a small object, its checksum verified by the server; None when the name is taken. At most 1 MiB."""
        if len(data) > CREATE_BYTES_MAX:
            raise Refused(f"{len(data)} bytes are no small object")
        return self.upload(name, io.BytesIO(data), len(data), content_type)

    def upload(self, name: str, file: BinaryIO, size_bytes: int, content_type: str) -> StoredObject | None:
        """Store a file, read twice: for its checksum, and for the bytes. None when the name is taken.

        After a lost answer the name may be taken by this very upload: compare size and checksum.
        """
        start = file.tell()
        crc32c = _measure_crc32c(file, size_bytes)
        file.seek(start)
        blob = self._bucket().blob(name)
        blob.crc32c = crc32c
        if size_bytes > SINGLE_REQUEST_BYTES_MAX:
            blob.chunk_size = UPLOAD_CHUNK_BYTES
        with ERRORS_BY_TYPE:
            if not self._upload_unless_taken(blob, file, size_bytes, content_type):
                return None
        stored = _build_stored(blob)
        if (stored.crc32c, stored.size_bytes) != (crc32c, size_bytes):
            self.delete(stored)
            raise Unavailable(f"gs://{self._name}/{name} was stored with a wrong checksum, and deleted")
        return stored

    def _upload_unless_taken(self, blob: storage.Blob, file: BinaryIO, size_bytes: int, content_type: str) -> bool:
        from google.api_core.exceptions import PreconditionFailed

        try:
            blob.upload_from_file(
                file,
                size=size_bytes,
                content_type=content_type,
                if_generation_match=0,
                checksum=None,
                timeout=_TIMEOUT_S,
                retry=self._retry(),
            )
        except PreconditionFailed:
            return False
        return True

    def copy_from(self, source: StoredObject, name: str, content_type: str) -> StoredObject | None:
        """Copy exactly that generation, server-side; None when the name is taken, `Refused` when the source is gone."""
        from google.api_core.exceptions import PreconditionFailed

        blob = self._bucket().blob(name)
        blob.content_type = content_type
        try:
            with ERRORS_BY_TYPE:
                self._rewrite(blob, source)
        except Refused as refused:
            if isinstance(refused.__cause__, PreconditionFailed) and self.stat(name) is not None:
                return None
            raise
        return _build_stored(blob)

    def _rewrite(self, blob: storage.Blob, source: StoredObject) -> None:
        source_blob = blob.client.bucket(source.bucket).blob(source.name, generation=source.generation)
        token = None
        for _ in range(REWRITE_CALLS_MAX):
            token, _, _ = blob.rewrite(
                source_blob,
                token=token,
                if_generation_match=0,
                if_source_generation_match=source.generation,
                timeout=_TIMEOUT_S,
                retry=self._retry(),
            )
            if token is None:
                return
        raise Unavailable(f"copying gs://{source.bucket}/{source.name} does not come to an end")

    def delete(self, stored: StoredObject) -> None:
        """Delete exactly that generation; no error when it is gone or replaced already."""
        from google.api_core.exceptions import NotFound, PreconditionFailed

        blob = self._bucket().blob(stored.name, generation=stored.generation)
        with ERRORS_BY_TYPE:
            try:
                blob.delete(if_generation_match=stored.generation, timeout=_TIMEOUT_S, retry=self._retry())
            except (NotFound, PreconditionFailed):
                return

    def _bucket(self) -> storage.Bucket:
        return self._client.open().client.bucket(self._name)

    def _retry(self) -> Retry:
        return self._client.open().retry


def _build_stored(blob: storage.Blob) -> StoredObject:
    return StoredObject(
        blob.bucket.name, blob.name, int(blob.generation), int(blob.size), blob.crc32c, blob.time_created
    )


def _measure_crc32c(file: BinaryIO, size_bytes: int) -> str:
    import google_crc32c

    crc32c, left_bytes = 0, size_bytes
    while left_bytes > 0:
        piece = file.read(min(READ_CHUNK_BYTES, left_bytes))
        if not piece:
            raise Refused(f"the file ends {left_bytes} bytes early")
        left_bytes -= len(piece)
        crc32c = google_crc32c.extend(crc32c, piece)
    return _format_crc32c(crc32c)


def _format_crc32c(crc32c: int) -> str:
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode()
