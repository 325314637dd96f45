"""What archive_report puts on record, for every kind of run, on the Node's word alone."""

import gzip
import hashlib
import json
from dataclasses import dataclass

import pytest

from functions.archive_report import archive_report
from functions.outcomes import Outcome
from gpureport.contract.claims import ReportEvidence, RunResult, format_claim
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_REJECTED
from gpureport.contract.keys import build_keys
from gpureport.contract.manifests import parse_manifest
from gpureport.contract.statuses import Status
from gpureport.ports import Refused
from tests.functions.world import (
    LATER_RUN_ID,
    MANIFEST,
    NODE_UID,
    REPORT,
    RUN_ID,
    build_claim,
    build_report,
)

QUARANTINED = f"quarantine/{REPORT}"
OTHER_UID = "11111111-2f0f-4f5a-9a55-0d1c2b3a4e5f"


def cut_after_members(report: bytes, members: int) -> bytes:
    """Keep the first members of a report, whole."""
    starts = [i for i in range(len(report)) if report[i : i + 3] == b"\x1f\x8b\x08"]
    return report[: starts[members]]


def damage(report: bytes) -> bytes:
    """Flip the checksum of the last member."""
    return report[:-8] + bytes([report[-8] ^ 0xFF]) + report[-7:]


@dataclass(frozen=True)
class Case:
    report: bytes
    agent_outcome: str
    ending: Status
    objects: list[str]
    judged: str | None


WHOLE = build_report()
CASES = {
    "whole": Case(WHOLE, "complete", Status("completed"), [MANIFEST, REPORT], "complete"),
    "partial, and the agent knows": Case(
        cut_after_members(WHOLE, 3), "partial", Status("failed", "timeout"), [MANIFEST, REPORT], "partial"
    ),
    "partial, and the agent does not": Case(
        cut_after_members(WHOLE, 3), "complete", Status("failed", "incomplete"), [MANIFEST, REPORT], "partial"
    ),
    "whole, and the agent says partial": Case(
        WHOLE, "partial", Status("failed", "timeout"), [MANIFEST, REPORT], "complete"
    ),
    "damaged": Case(damage(WHOLE), "complete", Status("failed", "corrupt"), sorted([MANIFEST, QUARANTINED]), "corrupt"),
    "not a report": Case(gzip.compress(b"hello"), "complete", Status("failed", "no-report"), [MANIFEST], None),
    "empty": Case(b"", "none", Status("failed", "no-report"), [MANIFEST], None),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_archive_report_records_the_worse_of_both_verdicts(world, case):
    world.put_node(build_claim(case.report, case.agent_outcome))
    world.stage(case.report)

    answer = world.archive_report()

    manifest = parse_manifest(world.archive.content(MANIFEST))
    assert answer.outcome is Outcome.DONE
    assert manifest.ending == case.ending
    assert world.archive.names() == case.objects
    assert (manifest.report.outcome if manifest.report else None) == case.judged
    assert world.staging.names() == []
    for name in case.objects:
        if name != MANIFEST:
            assert world.archive.content(name) == case.report


def test_manifest_of_a_whole_report_says_where_it_came_from_and_what_it_holds(world, report):
    claim = build_claim(report)
    world.put_node(claim)
    world.stage(report)

    world.archive_report()

    manifest = parse_manifest(world.archive.content(MANIFEST))
    assert manifest.claim == claim
    assert manifest.origin == ("prod", "n1", "project-1", "europe-west4", "uid-of-kube-system")
    stored = world.archive.stat(REPORT)
    want = ("archive", REPORT, str(stored.generation), len(report), hashlib.sha256(report).hexdigest(), stored.crc32c)
    assert manifest.report[:6] == want
    assert manifest.report.members == 5
    assert manifest.report.facts["scriptVersion"] == "37062940"
    assert world.archive.content_type(MANIFEST) == "application/json"
    assert world.archive.content_type(REPORT) == "application/gzip"


def test_archived_event_tells_the_ending_and_the_uri(world, report):
    world.put_node(build_claim(report))
    world.stage(report)

    world.archive_report()

    [event] = world.published()
    assert (event.type, event.id, event.source) == (
        REPORT_ARCHIVED, f"{RUN_ID}/report.archived", "gpureport/prod/n1",
    )  # fmt: skip
    assert event.data["archiveUri"] == f"gs://archive/{REPORT}"
    assert event.data["archiveGeneration"] == str(world.archive.stat(REPORT).generation)
    assert event.data["manifestUri"] == f"gs://archive/{MANIFEST}"
    assert event.data["status"] == "completed"
    assert event.extensions["severity"] == "info"


@pytest.mark.parametrize("reason", ["disabled", "script-not-found", "no-report", "timeout", "interrupted"])
def test_run_without_a_report_gets_a_manifest_alone(world, reason):
    world.put_node(build_claim(result=RunResult("none", 0, 0, reason)), f"failed: {reason}")

    answer = world.archive_report()

    assert answer.outcome is Outcome.DONE
    assert world.archive.names() == [MANIFEST]
    assert parse_manifest(world.archive.content(MANIFEST)).ending == Status("failed", reason)
    [event] = world.published(REPORT_ARCHIVED)
    assert "archiveUri" not in event.data
    assert event.extensions["reason"] == reason


def test_previous_run_is_archived_from_the_claim_after_it(world, report):
    previous = build_claim(report)
    world.put_node(build_claim(run_id=LATER_RUN_ID, result=None, previous=previous))
    world.stage(report)

    assert world.archive_report().outcome is Outcome.DONE

    assert parse_manifest(world.archive.content(MANIFEST)).claim == previous


@pytest.mark.parametrize("stage_again", [False, True], ids=["staged object gone", "staged again by a late agent"])
def test_archive_report_of_a_run_on_record_tells_again_and_tidies_up(world, report, stage_again):
    world.put_node(build_claim(report))
    world.stage(report)
    world.archive_report()
    want = world.snapshot()
    if stage_again:
        world.stage(report)

    answer = world.archive_report()

    assert answer.outcome is Outcome.DUPLICATE
    assert world.snapshot() == want
    first, second = world.published(REPORT_ARCHIVED)
    assert first == second


def test_archive_report_leaves_the_node_alone(world, report):
    world.put_node(build_claim(report))
    want = world.nodes.get("n1")
    world.stage(report)

    world.archive_report()

    assert world.nodes.get("n1") == want
    assert world.nodes.patches == []


def _other_bytes(world, report):
    """Somebody with the agents' identity took the staged name for other bytes of the same size."""
    name = world.stage(report)
    world.staging.replace(name, bytes(len(report)))


def _other_size(world, report):
    name = world.stage(report)
    world.staging.replace(name, report + b"\0")


def _taken_name(world, report):
    world.stage(report)
    world.archive.create(REPORT, b"other bytes", "application/gzip")


@pytest.mark.parametrize("prepare", [_other_bytes, _other_size])
def test_staged_bytes_that_are_not_what_the_node_says_make_room_for_those_that_are(world, report, prepare):
    world.put_node(build_claim(report))
    prepare(world, report)
    before = world.snapshot()

    answer = world.archive_report()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "evidence-mismatch")
    assert world.snapshot() == {**before, "staging": {}}
    [event] = world.published()
    assert (event.type, event.extensions["reason"]) == (REPORT_REJECTED, "evidence-mismatch")
    world.stage(report)
    assert world.archive_report().outcome is Outcome.DONE


def test_report_whose_name_in_the_archive_is_taken_is_not_archived(world, report):
    world.put_node(build_claim(report))
    _taken_name(world, report)
    before = world.snapshot()

    answer = world.archive_report()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "archive-conflict")
    assert world.snapshot() == before
    [event] = world.published()
    assert (event.type, event.extensions["reason"]) == (REPORT_REJECTED, "archive-conflict")


def test_report_longer_than_the_bound_is_not_read(world, report):
    evidence = ReportEvidence(1, hashlib.sha256(report).hexdigest(), 2**40, complete=True)
    world.put_node(build_claim(report, report=evidence))
    world.stage(report)

    answer = world.archive_report()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "too-large")
    assert world.archive.names() == []


def test_same_bytes_left_by_an_earlier_try_are_taken(world, report):
    world.put_node(build_claim(report))
    world.stage(report)
    left = world.archive.create(REPORT, report, "application/gzip")

    assert world.archive_report().outcome is Outcome.DONE

    assert parse_manifest(world.archive.content(MANIFEST)).report.generation == str(left.generation)


def _claim(**changes):
    return build_claim(build_report(), **changes)


@pytest.mark.parametrize(
    ("claim", "uid", "want"),
    [
        (None, NODE_UID, (Outcome.LATE, "not-claimed")),
        (_claim(run_id=LATER_RUN_ID), NODE_UID, (Outcome.LATE, "not-claimed")),
        (_claim(), OTHER_UID, (Outcome.LATE, "node-recreated")),
        (_claim(result=None, report=None), NODE_UID, (Outcome.REJECTED, "no-evidence")),
        (_claim(result=None), NODE_UID, (Outcome.REJECTED, "no-evidence")),
        (_claim(report=None), NODE_UID, (Outcome.REJECTED, "no-evidence")),
        (_claim(), NODE_UID, (Outcome.REJECTED, "not-staged")),
        ("another tool's", NODE_UID, (Outcome.REJECTED, "foreign-claim")),
        ("[" * 5000, NODE_UID, (Outcome.REJECTED, "foreign-claim")),
        ('{"schema":2}', NODE_UID, (Outcome.REJECTED, "newer-schema")),
        (json.dumps(json.loads(format_claim(_claim())) | {"x": "y" * 4096}), NODE_UID,
         (Outcome.REJECTED, "foreign-claim")),
    ],
)  # fmt: skip
def test_node_that_does_not_support_the_event_changes_nothing(world, claim, uid, want):
    world.put_node(claim, uid=uid)
    before = world.snapshot()

    answer = world.archive_report()

    assert (answer.outcome, answer.reason) == want
    assert world.snapshot() == before
    assert world.published() == []


def test_event_about_an_absent_node_is_late(world):
    answer = world.archive_report(world.event(node="n2"))

    assert (answer.outcome, answer.reason) == (Outcome.LATE, "node-gone")


@pytest.mark.parametrize("change", [{"node": "n2"}, {"nodeUid": OTHER_UID}, {"status": "completed?"}, None])
def test_manifest_that_is_not_this_runs_is_not_believed(world, report, change):
    world.put_node(build_claim(report))
    world.stage(report)
    world.archive_report()
    manifest = json.loads(world.archive.content(MANIFEST))
    if change and "nodeUid" in change:
        manifest["run"] |= change
    else:
        manifest |= change or {}
    world.archive.replace(MANIFEST, json.dumps(manifest).encode() if change else b"x" * 70_000)

    answer = world.archive_report()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "foreign-manifest")
    assert len(world.published()) == 1


class HeldStaging:
    """A bucket whose objects are under a hold: nothing of it is deleted."""

    def __init__(self, staging):
        self.stat, self.read = staging.stat, staging.read

    def delete(self, stored):
        raise Refused(f"objectUnderActiveHold: {stored.name}")


def test_staged_object_under_a_hold_does_not_bring_the_event_again(world, report):
    world.put_node(build_claim(report))
    world.stage(report)
    ports = world.archive_ports._replace(staging=HeldStaging(world.staging))

    answers = [archive_report(world.event(), world.find_cluster, build_keys(), ports) for _ in range(2)]

    assert [answer.outcome for answer in answers] == [Outcome.DONE, Outcome.DUPLICATE]
    assert all(answer.is_error for answer in answers)
    assert "stays: objectUnderActiveHold" in answers[0].message
