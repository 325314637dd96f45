"""Tells the Node what became of a run, and lets the run be delivered once the Node knows.

Which move is due is decided in `agent.handshake.transitions`; what it writes, in `agent.handshake.patches`.
"""

from agent.apiserver.client import Served
from agent.delivery import DeliveryQueue
from agent.handshake import patches
from agent.handshake.runs import Run
from agent.handshake.transitions import Move
from agent.own_node import OwnNode
from agent.run_book import RunBook, build_parcel
from agent.telemetry.log import Log
from gpureport.contract.keys import Keys


class Teller:
    """Brings about the moves that end a run on the Node. `tell` may raise `ApiError`, `RunTaken`."""

    def __init__(self, keys: Keys, *, node: OwnNode, book: RunBook, queue: DeliveryQueue, log: Log) -> None:
        self._keys = keys
        self._node = node
        self._book = book
        self._queue = queue
        self._log = log

    def tell(self, move: Move, run: Run, fresh: Served, now: float) -> None:
        """Write what the move writes; then the run may be delivered, and is done unless it awaits its end."""
        keys, state = self._keys, fresh.state
        if move is Move.EVIDENCE:
            self._node.patch(fresh, patches.build_evidence_changes(state, keys, run), now)
            self._say_told(run, "evidence")
        elif move is Move.FAIL:
            self._node.patch(fresh, patches.build_failure_changes(state, keys, run), now)
            self._say_told(run, "failed")
        elif move is Move.LOST:
            left = "is lost, it has no report" if run.claim.report is None else "is delivered once, unattested"
            self._log.warning("unclaimed", f"the Node does not name the run any more: it {left}", runId=run.run_id)
            changes = patches.build_label_changes(state, keys, run)
            if changes:
                self._node.patch(fresh, changes, now)
        self.ready(run, now)
        if move is not Move.EVIDENCE:
            self._book.mark_done()

    def ready(self, run: Run, now: float) -> None:
        """Let the run be delivered: the Node was told what there is, so that the pipeline finds it attested."""
        self._queue.add(build_parcel(run, self._node.time(now)), now)

    def _say_told(self, run: Run, event: str) -> None:
        result, report = run.claim.result, run.claim.report
        reason = None if result is None else result.reason
        sha256 = None if report is None else report.sha256
        self._log.info(event, "the Node was told", runId=run.run_id, reason=reason, sha256=sha256)
