"""Brings about what the handshake decides: claims, starts, tells the Node, and takes requests one after the other.

One call of `step` does all that can be done without waiting for a child. Decisions stand in `agent.handshake`, a run
found on disk in `agent.recovery`, children in `agent.collection` and `agent.delivery`.
"""

from collections.abc import Callable
from typing import NamedTuple

from agent.apiserver.backoff import Backoff
from agent.apiserver.client import NodeClient, Served
from agent.apiserver.errors import ApiError, Gone, LostRace
from agent.apiserver.mailbox import Mailbox
from agent.apiserver.server_clock import ServerClock
from agent.collection import Collected, Collection, Host
from agent.collector.spool import Spool, SpoolRefused
from agent.delivery import DeliveryQueue
from agent.handshake import patches
from agent.handshake.restart import count_deaths, find_unrecorded
from agent.handshake.runs import CLAIMED, RUNNING, Run, build_claim, fail
from agent.handshake.transitions import Action, Move, decide, decide_locked_out, decide_previous
from agent.ledger.records import NewerRecord
from agent.recovery import Recoverer
from agent.run_book import RunBook, RunTaken, build_parcel
from agent.telemetry.log import Log
from gpureport.contract.claims import MANUAL
from gpureport.contract.deadlines import KILL_GRACE_S, decide_deadline_at
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import Change, NodeState, build_patch

MOVES_MAX = 12
"""Moves of one step: a whole refused or failed run takes four, each lost race two more."""
RETRY_FIRST_S = 0.5
RETRY_MOST_S = 60.0
LOCK_LOOK_S = 1.0
"""A lock gives no sign when it becomes free: it is looked at so often while a request waits for it."""

NEVER = float("inf")


class Identity(NamedTuple):
    """Who this agent is; `boot_id` is the kernel's."""

    keys: Keys
    boot_id: str
    agent_version: str
    max_reports: int
    new_run_id: Callable[[], str]


class Parts(NamedTuple):
    """What an executor works with, each built once by the bootstrap."""

    client: NodeClient
    mailbox: Mailbox
    book: RunBook
    spool: Spool
    host: Host
    queue: DeliveryQueue
    clock: ServerClock
    backoff: Backoff
    log: Log


class Executor:
    """Serves the requests of one Node."""

    def __init__(self, identity: Identity, parts: Parts) -> None:
        self._identity = identity
        self._parts = parts
        self._log, self._book = parts.log, parts.book
        self._recoverer = Recoverer(parts.book, parts.log, identity.boot_id)
        self._known: Served | None = None
        self._collection: Collection | None = None
        self._ended: Collected | None = None
        self._stuck: str | None = None
        self._locked_since: float | None = None
        self._look_at = NEVER
        self.is_stopping = False
        self.has_interrupted = False

    @property
    def is_collecting(self) -> bool:
        """Whether a script or its judge is at work, or its end is not on disk yet."""
        return self._collection is not None or self._ended is not None

    @property
    def has_to_tell(self) -> bool:
        """Whether a run without a report has still to be failed on the Node."""
        run = self._book.active
        return run is not None and run.claim.result is not None and run.claim.report is None

    def fds(self) -> list[int]:
        """Return the descriptors to poll for input."""
        children = [] if self._collection is None else self._collection.fds()
        return [self._parts.mailbox.wake_fd, *children]

    def wake_at(self) -> float:
        """Return the monotonic instant by which `step` is to be called."""
        return min(self._look_at, NEVER if self._collection is None else self._collection.wake_at())

    def look_again(self, now: float) -> None:
        """Ask for a step at that instant at the latest."""
        self._look_at = min(self._look_at, now)

    def stop(self, now: float) -> None:
        """Claim nothing any more and end the script; its run ends as `interrupted`."""
        self.is_stopping = True
        if self._collection is not None:
            self.has_interrupted = True
            self._collection.stop(now)

    def step(self, now: float) -> None:
        """Do what is due. May raise `OSError`: the same step is due again then."""
        self._take_news(now)
        self._step_collection(now)
        if self._look_at <= now:
            self._look_at = NEVER
            self._reconcile(now)

    def deliver(self, now: float, *, may_start: bool) -> None:
        """Let go of parcels that the Node's newest state makes superfluous, and go on with those that are due."""
        if not self._parts.clock.is_set:
            return
        server_now = self._parts.clock.read(now)
        state = None if self._known is None else self._known.state
        self._parts.queue.settle(state, server_now)
        self._parts.queue.step(now, server_now, may_start=may_start)
        self._parts.queue.settle(state, server_now)

    def _take_news(self, now: float) -> None:
        news = self._parts.mailbox.take()
        if news is None:
            return
        served = news.served
        if served is None:
            self._known = None
            return
        if served.served_at is None and self._known is not None and _is_older(served, self._known):
            return
        if self._known is None:
            self._log.info("watching", "the Node is watched", node=served.state.name, uid=served.state.uid)
        self._see(served, now)
        self.look_again(now)

    def _see(self, served: Served, now: float) -> Served:
        self._parts.clock.see(served.served_at, now)
        self._known = served
        return served

    def _step_collection(self, now: float) -> None:
        if self._collection is not None:
            self._ended = self._collection.step(now, self._parts.clock.read(now)) or self._ended
        if self._ended is None:
            return
        ended = self._ended
        run = self._book.active
        if run is not None:
            self._end_run(run, ended, now)
        self._ended, self._collection = None, None
        self._stuck = ended.stuck or self._stuck
        self.look_again(now)

    def _end_run(self, run: Run, ended: Collected, now: float) -> None:
        server_now = self._parts.clock.read(now)
        self._book.mark_collected(self._recoverer.judge_ending(run, ended), server_now)
        report = [] if ended.result.file_path is None else [ended.result.file_path]
        self._parts.spool.rotate(self._identity.max_reports, [*self._parts.queue.file_paths(), *report])

    # What is due on the Node

    def _reconcile(self, now: float) -> None:
        if self._known is None or self.is_collecting:
            return
        try:
            self._make_moves(now)
            self._parts.backoff.reset()
            self._log.note("apiserver", "")
        except NewerRecord as newer:
            self._log.note("ledger", f"a newer agent's run is unfinished here, nothing is claimed: {newer}")
            self.look_again(now + RETRY_MOST_S)
        except RunTaken as taken:
            self._log.warning("taken", str(taken))
            self._book.drop()
            self.look_again(now)
        except Gone as error:
            self._known = None
            self._log.note("apiserver", f"the Node does not exist: {error}")
        except ApiError as error:
            self._log.note("apiserver", f"{type(error).__name__}: {error}")
            wait_s = self._parts.backoff.decide_wait_s(error.retry_after_s)
            self.look_again(now + (min(wait_s, 1.0) if self.is_stopping else wait_s))

    def _make_moves(self, now: float) -> None:
        fresh: Served | None = None
        for _ in range(MOVES_MAX):
            known = fresh or self._known
            if known is None:
                return
            if self._book.active is None and not self._recover(known, now):
                return
            if self._book.active is not None and self._book.active.phase == RUNNING:
                return
            action = self._decide(known.state, now)
            if action.is_passive or (self.is_stopping and action.move is Move.SPAWN):
                return
            if fresh is None:
                fresh = self._see(self._parts.client.read_node(), now)
                continue
            try:
                self._act(action, fresh, now)
                fresh = self._known
            except LostRace as lost:
                self._log.info("lost-race", f"{action.move.value}: {lost}")
                fresh = None
        self.look_again(now + RETRY_FIRST_S)

    def _recover(self, known: Served, now: float) -> bool:
        """Take charge of a run found on disk; False while there is nothing to do but wait."""
        server_now = self._parts.clock.read(now) if self._parts.clock.is_set else None
        step = self._recoverer.step(known.state, now, server_now)
        if step.salvage is not None:
            run = step.salvage
            self._collection = self._new_collection(run)
            self._ended = self._collection.salvage(step.duration_s, now)
            self.look_again(now)
        if step.again_at is not None:
            self.look_again(step.again_at)
        self._stuck = step.stuck or self._stuck
        return step.is_settled

    def _decide(self, state: NodeState, now: float) -> Action:
        run = self._book.active
        action = decide(state, run)
        if run is not None and action.move is Move.AWAIT:
            self._parts.queue.add(build_parcel(run, self._parts.clock.read(now)), now)
        if run is None:
            if self.is_stopping:
                return Action(Move.IDLE)
            if action.move is Move.WAIT and find_unrecorded(state) is not None:
                return Action(Move.INTERRUPT)
        return action

    def _act(self, action: Action, fresh: Served, now: float) -> None:
        move, run = action.move, self._book.active
        if move is Move.CLAIM:
            self._claim(action, fresh, now)
        elif move is Move.REFUSE:
            self._refuse(action, fresh, now)
        elif move is Move.INTERRUPT:
            self._interrupt_unrecorded(fresh, now)
        elif run is not None:
            self._go_on(move, run, fresh, now)

    def _go_on(self, move: Move, run: Run, fresh: Served, now: float) -> None:
        keys, state = self._identity.keys, fresh.state
        if move is Move.SPAWN:
            self._spawn(run, now)
        elif move is Move.FORGET:
            self._log.info("forgotten", "the claim did not reach the Node", runId=run.run_id)
            self._book.forget()
        elif move is Move.EVIDENCE:
            self._patch(fresh, patches.build_evidence_changes(state, keys, run), now)
            self._say_told(run, "evidence")
            self._ready(run, now)
        elif move is Move.FAIL:
            self._patch(fresh, patches.build_failure_changes(state, keys, run), now)
            self._say_told(run, "failed")
            self._ready(run, now)
            self._book.mark_done()
        else:
            self._let_go(move, run, fresh, now)

    def _let_go(self, move: Move, run: Run, fresh: Served, now: float) -> None:
        if move is Move.LOST:
            self._log.warning("unclaimed", "the Node does not name the run any more", runId=run.run_id)
            changes = patches.build_label_changes(fresh.state, self._identity.keys, run)
            if changes:
                self._patch(fresh, changes, now)
        self._ready(run, now)
        self._book.mark_done()

    def _ready(self, run: Run, now: float) -> None:
        self._parts.queue.add(build_parcel(run, self._parts.clock.read(now)), now)

    def _claim(self, action: Action, fresh: Served, now: float) -> None:
        if not self._lock(action, fresh, now):
            return
        if self._book.load() is not None:
            return
        run = self._new_run(action, fresh, now)
        self._book.open(run)
        changes = patches.build_claim_changes(fresh.state, self._identity.keys, run.claim)
        self._patch(fresh, changes, now)
        self._log.info("claimed", f"a {run.claim.trigger} request", runId=run.run_id, deaths=run.deaths or None)
        self._spawn(run, now)

    def _lock(self, action: Action, fresh: Served, now: float) -> bool:
        """Take the lock; otherwise wait for it, or refuse once that is hopeless."""
        if self._book.lock.acquire():
            self._locked_since, self._stuck = None, None
            return True
        if self._locked_since is None:
            self._locked_since = now
        instead = decide_locked_out(fresh.state, action, now - self._locked_since, is_stuck=self._stuck is not None)
        if instead.move is Move.REFUSE:
            self._refuse(instead, fresh, now)
        self.look_again(now + LOCK_LOOK_S)
        return False

    def _new_run(self, action: Action, fresh: Served, now: float) -> Run:
        state, started_at = fresh.state, self._parts.clock.read(now)
        trigger = action.trigger or MANUAL
        claim = build_claim(
            run_id=self._identity.new_run_id(),
            trigger=trigger,
            node_uid=state.uid,
            boot_id=self._identity.boot_id,
            started_at=started_at,
            deadline_at=decide_deadline_at(started_at, self._parts.host.timeout_s),
            agent_version=self._identity.agent_version,
            previous=decide_previous(state),
        )
        label = state.trigger if trigger == MANUAL else None
        return Run(CLAIMED, claim, label, count_deaths(self._book.run, trigger, label))

    def _spawn(self, run: Run, now: float) -> None:
        collection = self._new_collection(run)
        script = collection.find_script()
        lock_fd = self._book.lock.descriptor
        if script is None or lock_fd is None:
            self._end_unstarted(run, "script-not-found" if script is None else "internal", now)
            return
        try:
            collection.prepare()
        except (OSError, SpoolRefused) as error:
            self._log.error("spool", str(error), runId=run.run_id)
            self._end_unstarted(run, "disk", now)
            return
        self._book.mark_running(now, now + self._parts.host.timeout_s + KILL_GRACE_S)
        try:
            process = collection.start_script(script, lock_fd, now)
        except OSError as error:
            self._log.error("script", f"the script cannot be started: {error}", runId=run.run_id)
            self._end_unstarted(run, "script-failed", now)
            return
        self._collection = collection
        self._book.mark_started(process)

    def _end_unstarted(self, run: Run, reason: str, now: float) -> None:
        ended = fail(run, reason, attempts=0, duration_s=0)
        self._book.mark_collected(ended, self._parts.clock.read(now))

    def _refuse(self, action: Action, fresh: Served, now: float) -> None:
        reason = action.reason or "internal"
        run = fail(self._new_run(action, fresh, now), reason, attempts=0, duration_s=0)
        parcel = build_parcel(run, self._parts.clock.read(now))
        self._book.ledger.put_parcel(parcel)
        changes = patches.build_refusal_changes(fresh.state, self._identity.keys, run)
        try:
            self._patch(fresh, changes, now)
        except LostRace:
            self._book.ledger.drop_parcel(run.run_id)
            raise
        self._say_told(run, "failed")
        self._parts.queue.add(parcel, now)

    def _interrupt_unrecorded(self, fresh: Served, now: float) -> None:
        claim = find_unrecorded(fresh.state)
        if claim is None:
            return
        if not self._book.lock.acquire():
            self.look_again(now + LOCK_LOOK_S)
            return
        if self._book.load() is not None:
            return
        run = fail(Run(CLAIMED, claim, fresh.state.trigger), "interrupted", attempts=0, duration_s=0)
        self._book.open(run)
        self._book.mark_collected(run, self._parts.clock.read(now))

    def _patch(self, fresh: Served, changes: list[Change], now: float) -> None:
        self._see(self._parts.client.patch_node(build_patch(fresh.state, changes)), now)

    def _say_told(self, run: Run, event: str) -> None:
        result, report = run.claim.result, run.claim.report
        reason = None if result is None else result.reason
        sha256 = None if report is None else report.sha256
        self._log.info(event, f"the Node says {event}", runId=run.run_id, reason=reason, sha256=sha256)

    def _new_collection(self, run: Run) -> Collection:
        return Collection(self._parts.host, self._parts.spool, self._log, run.run_id, run.claim.trigger)


def _is_older(served: Served, known: Served) -> bool:
    """Compare two resourceVersions; they are ordered integers (KEP-5504), anything else counts as newer."""
    versions = served.resource_version, known.resource_version
    return all(version.isdigit() for version in versions) and int(versions[0]) < int(versions[1])
