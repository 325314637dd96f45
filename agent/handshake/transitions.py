"""What is to be done now, given the Node and our run: the transition table of the handshake.

Pure. What a restarted agent makes of an unfinished run stands in `restart`; what a move writes in `patches`.
"""

from enum import Enum
from typing import NamedTuple

from agent.handshake.runs import CLAIMED, COLLECTED, RUNNING, Run
from gpureport.contract.claims import AUTOMATIC, MANUAL, Claim, find_claim
from gpureport.contract.keys import is_on
from gpureport.contract.nodes import NodeState
from gpureport.contract.outputs import find_output
from gpureport.contract.statuses import COLLECT, FAILED, IN_PROGRESS, find_status

BUSY_AFTER_S = 30.0
"""How long the lock may be held by somebody unknown before a request is refused; two agents of a rollout are done in
less, a script that hangs in the driver is not."""


class Move(Enum):
    """What the agent does next."""

    IDLE = "idle"
    """Nobody asks for anything that we understand."""
    WAIT = "wait"
    """Somebody else, or our own script, is at work."""
    CLAIM = "claim"
    REFUSE = "refuse"
    SPAWN = "spawn"
    """The Node names our claim: start the script."""
    FORGET = "forget"
    """The claim never arrived: take back the record and decide afresh."""
    EVIDENCE = "evidence"
    FAIL = "fail"
    INTERRUPT = "interrupt"
    """The Node is in progress with a run that nobody remembers: see `restart.find_unrecorded`."""
    LOST = "lost"
    """The Node does not name the run any more: only the served label is left to take away."""
    AWAIT = "await"
    """The Node was told; the pipeline is to end the run."""
    RELEASE = "release"
    """The run has ended on the Node; what it has left to deliver does not keep the next one waiting."""
    FINISH = "finish"
    """The run is on record in the archive."""


class Action(NamedTuple):
    """A move; `trigger` belongs to a claim or refusal, `reason` to a refusal."""

    move: Move
    trigger: str | None = None
    reason: str | None = None

    @property
    def is_passive(self) -> bool:
        """Whether the move neither writes nor starts anything."""
        return self.move in (Move.IDLE, Move.WAIT, Move.AWAIT)


class _Request(NamedTuple):
    status: str | None
    """A word of the handshake, or None for any other."""
    asked: bool | None
    opted_out: bool | None
    action: Action


_ANY = None
_OTHER = ""

_REQUESTS = (
    # status             label    opt-out  what is done
    _Request(IN_PROGRESS, _ANY,   _ANY,    Action(Move.WAIT)),
    _Request(COLLECT,     _ANY,   True,    Action(Move.REFUSE, AUTOMATIC, "disabled")),
    _Request(COLLECT,     True,   False,   Action(Move.CLAIM, MANUAL)),
    _Request(COLLECT,     False,  False,   Action(Move.CLAIM, AUTOMATIC)),
    _Request(_OTHER,      True,   _ANY,    Action(Move.CLAIM, MANUAL)),
    _Request(_OTHER,      False,  _ANY,    Action(Move.IDLE)),
)  # fmt: skip
"""Without a run of ours: the first row that matches. Absent, terminal and foreign statuses are all `_OTHER`."""


class _Telling(NamedTuple):
    archived: bool | None
    claimed: bool | None
    told: bool | None
    in_progress: bool | None
    has_report: bool | None
    move: Move


_TELLINGS = (
    # archived       claimed  told   status in-progress  report
    _Telling(True,   _ANY,    _ANY,  _ANY,               _ANY,   Move.FINISH),
    _Telling(False,  False,   _ANY,  _ANY,               _ANY,   Move.LOST),
    _Telling(False,  True,    _ANY,  True,               False,  Move.FAIL),
    _Telling(False,  True,    False, _ANY,               _ANY,   Move.EVIDENCE),
    _Telling(False,  True,    True,  True,               True,   Move.AWAIT),
    _Telling(False,  True,    True,  False,              _ANY,   Move.RELEASE),
)  # fmt: skip
"""With a collected run of ours: the first row that matches."""


def decide(node: NodeState, run: Run | None) -> Action:
    """Decide the next move from what the Node says and what we remember; deciding twice changes nothing."""
    if run is None or not run.is_active:
        return _decide_request(node)
    if run.phase == CLAIMED:
        return Action(Move.SPAWN if is_claimed_as(node, run.run_id) else Move.FORGET)
    if run.phase == RUNNING:
        return Action(Move.WAIT)
    assert run.phase == COLLECTED, run.phase  # noqa: S101 - the last of the four phases
    return Action(_decide_telling(node, run))


def decide_locked_out(node: NodeState, wanted: Action, busy_s: float, *, is_stuck: bool) -> Action:
    """Decide what becomes of a request while a process of another run holds the lock for `busy_s` seconds already.

    A refusal is not repeated while the status, the request and the cause are the same.
    """
    if not is_stuck and busy_s < BUSY_AFTER_S:
        return Action(Move.WAIT)
    status = find_status(node.status)
    if status is not None and (status.word, status.reason) == (FAILED, "busy"):
        return Action(Move.WAIT)
    return Action(Move.REFUSE, wanted.trigger, "busy")


def is_claimed_as(node: NodeState, run_id: str) -> bool:
    """Say whether the Node is in progress with exactly that run."""
    claim = find_claim(node.run)
    return node.status == IN_PROGRESS and claim is not None and claim.run_id == run_id


def decide_previous(node: NodeState) -> Claim | None:
    """Return the run that a new claim has to carry as `previous`: the last one, unless the archive has it."""
    claim = find_claim(node.run)
    if claim is None or claim.node_uid != node.uid:
        return None
    output = find_output(node.output)
    return None if output is not None and output.is_on_record(claim.run_id) else claim


def _decide_request(node: NodeState) -> Action:
    status = node.status if node.status in (IN_PROGRESS, COLLECT) else _OTHER
    seen = (status, is_on(node.trigger), is_on(node.disable))
    for row in _REQUESTS:
        if _matches((row.status, row.asked, row.opted_out), seen):
            return row.action
    return Action(Move.IDLE)


def _decide_telling(node: NodeState, run: Run) -> Move:
    claim = find_claim(node.run) if node.uid == run.claim.node_uid else None
    stated = None if claim is None else claim.find_run(run.run_id)
    output = find_output(node.output)
    seen = (
        output is not None and output.is_on_record(run.run_id),
        stated is not None,
        stated is not None and stated.result is not None,
        stated is not None and stated is claim and node.status == IN_PROGRESS,
        run.claim.report is not None,
    )
    for row in _TELLINGS:
        if _matches(row[:5], seen):
            return row.move
    return Move.RELEASE


def _matches(row: tuple[object, ...], seen: tuple[object, ...]) -> bool:
    return all(want is _ANY or want == have for want, have in zip(row, seen, strict=True))
