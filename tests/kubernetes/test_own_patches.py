"""Do the policies let through what our own code writes? The patches here are the code's, not the table's."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from agent.handshake.patches import (
    build_claim_changes,
    build_evidence_changes,
    build_failure_changes,
    build_label_changes,
    build_refusal_changes,
)
from agent.handshake.runs import COLLECTED, Run
from gpureport.contract.claims import COMPLETE, MANUAL, NONE, OWN, Claim, ReportEvidence, RunResult, format_claim
from gpureport.contract.nodes import Change, NodeState, build_patch, read_node_state
from tests.kubernetes.cluster import Actor, RealCluster
from tests.kubernetes.requests import JSON_PATCH, KEYS, NODES, Request, Start, start
from tests.kubernetes.rows import Who

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
REPORT = ReportEvidence(attempt=1, sha256="0" * 64, size_bytes=1, complete=True)
EVIDENCE = RunResult(outcome=COMPLETE, attempts=1, duration_s=1.0, file_path="/home/x.log.gz")
UUID = "00000000-0000-0000-0000-000000000000"


def build_claim(node: NodeState, letter: str = "a") -> Claim:
    return Claim(letter * 32, MANUAL, OWN, node.uid, UUID, AT, AT, "0.1.0")


def build_run(node: NodeState, result: RunResult, report: ReportEvidence | None = None, letter: str = "a") -> Run:
    claim = build_claim(node, letter)._replace(result=result, report=report)
    return Run(COLLECTED, claim, served_label=node.trigger)


def fail(reason: str) -> RunResult:
    return RunResult(outcome=NONE, attempts=0, duration_s=0, reason=reason)


class Case(NamedTuple):
    title: str
    start: Start
    decide: Callable[[NodeState], list[Change]]

    def __str__(self) -> str:
        return self.title


def claimed(status: str = "in-progress", label: str | None = "now") -> Start:
    nowhere = NodeState("x", UUID, has_labels=True, has_annotations=True)
    return start(status, label=label, run=format_claim(build_claim(nowhere)))


LABELLED = start("completed", label="now")
CASES = (
    Case("claim of collect", start("collect"), lambda node: build_claim_changes(node, KEYS, build_claim(node))),
    Case("claim of the label", LABELLED, lambda node: build_claim_changes(node, KEYS, build_claim(node))),
    Case(
        "claim with a previous run",
        claimed("completed"),
        lambda node: build_claim_changes(node, KEYS, build_claim(node, "b")._replace(previous=build_claim(node))),
    ),
    Case("evidence", claimed(), lambda node: build_evidence_changes(node, KEYS, build_run(node, EVIDENCE, REPORT))),
    Case(
        "evidence of a run that a later one has as its previous",
        claimed(),
        lambda node: build_evidence_changes(node, KEYS, build_run(node, EVIDENCE, REPORT, "b")),
    ),
    Case("failure", claimed(), lambda node: build_failure_changes(node, KEYS, build_run(node, fail("script-failed")))),
    Case(
        "interruption", claimed(), lambda node: build_failure_changes(node, KEYS, build_run(node, fail("interrupted")))
    ),
    Case(
        "refusal of collect",
        claimed("collect"),
        lambda node: build_refusal_changes(node, KEYS, build_run(node, fail("disabled"), letter="b")),
    ),
    Case(
        "refusal of the label",
        LABELLED,
        lambda node: build_refusal_changes(node, KEYS, build_run(node, fail("disk"), letter="b")),
    ),
    Case("removal of the label", LABELLED, lambda node: build_label_changes(node, KEYS, build_run(node, EVIDENCE))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agents_own_patch_is_admitted(case: Case, cluster: RealCluster, find_actor: Callable[[Who], Actor]) -> None:
    actor = find_actor(Who.AGENT)
    node = read_node_state(cluster.settle(actor.node, case.start), KEYS)
    changes = case.decide(node)
    patch = build_patch(node, changes)

    answer = cluster.ask(actor, Request("PATCH", f"{NODES}/{actor.node}", patch, JSON_PATCH))

    assert (answer.status, answer.message) == (200, "")
    assert [one for one in patch if one["op"] != "test"] != []
