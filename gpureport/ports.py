"""What our code asks of the outside world: the protocols, and the values and errors that cross them.

A core is written against these; `gpureport.adapters` fulfils them with one vendor each, `tests/fakes` without any.
No vendor, no policy and no decision belongs here.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, BinaryIO, NamedTuple, Protocol

from gpureport.contract.events import Event

READ_CHUNK_BYTES = 256 * 1024
"""Size of one piece of `read`: small beside a function's memory, large beside an HTTP round trip."""


class Unavailable(Exception):
    """A counterpart did not answer, or asked to be called later: the same call may succeed then."""


class Refused(Exception):
    """A counterpart refused, and will refuse the same call again: permission, policy, retention, malformed."""


class Misconfigured(Refused):
    """What describes the counterpart (a kubeconfig, a setting) is unusable: nobody was asked yet."""


class StoredObject(NamedTuple):
    """One generation of one object, as its store describes it; `crc32c` is base64 of the big-endian sum."""

    bucket: str
    name: str
    generation: int
    size_bytes: int
    crc32c: str
    created_at: datetime


class ObjectReader(Protocol):
    """Reads one bucket. Every method may raise `Unavailable` or `Refused`."""

    def stat(self, name: str) -> StoredObject | None:
        """Describe the live generation; None when there is no such object."""
        ...

    def read(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of exactly that generation in pieces of `READ_CHUNK_BYTES`; `Refused` when it is gone."""
        ...


class ObjectWriter(Protocol):
    """Creates objects in one bucket and never overwrites one. Every method may raise `Unavailable` or `Refused`."""

    def create(self, name: str, data: bytes, content_type: str) -> StoredObject | None:
        """Store a small object; None when the name is taken. At most 1 MiB."""
        ...

    def copy_from(self, source: StoredObject, name: str, content_type: str) -> StoredObject | None:
        """Copy exactly that generation, server-side; None when the name is taken; `Refused` when the source is gone."""
        ...


class ObjectUploader(Protocol):
    """Brings a file into one bucket. May raise `Unavailable` or `Refused`."""

    def upload(self, name: str, file: BinaryIO, size_bytes: int, content_type: str) -> StoredObject | None:
        """Store a file of any size, the checksum confirmed by the server; None when the name is taken."""
        ...


class ObjectRemover(Protocol):
    """Deletes from one bucket. May raise `Unavailable` or `Refused`."""

    def delete(self, stored: StoredObject) -> None:
        """Delete exactly that generation; no error when it is gone or replaced already."""
        ...


class Publisher(Protocol):
    """Publishes to one project's topics. May raise `Unavailable` or `Refused`."""

    def publish(self, topic: str, event: Event) -> str:
        """Publish one event and wait for the server's message id."""
        ...


class ServedNode(NamedTuple):
    """A Node as the API returned it, and the instant of that answer by the server's own clock (its Date header)."""

    node: dict[str, Any]
    served_at: datetime


class PatchOutcome(Enum):
    """What became of a compare-and-swap patch."""

    APPLIED = "applied"
    CONFLICT = "conflict"
    """A test did not hold, or somebody else wrote first: read again and decide again."""
    GONE = "gone"
    """There is no such Node."""


class Nodes(Protocol):
    """Reads and patches the Nodes of one cluster. Every method may raise `Unavailable` or `Refused`."""

    def read_node(self, name: str) -> ServedNode | None:
        """Read one Node with a consistent read; None when there is none of that name."""
        ...

    def patch_node(self, name: str, operations: Sequence[dict[str, Any]]) -> PatchOutcome:
        """Apply one RFC 6902 patch as a whole."""
        ...
