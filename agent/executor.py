"""Brings about what the handshake decides, one request after the other: the Node, the script and the outbox in step.

One call of `step` does all that can be done without waiting for a child. Decisions stand in `agent.handshake`; how a
run begins in `agent.starter`, one found on disk in `agent.recovery`, children in `agent.collection` and `delivery`.
"""

from typing import NamedTuple

from agent.apiserver.backoff import Backoff
from agent.apiserver.client import Served
from agent.apiserver.errors import ApiError, Gone, LostRace
from agent.collection import Collected, Collection
from agent.collector.spool import Spool
from agent.delivery import DeliveryQueue
from agent.handshake import patches
from agent.handshake.restart import find_unrecorded
from agent.handshake.runs import RUNNING, Run
from agent.handshake.transitions import Action, Move, decide
from agent.ledger.records import NewerRecord
from agent.own_node import OwnNode
from agent.recovery import Recoverer
from agent.run_book import RunBook, RunTaken, build_parcel
from agent.starter import Begun, Identity, Starter
from agent.telemetry.log import Log
from gpureport.contract.nodes import NodeState

MOVES_MAX = 12
"""Moves of one step: a whole refused or failed run takes four, each lost race two more."""
RETRY_FIRST_S = 0.5
RETRY_MOST_S = 60.0
STOPPING_RETRY_S_MAX = 1.0
"""Once SIGTERM has come there are seconds left to tell the Node."""

NEVER = float("inf")


class Parts(NamedTuple):
    """What an executor works with, each built once by the bootstrap."""

    node: OwnNode
    book: RunBook
    starter: Starter
    recoverer: Recoverer
    spool: Spool
    queue: DeliveryQueue
    backoff: Backoff
    log: Log


class Executor:
    """Serves the requests of one Node."""

    def __init__(self, identity: Identity, parts: Parts) -> None:
        self._identity = identity
        self._parts = parts
        self._log, self._book, self._node, self._queue = parts.log, parts.book, parts.node, parts.queue
        self._collection: Collection | None = None
        self._ended: Collected | None = None
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
        return [self._node.wake_fd, *children]

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
        if self._node.take_news(now):
            self.look_again(now)
        self._step_collection(now)
        if self._look_at <= now:
            self._look_at = NEVER
            self._reconcile(now)

    def deliver(self, now: float, *, may_start: bool) -> None:
        """Let go of parcels that the Node's newest state makes superfluous, and go on with those that are due."""
        if not self._node.has_time:
            return
        server_now = self._node.time(now)
        self._queue.settle(self._node.state, server_now)
        self._queue.step(now, server_now, may_start=may_start)
        self._queue.settle(self._node.state, server_now)

    def _step_collection(self, now: float) -> None:
        if self._collection is not None:
            self._ended = self._collection.step(now, self._node.time(now)) or self._ended
        if self._ended is None:
            return
        ended, run = self._ended, self._book.active
        if run is not None:
            self._end_run(run, ended, now)
        self._ended, self._collection = None, None
        self._parts.starter.stuck = ended.stuck or self._parts.starter.stuck
        self.look_again(now)

    def _end_run(self, run: Run, ended: Collected, now: float) -> None:
        self._book.mark_collected(self._parts.recoverer.judge_ending(run, ended), self._node.time(now))
        report = [] if ended.result.file_path is None else [ended.result.file_path]
        self._parts.spool.rotate(self._identity.max_reports, [*self._queue.file_paths(), *report])

    def _reconcile(self, now: float) -> None:
        if self._node.known is None or self.is_collecting:
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
            self._node.lose()
            self._log.note("apiserver", f"the Node does not exist: {error}")
        except ApiError as error:
            self._log.note("apiserver", f"{type(error).__name__}: {error}")
            wait_s = self._parts.backoff.decide_wait_s(error.retry_after_s)
            self.look_again(now + (min(wait_s, STOPPING_RETRY_S_MAX) if self.is_stopping else wait_s))

    def _make_moves(self, now: float) -> None:
        """Decide from what is known; before anything is done, decide again from a fresh read."""
        is_fresh = False
        for _ in range(MOVES_MAX):
            known = self._node.known
            if known is None or not self._is_in_charge(known.state, now):
                return
            action = self._decide(known.state, now)
            if action.is_passive:
                return
            if not is_fresh:
                self._node.read(now)
                is_fresh = True
                continue
            try:
                begun = self._act(action, known, now)
                if begun.again_at is not None:
                    self.look_again(begun.again_at)
                    return
            except LostRace as lost:
                self._log.info("lost-race", f"{action.move.value}: {lost}")
                is_fresh = False
        self.look_again(now + RETRY_FIRST_S)

    def _is_in_charge(self, state: NodeState, now: float) -> bool:
        """Say whether the Node may be decided from: no script of ours is at work, none of another process is left."""
        if self._book.active is None:
            step = self._parts.recoverer.step(state, now, self._node.time(now) if self._node.has_time else None)
            self._parts.starter.stuck = step.stuck or self._parts.starter.stuck
            if step.again_at is not None:
                self.look_again(step.again_at)
            if step.salvage is not None:
                self._collection = self._parts.starter.build_collection(step.salvage)
                self._ended = self._collection.salvage(step.duration_s, now)
                self.look_again(now)
            if not step.is_settled:
                return False
        run = self._book.active
        return run is None or run.phase != RUNNING

    def _decide(self, state: NodeState, now: float) -> Action:
        run = self._book.active
        action = decide(state, run)
        if run is None:
            if self.is_stopping:
                return Action(Move.IDLE)
            if action.move is Move.WAIT and find_unrecorded(state) is not None:
                return Action(Move.INTERRUPT)
        elif action.move is Move.AWAIT:
            self._ready(run, now)
        elif action.move is Move.SPAWN and self.is_stopping:
            return Action(Move.WAIT)
        return action

    def _act(self, action: Action, fresh: Served, now: float) -> Begun:
        move, run, starter = action.move, self._book.active, self._parts.starter
        begun = Begun()
        if move is Move.CLAIM:
            begun = starter.claim(action, fresh, now)
        elif move is Move.REFUSE:
            starter.refuse(action, fresh, now)
        elif move is Move.INTERRUPT:
            begun = starter.interrupt_unrecorded(fresh, now)
        elif run is not None and move is Move.SPAWN:
            begun = starter.spawn(run, now)
        elif run is not None and move is Move.FORGET:
            self._log.info("forgotten", "the claim did not reach the Node", runId=run.run_id)
            self._book.forget()
        elif run is not None:
            self._tell(move, run, fresh, now)
        self._collection = begun.collection
        return begun

    def _tell(self, move: Move, run: Run, fresh: Served, now: float) -> None:
        keys, state = self._identity.keys, fresh.state
        if move is Move.EVIDENCE:
            self._node.patch(fresh, patches.build_evidence_changes(state, keys, run), now)
            self._say_told(run, "evidence")
        elif move is Move.FAIL:
            self._node.patch(fresh, patches.build_failure_changes(state, keys, run), now)
            self._say_told(run, "failed")
        elif move is Move.LOST:
            self._log.warning("unclaimed", "the Node does not name the run any more", runId=run.run_id)
            changes = patches.build_label_changes(state, keys, run)
            if changes:
                self._node.patch(fresh, changes, now)
        self._ready(run, now)
        if move is not Move.EVIDENCE:
            self._book.mark_done()

    def _ready(self, run: Run, now: float) -> None:
        """Let the run be delivered: the Node was told what there is, so that the pipeline finds it attested."""
        self._queue.add(build_parcel(run, self._node.time(now)), now)

    def _say_told(self, run: Run, event: str) -> None:
        result, report = run.claim.result, run.claim.report
        reason = None if result is None else result.reason
        sha256 = None if report is None else report.sha256
        self._log.info(event, "the Node was told", runId=run.run_id, reason=reason, sha256=sha256)
