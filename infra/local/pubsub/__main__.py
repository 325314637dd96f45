"""`python -m infra.local.pubsub`: serve the broker until SIGTERM."""

import argparse
import signal
import threading
from pathlib import Path

from infra.local.pubsub.backlog import BACKLOG_MESSAGES_MAX
from infra.local.pubsub.broker import Broker
from infra.local.pubsub.readiness import announce
from infra.local.pubsub.service import build_server

HOST = "127.0.0.1"
EXPIRY_PERIOD_S = 0.1
"""How often leases are looked through: the resolution of ack deadlines nobody waits for."""
STOP_GRACE_S = 0.2
"""What requests in flight get before they are cancelled."""


def main(arguments: list[str] | None = None) -> int:
    """Serve on loopback; returns the exit status, 1 when the port is taken."""
    parser = argparse.ArgumentParser(prog="python -m infra.local.pubsub", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ready-file", type=Path, help="gets HOST:PORT once the broker serves")
    parser.add_argument("--backlog-max", type=int, default=BACKLOG_MESSAGES_MAX, help="messages per subscription")
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    broker = Broker(options.backlog_max)
    server = build_server(broker)
    try:
        port = server.add_insecure_port(f"{HOST}:{options.port}")
    except RuntimeError as error:
        print(f"can't listen on {HOST}:{options.port}: {error}", flush=True)
        return 1
    server.start()
    announce(f"{HOST}:{port}", options.ready_file)
    while not stop.wait(EXPIRY_PERIOD_S):
        broker.expire_leases()
    broker.close()
    server.stop(STOP_GRACE_S).wait(STOP_GRACE_S * 2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
