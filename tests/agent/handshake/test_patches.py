"""What each move writes and what it only tests, applied as the apiserver applies it."""

import json
from typing import Any

import pytest

from agent.handshake import patches
from agent.handshake.runs import collect, fail
from gpureport.contract.claims import ReportEvidence, RunResult, format_claim, parse_claim
from gpureport.contract.keys import build_keys
from gpureport.contract.nodes import Change, build_patch

KEYS = build_keys()
RESULT = RunResult("complete", 1, 6.7)
REPORT = ReportEvidence(1, "a" * 64, 10, True)


def written(changes: list[Change]) -> dict[str, str | None]:
    return {change.key: change.after for change in changes if change.before != change.after}


def keys_of(changes: list[Change]) -> set[str]:
    return {change.key for change in changes}


def test_claim_tests_status_run_and_label(values: Any) -> None:
    node = values.node(status="completed", trigger="yes", run="{}")
    changes = patches.build_claim_changes(node, KEYS, values.claim())
    assert written(changes) == {KEYS.status: "in-progress", KEYS.run: format_claim(values.claim())}
    assert keys_of(changes) == {KEYS.status, KEYS.run, KEYS.trigger}


def test_automatic_claim_tests_the_opt_out_too(values: Any) -> None:
    changes = patches.build_claim_changes(values.node(status="collect"), KEYS, values.claim(trigger="automatic"))
    assert keys_of(changes) == {KEYS.status, KEYS.run, KEYS.trigger, KEYS.disable}


def test_evidence_touches_the_run_and_the_served_label_alone(values: Any) -> None:
    run = collect(values.run(served_label="yes"), RESULT, REPORT)
    node = values.node(status="failed: deadline-exceeded", trigger="yes", run=format_claim(values.claim()))
    changes = patches.build_evidence_changes(node, KEYS, run)
    assert written(changes) == {KEYS.run: format_claim(run.claim), KEYS.trigger: None}
    assert keys_of(changes) == {KEYS.run, KEYS.trigger}


@pytest.mark.parametrize("label", [None, "other"])
def test_evidence_leaves_a_label_that_changed(values: Any, label: str | None) -> None:
    run = collect(values.run(served_label="yes"), RESULT, REPORT)
    node = values.node(status="in-progress", trigger=label, run=format_claim(values.claim()))
    assert keys_of(patches.build_evidence_changes(node, KEYS, run)) == {KEYS.run}


def test_evidence_keeps_what_others_added_to_the_claim(values: Any) -> None:
    stated = values.claim(unknown={"later": {"a": 1}}, previous=values.claim(run_id=values.other_id))
    run = collect(values.run(), RESULT, REPORT)
    changes = patches.build_evidence_changes(values.node(run=format_claim(stated)), KEYS, run)
    told = parse_claim(written(changes)[KEYS.run] or "")
    assert told.unknown == {"later": {"a": 1}}
    assert told.previous == stated.previous
    assert told.report == REPORT


def test_evidence_of_a_previous_run_goes_where_that_run_stands(values: Any) -> None:
    stated = values.claim(run_id=values.other_id, previous=values.claim())
    run = collect(values.run(), RESULT, REPORT)
    changes = patches.build_evidence_changes(values.node(run=format_claim(stated)), KEYS, run)
    told = parse_claim(written(changes)[KEYS.run] or "")
    assert told.run_id == values.other_id
    assert told.previous is not None
    assert told.previous.report == REPORT


def test_failure_writes_status_output_result_and_label_together(values: Any) -> None:
    run = fail(values.run(served_label="yes"), "timeout", attempts=1, duration_s=60.5)
    node = values.node(status="in-progress", trigger="yes", run=format_claim(values.claim()))
    changes = written(patches.build_failure_changes(node, KEYS, run))
    assert changes[KEYS.status] == "failed: timeout"
    assert changes[KEYS.trigger] is None
    output = json.loads(changes[KEYS.output] or "")
    assert (output["status"], output["reason"], output["runId"]) == ("failed", "timeout", values.run_id)
    assert parse_claim(changes[KEYS.run] or "").result == run.claim.result


@pytest.mark.parametrize("reason", ["interrupted", "busy"])
def test_failure_that_lets_the_request_stand_keeps_the_label(values: Any, reason: str) -> None:
    run = fail(values.run(served_label="yes"), reason, attempts=0, duration_s=0)
    node = values.node(status="in-progress", trigger="yes", run=format_claim(values.claim()))
    assert KEYS.trigger not in keys_of(patches.build_failure_changes(node, KEYS, run))


def test_failure_keeps_the_output_of_the_previous_run(values: Any) -> None:
    previous = values.claim(run_id=values.other_id)
    run = fail(values.run(claim=values.claim(previous=previous)), "no-report", attempts=1, duration_s=1)
    last = json.dumps(
        {"status": "failed", "reason": "timeout", "trigger": "manual", "complete": False, "runId": values.other_id}
    )
    node = values.node(status="in-progress", output=last, run=format_claim(run.claim._replace(result=None)))
    output = json.loads(written(patches.build_failure_changes(node, KEYS, run))[KEYS.output] or "")
    assert output["previous"]["runId"] == values.other_id


def test_refusal_tests_both_labels(values: Any) -> None:
    run = fail(values.run(claim=values.claim(trigger="automatic")), "disabled", attempts=0, duration_s=0)
    node = values.node(status="collect", disable="true", trigger="yes")
    changes = patches.build_refusal_changes(node, KEYS, run)
    assert keys_of(changes) == {KEYS.status, KEYS.run, KEYS.output, KEYS.trigger, KEYS.disable}
    assert KEYS.trigger not in written(changes)


def test_label_of_a_recreated_node_is_not_touched(values: Any) -> None:
    run = collect(values.run(served_label="yes"), RESULT, REPORT)
    node = values.node(uid="00000000-0000-4000-8000-000000000000", trigger="yes")
    assert patches.build_label_changes(node, KEYS, run) == []


def test_every_patch_tests_the_uid_first(values: Any) -> None:
    node = values.node(status="collect")
    operations = build_patch(node, patches.build_claim_changes(node, KEYS, values.claim()))
    assert operations[0] == {"op": "test", "path": "/metadata/uid", "value": values.uid}
