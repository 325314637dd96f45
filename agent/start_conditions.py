"""What must hold before the agent serves: a CA that can be read, a reports folder that is ours and can be written.

What cannot get better by itself is said once and ends the process; what may, is said once and waited for in here.
"""

import ssl
from collections.abc import Callable
from typing import NamedTuple

from agent.apiserver.backoff import Backoff
from agent.apiserver.connection import Endpoint, build_tls
from agent.collector.spool import Spool, SpoolRefused
from agent.ledger.ledger import Ledger
from agent.ledger.records import NewerRecord, Parcel
from agent.telemetry.log import Log

DISK_FIRST_S = 1.0
DISK_MOST_S = 60.0


class Unusable(Exception):
    """The configuration is wrong and stays so; the message says what to do."""


class Found(NamedTuple):
    """What an earlier process left in the outbox, and the run whose parcel is not to be delivered yet."""

    parcels: tuple[Parcel, ...]
    unfinished: str | None


def load_tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Read the cluster's CA; `Unusable` when it is none."""
    try:
        return build_tls(endpoint)
    except OSError as error:
        why = "it holds no certificate in PEM form" if isinstance(error, ssl.SSLError) else error.strerror or error
        raise Unusable(f"--ca-file {endpoint.ca_file}: {why}; name the file with the cluster's CA") from None


def await_disk(spool: Spool, ledger: Ledger, log: Log, backoff: Backoff, wait: Callable[[float], bool]) -> Found | None:
    """Wait until the disk can be used; None when `wait` (seconds) said that the agent is to end. `Unusable`."""
    while True:
        try:
            found = open_disk(spool, ledger)
        except SpoolRefused as refused:
            raise Unusable(f"--reports-dir: {refused}") from None
        except OSError as error:
            log.note("disk", f"--reports-dir {spool.reports_dir}: not usable yet, it is tried again: {error}")
        else:
            log.note("disk", "")
            return found
        if wait(backoff.decide_wait_s()):
            return None


def open_disk(spool: Spool, ledger: Ledger) -> Found:
    """Make the folders, once the reports folder is known to be ours, and read them. `OSError`, `SpoolRefused`."""
    spool.ensure_folder()
    ledger.prepare()
    return Found(tuple(ledger.read_outbox()), _find_unfinished(ledger))


def _find_unfinished(ledger: Ledger) -> str | None:
    """Name the run whose evidence may still be missing on the Node: it is delivered only after that."""
    try:
        run = ledger.read_run()
    except NewerRecord:
        return None
    return run.run_id if run is not None and run.is_active else None
