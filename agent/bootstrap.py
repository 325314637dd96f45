"""Wires the agent: builds every part once and starts the watch. No decision and no flag belongs here."""

import os
import ssl
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from agent import __version__
from agent.apiserver.backoff import Backoff
from agent.apiserver.client import NodeClient
from agent.apiserver.mailbox import Mailbox
from agent.apiserver.node_events import NodeEvents
from agent.apiserver.watch import NodeWatch
from agent.collection import Host
from agent.collector.spool import Spool
from agent.delivery import DeliveryQueue, Destination
from agent.executor import RETRY_FIRST_S, RETRY_MOST_S, Executor, Parts
from agent.ledger.ledger import Ledger
from agent.ledger.lock import RunLock
from agent.loop import Loop, Signals
from agent.own_node import OwnNode
from agent.recovery import Recoverer
from agent.run_book import RunBook
from agent.settings import Settings
from agent.start_conditions import DISK_FIRST_S, DISK_MOST_S, Found, Unusable, await_disk, load_tls
from agent.starter import Identity, Starter
from agent.telemetry.log import Log
from agent.telling import Teller
from gpureport.contract.exit_codes import EXIT_OK, EXIT_USAGE

BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
WATCH_STOP_S = 1.0
EVENTS_FLUSH_S = 5.0
"""How long the last Events may take; an apiserver that hangs does not keep the agent longer."""


class _Ground(NamedTuple):
    """What was there before anything that serves could be built."""

    settings: Settings
    tls: ssl.SSLContext | None
    spool: Spool
    ledger: Ledger
    found: Found
    journal: Log


def run(settings: Settings) -> int:
    """Serve one Node until SIGTERM; return the exit code: `EXIT_USAGE` for what cannot get better by itself."""
    journal = Log(settings.log_format)
    signals = Signals()
    signals.catch()
    spool = Spool(settings.host_root, settings.reports_dir)
    ledger = Ledger(spool.local(settings.reports_dir), lambda sentence: journal.warning("ledger", sentence))
    try:
        tls = load_tls(settings.endpoint)
        found = await_disk(spool, ledger, journal, Backoff(DISK_FIRST_S, DISK_MOST_S, jitter), signals.wait_for_end)
    except Unusable as unusable:
        journal.error("unusable", str(unusable))
        return EXIT_USAGE
    code = EXIT_OK if found is None else _serve(_Ground(settings, tls, spool, ledger, found, journal), signals)
    journal.info("stopped", "the agent ends", exitCode=code)
    return code


def jitter() -> float:
    """Return a number from 0 to 1, a new one each time."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def _serve(ground: _Ground, signals: Signals) -> int:
    settings, journal, mailbox = ground.settings, ground.journal, Mailbox()
    node = OwnNode(_build_client(ground), mailbox, journal)
    queue = _build_queue(ground)
    events = NodeEvents(settings.endpoint, settings.node_name, ground.tls, journal.note)
    executor = _build_executor(ground, node, queue, events)
    watch = NodeWatch(
        _build_client(ground),
        mailbox,
        journal.note,
        jitter=jitter,
        monotonic=time.monotonic,
        timeout_s=settings.watch_timeout_s,
    )
    journal.info("started", f"agent {__version__}", node=settings.node_name, cluster=settings.cluster)
    watch.ensure_running()
    code = Loop(executor, queue, watch, signals, journal, jitter=jitter).run()
    events.flush(EVENTS_FLUSH_S)
    watch.stop(WATCH_STOP_S)
    return code


def _build_executor(ground: _Ground, node: OwnNode, queue: DeliveryQueue, events: NodeEvents) -> Executor:
    settings, spool, ledger, journal = ground.settings, ground.spool, ground.ledger, ground.journal
    keys, boot_id = settings.keys, _read_boot_id()
    make_room = _build_room_maker(ground, queue)
    book = RunBook(ledger, RunLock(ledger.folder), make_room, lambda sentence: journal.note("disk", sentence))
    identity = Identity(keys, boot_id, __version__, settings.max_reports, lambda: os.urandom(16).hex())
    host = Host(settings.host_root, settings.script, settings.timeout_s, _finish_command(settings))
    return Executor(
        Parts(
            node=node,
            book=book,
            starter=Starter(identity, node=node, book=book, host=host, spool=spool, queue=queue, log=journal),
            recoverer=Recoverer(book, spool, journal, boot_id),
            teller=Teller(keys, node=node, book=book, queue=queue, log=journal),
            queue=queue,
            events=events,
            backoff=Backoff(RETRY_FIRST_S, RETRY_MOST_S, jitter),
            log=journal,
        )
    )


def _build_client(ground: _Ground) -> NodeClient:
    settings = ground.settings
    return NodeClient(settings.endpoint, settings.node_name, settings.keys, __version__, tls=ground.tls)


def _build_queue(ground: _Ground) -> DeliveryQueue:
    settings, found = ground.settings, ground.found
    queue = DeliveryQueue(
        Destination(settings.cluster, settings.node_name, settings.project, settings.staging_bucket, settings.topic),
        _finish_command(settings),
        ground.ledger,
        ground.spool,
        ground.journal,
        first_s=settings.delivery_backoff_s,
        jitter=jitter,
    )
    for parcel in found.parcels:
        if parcel.run_id != found.unfinished:
            queue.add(parcel, time.monotonic())
    return queue


def _build_room_maker(ground: _Ground, queue: DeliveryQueue) -> Callable[[Sequence[str]], None]:
    spool, journal = ground.spool, ground.journal

    def make_room(keep: Sequence[str]) -> None:
        try:
            removed = spool.rotate(0, [*queue.file_paths(), *keep])
        except OSError as error:
            journal.note("disk", f"no room can be made: {error}")
            return
        if removed:
            sentence = "the disk is full: old reports, delivered or given up, were deleted"
            journal.warning("room", sentence, files=" ".join(removed))

    return make_room


def _finish_command(settings: Settings) -> tuple[str, ...]:
    return (settings.finish_python, "-I", settings.finish_home, "finish")


def _read_boot_id() -> str:
    with open(BOOT_ID_FILE, encoding="ascii") as file:
        return file.read().strip()
