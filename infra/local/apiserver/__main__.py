"""Run the stand-in for kube-apiserver: `python -m infra.local.apiserver --port 0`.

Prints one line, `ready URL`, once it listens; ends within a second of SIGTERM.
"""

import argparse
import json
import signal
import ssl
from pathlib import Path
from threading import Thread

from infra.local.apiserver.server import ApiServer
from infra.local.apiserver.tokens import Tokens, read_token_file

BOOKMARK_S_DEFAULT = 60.0
"""Source: kube-apiserver, measured."""


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    options = _parse_options()
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    tokens = Tokens(read_token_file(options.tokens) if options.tokens else None)
    server = ApiServer((options.host, options.port), tokens, options.bookmark_seconds, _build_tls(options))
    for path in options.objects:
        _seed(server, path)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    print(f"ready {server.url}", flush=True)
    signal.sigwait(signals)
    server.server_close()


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.local.apiserver", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--tls-cert", type=Path, help="server certificate (PEM); without it HTTP is served")
    parser.add_argument("--tls-key", type=Path, help="its private key (PEM)")
    parser.add_argument("--tokens", type=Path, help="static token file; without it every request is let in")
    parser.add_argument("--bookmark-seconds", type=float, default=BOOKMARK_S_DEFAULT)
    parser.add_argument("--objects", type=Path, action="append", default=[], help="a List (JSON) to begin with")
    return parser.parse_args()


def _build_tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if options.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(options.tls_cert, options.tls_key)
    return context


def _seed(server: ApiServer, path: Path) -> None:
    document = json.loads(path.read_bytes())
    group_version = document.get("apiVersion", "v1")
    kind = document["kind"].removesuffix("List")
    for item in document.get("items", [document]):
        server.operations.seed(item.get("apiVersion", group_version), {"kind": kind, **item})


if __name__ == "__main__":
    main()
