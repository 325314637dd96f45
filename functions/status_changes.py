"""What does the Node say once its run is on record? A pure decision: the Node as read and the record in, changes out.

How often it is tried and what is published stands in `write_status`.
"""

from typing import NamedTuple

from functions.records import Record, build_record_output
from functions.runs import LocatedRun
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import ANNOTATIONS, Change
from gpureport.contract.outputs import Output, find_output, format_output
from gpureport.contract.statuses import IN_PROGRESS, Status, find_status, format_status


class Decision(NamedTuple):
    """The changes to make, none when the run is on record on the Node already; `output` describes the run."""

    changes: tuple[Change, ...]
    output: Output


def decide_changes(located: LocatedRun, record: Record, keys: Keys) -> Decision:
    """Decide what to write for a run on record.

    A status is written only where it is `in-progress` for the very run; anything else is somebody else's. A run that
    is the claim's previous one touches nothing but the output's `previous`.
    """
    existing = find_output(located.state.output)
    described = _find_described(existing, located.run.run_id)
    is_late = located.served_at > located.run.deadline_at
    if described is not None and described.archived is not None:
        return Decision((), described)
    if located.run.run_id == located.claim.run_id:
        return _decide_own(located, record, keys, existing, is_late=is_late)
    output = build_record_output(record, _find_ending(described, record), late=is_late)
    whole = output if existing is None else existing._replace(previous=output)
    return Decision((_test_run(located, keys), _write_output(located, keys, whole)), output)


def _decide_own(located: LocatedRun, record: Record, keys: Keys, existing: Output | None, *, is_late: bool) -> Decision:
    described = _find_described(existing, located.run.run_id)
    before = located.state.status
    status = find_status(before)
    after = before
    ending = _find_ending(described, record)
    if status is not None and status.word == IN_PROGRESS:
        ending = record.manifest.ending
        after = format_status(ending)
    output = build_record_output(record, ending, late=is_late)
    whole = output._replace(
        previous=_find_previous(located, existing),
        unknown={} if described is None else described.unknown,
    )
    changes = (
        Change(ANNOTATIONS, keys.status, before, after),
        _test_run(located, keys),
        _write_output(located, keys, whole),
    )
    return Decision(changes, output)


def _find_described(existing: Output | None, run_id: str) -> Output | None:
    """Find what the Node says of that run; when both places do, the one that is on record."""
    places = (existing, None if existing is None else existing.previous)
    described = [output for output in places if output is not None and output.run_id == run_id]
    described.sort(key=lambda output: output.archived is None)
    return described[0] if described else None


def _find_ending(described: Output | None, record: Record) -> Status:
    """Keep the terminal status that the run has on the Node: there is one per run."""
    if described is None:
        return record.manifest.ending
    return Status(described.status, described.reason)


def _find_previous(located: LocatedRun, existing: Output | None) -> Output | None:
    """Keep what says that the claim's previous run is on record: its agent may not have seen it yet."""
    previous = located.claim.previous
    described = None if previous is None else _find_described(existing, previous.run_id)
    if described is None or described.archived is None:
        return None
    return described._replace(previous=None)


def _test_run(located: LocatedRun, keys: Keys) -> Change:
    return Change(ANNOTATIONS, keys.run, located.state.run, located.state.run)


def _write_output(located: LocatedRun, keys: Keys, output: Output) -> Change:
    return Change(ANNOTATIONS, keys.output, located.state.output, format_output(output))
