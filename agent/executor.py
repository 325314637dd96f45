"""Brings about what the handshake decides, one request after the other: the Node, the script and the outbox in step.

One call of `step` does all that can be done without waiting for a child. Decisions stand in `agent.handshake`; how a
run begins in `agent.starter`, one found on disk in `agent.recovery`, children in `agent.collection` and `delivery`.
"""

from datetime import datetime
from typing import NamedTuple

from agent.apiserver.backoff import Backoff
from agent.apiserver.client import Served
from agent.apiserver.errors import ApiError, Gone, LostRace
from agent.apiserver.node_events import NodeEvents
from agent.collection import Collected, Collection
from agent.delivery import DeliveryQueue
from agent.handshake.announcements import decide_announcement
from agent.handshake.restart import find_unrecorded
from agent.handshake.runs import RUNNING
from agent.handshake.transitions import Action, Move, decide
from agent.ledger.records import NewerRecord
from agent.own_node import OwnNode
from agent.recovery import Recoverer
from agent.run_book import RunBook, RunTaken
from agent.starter import Begun, Starter
from agent.telemetry.log import Log
from agent.telling import Teller
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
    teller: Teller
    queue: DeliveryQueue
    events: NodeEvents
    backoff: Backoff
    log: Log


class Executor:
    """Serves the requests of one Node."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._log, self._book, self._node, self._queue = parts.log, parts.book, parts.node, parts.queue
        self._collection: Collection | None = None
        self._announced: NodeState | None = None
        self._look_at = NEVER
        self.is_stopping = False
        self.has_interrupted = False

    @property
    def is_collecting(self) -> bool:
        """Whether a script or its judge is at work."""
        return self._collection is not None

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
        """Do what is due. May raise `OSError`, when the disk cannot even be read: the same step is due again then."""
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
        self._announce(server_now)
        self._queue.settle(self._node.state, server_now)
        self._queue.step(now, server_now, may_start=may_start)
        self._queue.settle(self._node.state, server_now)

    def _announce(self, server_now: datetime) -> None:
        state = self._node.state
        if state is None or state is self._announced:
            return
        announcement = decide_announcement(self._announced, state)
        self._announced = state
        if announcement is not None:
            self._parts.events.add(announcement, server_now)

    def _step_collection(self, now: float) -> None:
        if self._collection is not None:
            self._end_run(self._collection.step(now, self._node.time(now)), now)

    def _end_run(self, ended: Collected | None, now: float) -> None:
        if ended is None:
            return
        self._collection = None
        self._parts.starter.stuck = ended.stuck or self._parts.starter.stuck
        self.look_again(now)
        run = self._book.active
        if run is not None:
            try:
                self._book.mark_collected(self._parts.recoverer.judge_ending(run, ended), self._node.time(now))
            except RunTaken as taken:
                self._leave(taken)

    def _leave(self, taken: RunTaken) -> None:
        self._log.warning("taken", str(taken))
        self._book.drop()

    def _reconcile(self, now: float) -> None:
        if self.is_collecting:
            return
        try:
            if self._node.is_doubtful:
                self._node.read(now)
            self._make_moves(now)
            self._parts.backoff.reset()
            self._log.note("apiserver", "")
        except NewerRecord as newer:
            self._log.note("ledger", f"a newer agent's run is unfinished here, nothing is claimed: {newer}")
            self.look_again(now + RETRY_MOST_S)
        except RunTaken as taken:
            self._leave(taken)
            self.look_again(now)
        except ApiError as error:
            if isinstance(error, Gone):
                self._node.lose()
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
                self._end_run(self._collection.salvage(step.duration_s, step.salvage.report_path, now), now)
            if not step.is_settled:
                return False
        run = self._book.active
        return run is None or run.phase != RUNNING

    def _decide(self, state: NodeState, now: float) -> Action:
        run = self._book.active
        action = decide(state, run)
        if run is None:
            self._parts.starter.refusals.settle(state, now)
            if self.is_stopping:
                return Action(Move.IDLE)
            if action.move is Move.WAIT and find_unrecorded(state) is not None:
                return Action(Move.INTERRUPT)
        elif action.move is Move.AWAIT:
            self._parts.teller.ready(run, now)
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
            self._parts.teller.tell(move, run, fresh, now)
        self._collection = begun.collection
        return begun
