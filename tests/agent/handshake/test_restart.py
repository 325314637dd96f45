"""The restart table: what a new agent makes of a record, by phase, uid, boot, Node and lock."""

from typing import Any

import pytest

from agent.handshake.restart import (
    Lock,
    Recovery,
    count_deaths,
    decide_death_reason,
    decide_restart,
    find_told,
    find_unrecorded,
)
from agent.handshake.runs import CLAIMED, COLLECTED, DONE, RUNNING, fail
from gpureport.contract.claims import AUTOMATIC, MANUAL, ReportEvidence, RunResult, format_claim

OTHER_UID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("record", "named", "lock", "want"),
    [
        ((CLAIMED, "same", "same"), True, Lock.FREE, Recovery.CONTINUE),
        ((CLAIMED, "same", "same"), False, Lock.FREE, Recovery.FORGET),
        ((CLAIMED, "same", "other"), True, Lock.FREE, Recovery.INTERRUPT),
        ((CLAIMED, "other", "same"), False, Lock.FREE, Recovery.FORGET),
        ((CLAIMED, "same", "same"), True, Lock.BUSY, Recovery.WAIT),
        ((RUNNING, "same", "same"), True, Lock.FREE, Recovery.SALVAGE),
        ((RUNNING, "same", "same"), False, Lock.FREE, Recovery.SALVAGE),
        ((RUNNING, "same", "same"), True, Lock.BUSY, Recovery.WAIT_ORPHAN),
        ((RUNNING, "same", "same"), True, Lock.STUCK, Recovery.WAIT_ORPHAN),
        ((RUNNING, "same", "other"), True, Lock.FREE, Recovery.INTERRUPT),
        ((RUNNING, "other", "same"), False, Lock.FREE, Recovery.SALVAGE),
        ((RUNNING, "other", "same"), False, Lock.BUSY, Recovery.WAIT_ORPHAN),
        ((RUNNING, "other", "other"), False, Lock.FREE, Recovery.INTERRUPT),
        ((COLLECTED, "same", "same"), True, Lock.FREE, Recovery.CONTINUE),
        ((COLLECTED, "same", "other"), False, Lock.FREE, Recovery.CONTINUE),
        ((COLLECTED, "same", "same"), True, Lock.STUCK, Recovery.CONTINUE),
        ((COLLECTED, "same", "same"), True, Lock.BUSY, Recovery.WAIT),
        ((COLLECTED, "other", "same"), False, Lock.FREE, Recovery.UNATTEST),
        ((DONE, "same", "same"), True, Lock.FREE, Recovery.NONE),
    ],
)
def test_unfinished_run_is_recovered(
    values: Any, record: tuple[str, str, str], named: bool, lock: Lock, want: Recovery
) -> None:
    phase, uid, boot = record
    claim = values.claim(node_uid=values.uid if uid == "same" else OTHER_UID)
    node = values.node(status="in-progress", run=format_claim(claim) if named else None)
    boot_id = values.boot_id if boot == "same" else OTHER_UID
    assert decide_restart(node, values.run(phase, claim), boot_id, lock) is want


@pytest.mark.parametrize("phase", [CLAIMED, RUNNING])
def test_end_that_the_node_was_told_and_the_disk_was_not_is_adopted(values: Any, phase: str) -> None:
    told = values.claim(result=RunResult("none", 1, 1, "disk"))
    node = values.node(status="failed: disk", run=format_claim(told))
    run = values.run(phase)
    assert find_told(node, run) == told
    assert decide_restart(node, run, values.boot_id, Lock.FREE) is Recovery.ADOPT
    assert decide_restart(node, run, values.boot_id, Lock.BUSY) is not Recovery.ADOPT
    assert find_told(node._replace(uid=OTHER_UID), run) is None
    assert find_told(values.node(run=format_claim(values.claim())), run) is None


def test_claim_of_ours_without_a_record_is_found(values: Any) -> None:
    claim = values.claim()
    assert find_unrecorded(values.node(status="in-progress", run=format_claim(claim))) == claim
    assert find_unrecorded(values.node(status="completed", run=format_claim(claim))) is None
    assert (
        find_unrecorded(values.node(status="in-progress", run=format_claim(claim._replace(executor="adopt")))) is None
    )
    told = claim._replace(result=RunResult("complete", 1, 1), report=ReportEvidence(1, "a" * 64, 1, True))
    assert find_unrecorded(values.node(status="in-progress", run=format_claim(told))) is None
    assert find_unrecorded(values.node(status="in-progress", run="{}")) is None


def test_second_death_of_a_manual_request_is_a_crash_loop(values: Any) -> None:
    first, second = values.run(RUNNING), values.run(RUNNING, deaths=1)
    assert decide_death_reason(first) == "interrupted"
    assert decide_death_reason(second) == "crash-loop"
    automatic = values.claim(trigger=AUTOMATIC)
    assert decide_death_reason(values.run(RUNNING, automatic, deaths=1)) == "interrupted"


def test_deaths_pass_on_to_the_same_request_alone(values: Any) -> None:
    died = fail(values.run(served_label="yes", deaths=1), "interrupted", attempts=1, duration_s=0)
    assert count_deaths(died, MANUAL, "yes") == 1
    assert count_deaths(died, MANUAL, "other") == 0
    assert count_deaths(died, AUTOMATIC, "yes") == 0
    assert count_deaths(None, MANUAL, "yes") == 0
    ended = fail(values.run(served_label="yes", deaths=1), "timeout", attempts=1, duration_s=0)
    assert count_deaths(ended, MANUAL, "yes") == 0
