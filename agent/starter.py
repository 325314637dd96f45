"""How a run begins: the lock, the record, the claim, the script; or why a request is refused instead.

When a run is to begin is decided in `agent.handshake.transitions`; what comes after the script, in `agent.executor`.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from agent.apiserver.client import Served
from agent.collection import Collection, Hooks, Host
from agent.collector.spool import Spool, SpoolRefused
from agent.delivery import DeliveryQueue
from agent.handshake import patches
from agent.handshake.restart import count_deaths, find_unrecorded
from agent.handshake.runs import CLAIMED, Run, build_claim, fail
from agent.handshake.transitions import Action, Move, decide_locked_out, decide_previous
from agent.own_node import OwnNode
from agent.refusals import Refusals
from agent.run_book import RunBook
from agent.telemetry.log import Log
from gpureport.contract.claims import MANUAL
from gpureport.contract.deadlines import KILL_GRACE_S, decide_deadline_at
from gpureport.contract.keys import Keys

LOCK_LOOK_S = 1.0
"""A lock gives no sign when it becomes free: it is looked at so often while a request waits for it."""


class Identity(NamedTuple):
    """Who this agent is; `boot_id` is the kernel's."""

    keys: Keys
    boot_id: str
    agent_version: str
    max_reports: int
    new_run_id: Callable[[], str]


class Begun(NamedTuple):
    """What came of it: an attempt at work, or when to try again."""

    collection: Collection | None = None
    again_at: float | None = None


class Starter:
    """Begins runs, one at a time. Its methods may raise `ApiError`, `NewerRecord`, `RunTaken`."""

    def __init__(  # noqa: PLR0913 (each is a part of the world that a test replaces)
        self,
        identity: Identity,
        *,
        node: OwnNode,
        book: RunBook,
        host: Host,
        spool: Spool,
        queue: DeliveryQueue,
        log: Log,
    ) -> None:
        self._identity = identity
        self._node = node
        self._book = book
        self._host = host
        self._spool = spool
        self._queue = queue
        self._log = log
        self.refusals = Refusals(identity.keys, node=node, ledger=book.ledger, queue=queue, log=log)
        self._locked_since: float | None = None
        self.stuck: str | None = None
        """Names the process that keeps the lock and cannot be ended."""

    def build_collection(self, run: Run) -> Collection:
        """Build the attempt of a run."""
        hooks = Hooks(self._make_way, self._book.mark_keeping)
        return Collection(self._host, self._spool, hooks, self._log, run_id=run.run_id, trigger=run.claim.trigger)

    def claim(self, action: Action, fresh: Served, now: float) -> Begun:
        """Record and claim a run, and start its script; refuse it when the disk takes no record."""
        try:
            if not self._book.lock.acquire():
                return self._wait_for_lock(action, fresh, now)
            self._locked_since, self.stuck = None, None
            if self._book.load() is not None:
                return Begun()
            run = self._build_run(action, fresh, now)
            self._book.open(run)
        except OSError as error:
            self._log.note("disk", f"a request is refused, the disk takes no record of it: {error}")
            self._book.drop()
            self.refuse(action._replace(reason="disk"), fresh, now)
            return Begun()
        self.refusals.drop()
        self._node.patch(fresh, patches.build_claim_changes(fresh.state, self._identity.keys, run.claim), now)
        self._log.info("claimed", f"a {run.claim.trigger} request", runId=run.run_id, deaths=run.deaths or None)
        return self.spawn(run, now)

    def spawn(self, run: Run, now: float) -> Begun:
        """Start the script of a claimed run."""
        collection = self.build_collection(run)
        script = collection.find_script()
        lock_fd = self._book.lock.descriptor
        if script is None or lock_fd is None:
            return self._end_unstarted(run, "script-not-found" if script is None else "internal", now)
        try:
            collection.prepare()
            self._book.mark_running(now, now + self._host.timeout_s + KILL_GRACE_S)
        except (OSError, SpoolRefused) as error:
            self._log.error("spool", str(error), runId=run.run_id)
            return self._end_unstarted(run, "disk", now)
        try:
            process = collection.start_script(script, lock_fd, now)
        except OSError as error:
            self._log.error("script", f"the script cannot be started: {error}", runId=run.run_id)
            return self._end_unstarted(run, "script-failed", now)
        self._book.mark_started(process)
        return Begun(collection)

    def refuse(self, action: Action, fresh: Served, now: float) -> None:
        """Refuse a request: see `Refusals`."""
        reason = action.reason or "internal"
        self.refusals.refuse(reason, lambda: self._build_run(action, fresh, now), fresh, now)

    def interrupt_unrecorded(self, fresh: Served, now: float) -> Begun:
        """Take over a run that the Node is in progress with and nobody remembers, as interrupted."""
        claim = find_unrecorded(fresh.state)
        if claim is None:
            return Begun()
        if not self._book.lock.acquire():
            return Begun(again_at=now + LOCK_LOOK_S)
        if self._book.load() is not None:
            return Begun()
        run = fail(Run(CLAIMED, claim, fresh.state.trigger), "interrupted", attempts=0, duration_s=0)
        self._log.warning("recovered", "a claim of ours without a record is interrupted", runId=run.run_id)
        self._book.take_over(run)
        self._book.mark_collected(run, self._node.time(now))
        self._spool.tidy()
        return Begun()

    def _wait_for_lock(self, action: Action, fresh: Served, now: float) -> Begun:
        if self._locked_since is None:
            self._locked_since = now
        instead = decide_locked_out(fresh.state, action, now - self._locked_since, is_stuck=self.stuck is not None)
        if instead.move is Move.REFUSE:
            self._log.warning("busy", self.stuck or "an unknown process holds the lock")
            self.refuse(instead, fresh, now)
        return Begun(again_at=now + LOCK_LOOK_S)

    def _make_way(self, coming: int) -> None:
        with suppress(OSError):  # reports too many are a smaller evil than none; the next run tries again
            self._spool.rotate(max(0, self._identity.max_reports - coming), self._queue.file_paths())

    def _build_run(self, action: Action, fresh: Served, now: float) -> Run:
        state, started_at = fresh.state, self._node.time(now)
        trigger = action.trigger or MANUAL
        claim = build_claim(
            run_id=self._identity.new_run_id(),
            trigger=trigger,
            node_uid=state.uid,
            boot_id=self._identity.boot_id,
            started_at=started_at,
            deadline_at=decide_deadline_at(started_at, self._host.timeout_s),
            agent_version=self._identity.agent_version,
            previous=decide_previous(state),
        )
        label = state.trigger if trigger == MANUAL else None
        return Run(CLAIMED, claim, label, count_deaths(self._book.run, trigger, label))

    def _end_unstarted(self, run: Run, reason: str, now: float) -> Begun:
        self._spool.tidy()
        self._book.mark_collected(fail(run, reason, attempts=0, duration_s=0), self._node.time(now))
        return Begun()
