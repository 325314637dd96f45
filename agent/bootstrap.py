"""Wires the agent: builds every part once and starts the watch. No decision and no flag belongs here."""

import os
import time

from agent import __version__
from agent.apiserver.backoff import Backoff
from agent.apiserver.client import NodeClient
from agent.apiserver.mailbox import Mailbox
from agent.apiserver.watch import NodeWatch
from agent.collection import Host
from agent.collector.spool import Spool
from agent.delivery import DeliveryQueue, Destination
from agent.executor import RETRY_FIRST_S, RETRY_MOST_S, Executor, Parts
from agent.ledger.ledger import Ledger
from agent.ledger.lock import RunLock
from agent.ledger.records import NewerRecord
from agent.loop import Loop, Signals
from agent.own_node import OwnNode
from agent.recovery import Recoverer
from agent.run_book import RunBook
from agent.settings import Settings
from agent.starter import Identity, Starter
from agent.telemetry.log import Log

BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
WATCH_STOP_S = 1.0


def run(settings: Settings) -> int:
    """Serve one Node until SIGTERM; return the exit code. `OSError` when the CA or the reports folder can't be used."""
    journal = Log(settings.log_format)
    signals = Signals()
    signals.catch()
    spool = Spool(settings.host_root, settings.reports_dir)
    ledger = Ledger(spool.local(settings.reports_dir), lambda sentence: journal.warning("ledger", sentence))
    ledger.prepare()
    queue = _build_queue(settings, ledger, spool, journal)
    client, mailbox = _build_client(settings), Mailbox()
    node = OwnNode(client, mailbox, journal)
    book = RunBook(ledger, RunLock(ledger.folder))
    boot_id = _read_boot_id()
    identity = Identity(settings.keys, boot_id, __version__, settings.max_reports, lambda: os.urandom(16).hex())
    host = Host(settings.host_root, settings.script, settings.timeout_s, _finish_command(settings))
    executor = Executor(
        identity,
        Parts(
            node=node,
            book=book,
            starter=Starter(identity, node=node, book=book, host=host, spool=spool, queue=queue, log=journal),
            recoverer=Recoverer(book, journal, boot_id),
            spool=spool,
            queue=queue,
            backoff=Backoff(RETRY_FIRST_S, RETRY_MOST_S, jitter),
            log=journal,
        ),
    )
    watch = NodeWatch(
        _build_client(settings, client),
        mailbox,
        journal.note,
        jitter=jitter,
        monotonic=time.monotonic,
        timeout_s=settings.watch_timeout_s,
    )
    journal.info("started", f"agent {__version__}", node=settings.node_name, cluster=settings.cluster)
    watch.ensure_running()
    code = Loop(executor, queue, watch, signals, journal, jitter=jitter).run()
    watch.stop(WATCH_STOP_S)
    journal.info("stopped", "the agent ends", exitCode=code)
    return code


def jitter() -> float:
    """Return a number from 0 to 1, a new one each time."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def _build_client(settings: Settings, like: NodeClient | None = None) -> NodeClient:
    return NodeClient(
        settings.endpoint, settings.node_name, settings.keys, __version__, tls=None if like is None else like.tls
    )


def _build_queue(settings: Settings, ledger: Ledger, spool: Spool, log: Log) -> DeliveryQueue:
    queue = DeliveryQueue(
        Destination(settings.cluster, settings.node_name, settings.project, settings.staging_bucket, settings.topic),
        _finish_command(settings),
        ledger,
        spool,
        log,
        first_s=settings.delivery_backoff_s,
        jitter=jitter,
    )
    unfinished = _find_unfinished(ledger)
    for parcel in ledger.read_outbox():
        if parcel.run_id != unfinished:
            queue.add(parcel, time.monotonic())
    return queue


def _find_unfinished(ledger: Ledger) -> str | None:
    """Name the run whose evidence may still be missing on the Node: it is delivered only after that."""
    try:
        run = ledger.read_run()
    except NewerRecord:
        return None
    return run.run_id if run is not None and run.is_active else None


def _finish_command(settings: Settings) -> tuple[str, ...]:
    return (settings.finish_python, "-I", settings.finish_home, "finish")


def _read_boot_id() -> str:
    with open(BOOT_ID_FILE, encoding="ascii") as file:
        return file.read().strip()
