"""What a restarted agent makes of a run that it did not start itself: the restart table of the handshake.

Pure. It also holds for an agent that finds the Node in progress with a claim of its own kind and has no record of it.
"""

from enum import Enum
from typing import NamedTuple

from agent.handshake.runs import CLAIMED, COLLECTED, RUNNING, Run
from agent.handshake.transitions import is_claimed_as
from gpureport.contract.claims import MANUAL, OWN, Claim, find_claim
from gpureport.contract.nodes import NodeState
from gpureport.contract.statuses import IN_PROGRESS


class Lock(Enum):
    """Whether a process of some run lives."""

    FREE = "free"
    BUSY = "busy"
    STUCK = "stuck"
    """Held for so long that nobody gives it back: see `transitions.BUSY_AFTER_S`."""


class Recovery(Enum):
    """What becomes of the unfinished run."""

    NONE = "none"
    """There is none: decide from the Node alone."""
    CONTINUE = "continue"
    """Go on from its phase as if it were our own."""
    FORGET = "forget"
    """The claim never arrived, or its Node is gone: decide afresh."""
    WAIT = "wait"
    """Another agent is at it, or about to end."""
    WAIT_ORPHAN = "wait-orphan"
    """The script lives on: wait until its deadline, then end its session."""
    SALVAGE = "salvage"
    """The script has ended: a whole report that it left counts, anything else is `interrupted`."""
    ADOPT = "adopt"
    """The Node was told already and the disk did not take it: what the Node says counts."""
    INTERRUPT = "interrupt"
    UNATTEST = "unattest"
    """The Node was recreated: nothing is written on it; the report is delivered once, without a Node behind it."""


class _Row(NamedTuple):
    phase: str
    same_uid: bool | None
    same_boot: bool | None
    named: bool | None
    lock: Lock | None
    recovery: Recovery


_ANY = None

_TABLE = (
    # phase          uid    boot   named  lock        what becomes of it
    _Row(COLLECTED, _ANY,  _ANY,  _ANY,  Lock.BUSY,  Recovery.WAIT),
    _Row(COLLECTED, False, _ANY,  _ANY,  _ANY,       Recovery.UNATTEST),
    _Row(COLLECTED, True,  _ANY,  _ANY,  _ANY,       Recovery.CONTINUE),
    _Row(RUNNING,   _ANY,  False, _ANY,  _ANY,       Recovery.INTERRUPT),
    _Row(RUNNING,   _ANY,  True,  _ANY,  Lock.BUSY,  Recovery.WAIT_ORPHAN),
    _Row(RUNNING,   _ANY,  True,  _ANY,  Lock.STUCK, Recovery.WAIT_ORPHAN),
    _Row(RUNNING,   _ANY,  True,  _ANY,  Lock.FREE,  Recovery.SALVAGE),
    _Row(CLAIMED,   _ANY,  _ANY,  _ANY,  Lock.BUSY,  Recovery.WAIT),
    _Row(CLAIMED,   False, _ANY,  _ANY,  _ANY,       Recovery.FORGET),
    _Row(CLAIMED,   True,  _ANY,  False, _ANY,       Recovery.FORGET),
    _Row(CLAIMED,   True,  True,  True,  Lock.FREE,  Recovery.CONTINUE),
    _Row(CLAIMED,   True,  _ANY,  True,  _ANY,       Recovery.INTERRUPT),
)  # fmt: skip
"""The first row that matches; `named` says that the Node is in progress with this very run."""


def decide_restart(node: NodeState, run: Run, boot_id: str, lock: Lock) -> Recovery:
    """Decide what becomes of an unfinished run found on disk."""
    if not run.is_active:
        return Recovery.NONE
    if run.phase != COLLECTED and lock is Lock.FREE and find_told(node, run) is not None:
        return Recovery.ADOPT
    seen = (
        run.phase,
        run.claim.node_uid == node.uid,
        run.claim.boot_id == boot_id,
        is_claimed_as(node, run.run_id),
        lock,
    )
    for row in _TABLE:
        if all(want is _ANY or want == have for want, have in zip(row[:5], seen, strict=True)):
            return row.recovery
    return Recovery.NONE


def find_told(node: NodeState, run: Run) -> Claim | None:
    """Return what the Node says of that run, if it knows already what came of it."""
    claim = find_claim(node.run) if node.uid == run.claim.node_uid else None
    stated = None if claim is None else claim.find_run(run.run_id)
    return stated if stated is not None and stated.result is not None else None


def find_unrecorded(node: NodeState) -> Claim | None:
    """Return the claim of our kind that the Node is in progress with, if nothing is known of what came of it.

    When nobody holds the lock and no record of it is left, its run is `interrupted`: the folder with the record was
    lost. None for anybody else's claim, and for one whose evidence is there: that one is the pipeline's to end.
    """
    claim = find_claim(node.run)
    if claim is None or node.status != IN_PROGRESS:
        return None
    if claim.executor != OWN or claim.node_uid != node.uid or claim.report is not None:
        return None
    return claim


def decide_death_reason(run: Run) -> str:
    """Name the reason for a run that died with its agent or node: a manual request is tried once more, then not."""
    return "crash-loop" if run.claim.trigger == MANUAL and run.deaths > 0 else "interrupted"


def count_deaths(last: Run | None, trigger: str, label: str | None) -> int:
    """Count how often the request that is now claimed has died: deaths pass on while the same label asks again."""
    if last is None or trigger != MANUAL or last.served_label != label or last.claim.result is None:
        return 0
    return last.deaths if last.claim.result.reason == "interrupted" else 0
