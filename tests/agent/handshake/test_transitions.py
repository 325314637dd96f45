"""The transition table, every row of it, and that deciding changes nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.handshake.runs import CLAIMED, COLLECTED, DONE, RUNNING, Run, collect, fail
from agent.handshake.transitions import BUSY_AFTER_S, Action, Move, decide, decide_locked_out, decide_previous
from gpureport.contract.claims import ReportEvidence, RunResult, format_claim
from gpureport.contract.nodes import NodeState
from gpureport.contract.outputs import Archived, Output, format_output

RESULT = RunResult("complete", 1, 6.7)
REPORT = ReportEvidence(1, "a" * 64, 10, True)
AT = datetime(2026, 11, 30, 9, 16, tzinfo=UTC)


def archived(run_id: str) -> str:
    return format_output(Output("completed", "manual", True, run_id=run_id, archived=Archived(AT)))


@pytest.mark.parametrize(
    ("status", "label", "opt_out", "want"),
    [
        (None, None, None, Action(Move.IDLE)),
        (None, "false", None, Action(Move.IDLE)),
        (None, "", None, Action(Move.CLAIM, "manual")),
        (None, "yes", "true", Action(Move.CLAIM, "manual")),
        ("collect", None, None, Action(Move.CLAIM, "automatic")),
        ("collect", None, "false", Action(Move.CLAIM, "automatic")),
        ("collect", "yes", None, Action(Move.CLAIM, "manual")),
        ("collect", None, "", Action(Move.REFUSE, "automatic", "disabled")),
        ("collect", "yes", "true", Action(Move.REFUSE, "automatic", "disabled")),
        ("failed: disabled", "yes", "true", Action(Move.CLAIM, "manual")),
        ("in-progress", None, None, Action(Move.WAIT)),
        ("in-progress", "yes", "true", Action(Move.WAIT)),
        ("completed", "yes", None, Action(Move.CLAIM, "manual")),
        ("completed", None, None, Action(Move.IDLE)),
        ("failed: timeout", None, None, Action(Move.IDLE)),
        ("Collect", None, None, Action(Move.IDLE)),
        ("unheard of", "x" * 63, None, Action(Move.CLAIM, "manual")),
    ],
)
def test_request_is_decided_by_status_label_and_opt_out(
    values: Any, status: str | None, label: str | None, opt_out: str | None, want: Action
) -> None:
    node = values.node(status=status, trigger=label, disable=opt_out)
    assert decide(node, None) == want
    assert decide(node, values.run(DONE)) == want


def test_claim_that_the_node_names_starts_the_script(values: Any) -> None:
    node = values.node(status="in-progress", run=format_claim(values.claim()))
    assert decide(node, values.run(CLAIMED)).move is Move.SPAWN


@pytest.mark.parametrize(
    ("status", "run"),
    [("collect", None), ("in-progress", "not json"), ("in-progress", None), ("failed: no-agent", "ours")],
)
def test_claim_that_the_node_does_not_name_is_forgotten(values: Any, status: str, run: str | None) -> None:
    text = format_claim(values.claim()) if run == "ours" else run
    assert decide(values.node(status=status, run=text), values.run(CLAIMED)).move is Move.FORGET


def test_running_script_is_waited_for_whatever_the_node_says(values: Any) -> None:
    assert decide(values.node(status="collect", trigger="again"), values.run(RUNNING)).move is Move.WAIT


def test_collected_report_becomes_evidence_whatever_the_status(values: Any) -> None:
    run = collect(values.run(), RESULT, REPORT)
    for status in ("in-progress", "failed: deadline-exceeded", "collect", None):
        assert decide(values.node(status=status, run=format_claim(values.claim())), run).move is Move.EVIDENCE


def test_run_without_report_is_failed_while_in_progress_and_told_otherwise(values: Any) -> None:
    run = fail(values.run(), "timeout", attempts=1, duration_s=1)
    claimed = format_claim(values.claim())
    assert decide(values.node(status="in-progress", run=claimed), run).move is Move.FAIL
    assert decide(values.node(status="collect", run=claimed), run).move is Move.EVIDENCE
    assert decide(values.node(status="collect", run=format_claim(run.claim)), run).move is Move.RELEASE


def test_told_run_is_awaited_until_it_has_ended(values: Any) -> None:
    run = collect(values.run(), RESULT, REPORT)
    told = format_claim(run.claim)
    assert decide(values.node(status="in-progress", run=told), run).move is Move.AWAIT
    assert decide(values.node(status="failed: deadline-exceeded", run=told), run).move is Move.RELEASE
    on_record = values.node(status="completed", run=told, output=archived(run.run_id))
    assert decide(on_record, run).move is Move.FINISH


def test_run_that_the_node_does_not_name_is_lost(values: Any) -> None:
    run = collect(values.run(), RESULT, REPORT)
    other = format_claim(values.claim(run_id=values.other_id))
    assert decide(values.node(status="in-progress", run=other), run).move is Move.LOST
    assert decide(values.node(status="in-progress"), run).move is Move.LOST
    recreated = values.node(uid="00000000-0000-4000-8000-000000000000", run=format_claim(run.claim))
    assert decide(recreated, run).move is Move.LOST


def test_unfinished_record_moves_to_previous_unless_the_archive_has_it(values: Any) -> None:
    claim = values.claim()
    assert decide_previous(values.node(run=format_claim(claim))) == claim
    assert decide_previous(values.node(run=format_claim(claim), output=archived(claim.run_id))) is None
    assert decide_previous(values.node(run='{"theirs":1}')) is None
    assert decide_previous(values.node()) is None


def test_locked_out_request_waits_then_is_refused_once(values: Any) -> None:
    wanted = Action(Move.CLAIM, "manual")
    node = values.node(trigger="yes")
    assert decide_locked_out(node, wanted, 0, is_stuck=False).move is Move.WAIT
    want = Action(Move.REFUSE, "manual", "busy")
    assert decide_locked_out(node, wanted, BUSY_AFTER_S, is_stuck=False) == want
    assert decide_locked_out(node, wanted, 0, is_stuck=True) == want
    refused = values.node(trigger="yes", status="failed: busy")
    assert decide_locked_out(refused, wanted, 0, is_stuck=True).move is Move.WAIT
    asked_again = values.node(trigger="yes", status="collect")
    assert decide_locked_out(asked_again, wanted, 0, is_stuck=True) == want


TEXTS = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.sampled_from(["collect", "in-progress", "completed", "failed: busy", "{}", "[]", '{"schema":9}', "null"]),
)


@given(status=TEXTS, trigger=TEXTS, disable=TEXTS, run=TEXTS, output=TEXTS)
def test_no_text_on_the_node_breaks_the_decision(
    status: str | None, trigger: str | None, disable: str | None, run: str | None, output: str | None
) -> None:
    node = NodeState("n1", "uid", True, True, trigger, disable, status, run, output)
    action = decide(node, None)
    assert action == decide(node, None)
    if status == "in-progress":
        assert action.move is Move.WAIT
    if action.move is Move.CLAIM:
        assert status == "collect" or (trigger is not None and trigger != "false")


def test_every_phase_is_decided(values: Any) -> None:
    node = values.node()
    runs: list[Run] = [values.run(CLAIMED), values.run(RUNNING), values.run(DONE)]
    runs.append(collect(values.run(), RESULT, REPORT))
    assert [decide(node, run).move for run in runs] == [Move.FORGET, Move.WAIT, Move.IDLE, Move.LOST]
    assert runs[-1].phase == COLLECTED
