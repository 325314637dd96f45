"""Refuses a request: a run that never starts, under one run id until the Node names it or the request is gone.

A refusal is told in one patch, whose answer may be lost, and is delivered like any other end once the Node shows it.
Which requests are refused is decided in `agent.handshake` and `agent.starter`.
"""

from collections.abc import Callable
from typing import NamedTuple

from agent.apiserver.client import Served
from agent.delivery import DeliveryQueue
from agent.handshake import patches
from agent.handshake.runs import Run, fail
from agent.ledger.ledger import Ledger
from agent.ledger.records import Parcel
from agent.own_node import OwnNode
from agent.run_book import build_parcel
from agent.telemetry.log import Log
from gpureport.contract.claims import find_claim
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import NodeState


class _Request(NamedTuple):
    """What a refusal was decided from; while all of it stands, it is the same request."""

    uid: str
    status: str | None
    trigger: str | None
    run: str | None


class _Pending(NamedTuple):
    request: _Request
    reason: str
    run: Run
    parcel: Parcel


class Refusals:
    """The refusal at work, one at most."""

    def __init__(self, keys: Keys, *, node: OwnNode, ledger: Ledger, queue: DeliveryQueue, log: Log) -> None:
        self._keys = keys
        self._node = node
        self._ledger = ledger
        self._queue = queue
        self._log = log
        self._pending: _Pending | None = None

    def refuse(self, reason: str, build_run: Callable[[], Run], fresh: Served, now: float) -> None:
        """Tell the Node; `ApiError`: the same refusal is due again. `build_run` builds the run, not yet failed."""
        pending, request = self._pending, _describe(fresh.state)
        if pending is None or (pending.request, pending.reason) != (request, reason):
            self.drop()
            pending = self._pend(request, fail(build_run(), reason, attempts=0, duration_s=0), reason, now)
        changes = patches.build_refusal_changes(fresh.state, self._keys, pending.run)
        self._node.patch(fresh, changes, now)
        if self._node.state is not None:
            self.settle(self._node.state, now)

    def settle(self, node: NodeState, now: float) -> None:
        """Deliver the refusal once the Node names it, forget it when its request is gone."""
        pending = self._pending
        if pending is None:
            return
        claim = find_claim(node.run) if node.uid == pending.request.uid else None
        if claim is not None and claim.find_run(pending.run.run_id) is not None:
            self._pending = None
            self._log.info("failed", "the request is refused", runId=pending.run.run_id, reason=pending.reason)
            self._queue.add(pending.parcel, now)
        elif _describe(node) != pending.request:
            self.drop()

    def drop(self) -> None:
        """Forget a refusal that was not told: its request is gone, or is served after all."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            self._ledger.drop_parcel(pending.run.run_id)
        except OSError as error:
            self._log.note("disk", f"a parcel cannot be removed: {error}")

    def _pend(self, request: _Request, run: Run, reason: str, now: float) -> _Pending:
        parcel = build_parcel(run, self._node.time(now))
        try:
            self._ledger.put_parcel(parcel)
        except OSError as error:
            self._log.note("disk", f"a refusal is told, though the disk takes no record of it: {error}")
        self._pending = _Pending(request, reason, run, parcel)
        return self._pending


def _describe(node: NodeState) -> _Request:
    return _Request(node.uid, node.status, node.trigger, node.run)
