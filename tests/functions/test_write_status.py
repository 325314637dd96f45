"""What write_status brings to a Node: the manifest's ending, once, and never over somebody else's status."""

from datetime import timedelta

import pytest

from functions.outcomes import Outcome
from gpureport.contract.claims import RunResult
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_FINISHED, REPORT_REJECTED
from gpureport.contract.outputs import Archived, Output, build_output, find_output, format_output
from gpureport.contract.statuses import COMPLETED, Status, failed
from tests.functions.world import (
    FILE_PATH,
    KEYS,
    LATER_RUN_ID,
    MANIFEST,
    NODE_UID,
    REPORT,
    RUN_ID,
    STARTED_AT,
    build_claim,
)

OTHER_UID = "11111111-2f0f-4f5a-9a55-0d1c2b3a4e5f"
ARCHIVED_AT = STARTED_AT + timedelta(seconds=9)


@pytest.fixture
def archived(world, report):
    """Return the world with the run on record and its Node still in progress."""
    world.store.now = ARCHIVED_AT
    world.put_node(build_claim(report))
    world.stage(report)
    world.archive_report()
    world.publisher.published.clear()
    return world


def _put(world, status, output: Output | None = None, claim=None, **more):
    text = None if output is None else format_output(output)
    world.put_node(claim or world.claim, status, output=text, **more)


def test_write_status_completes_the_run_with_its_output_in_one_patch(archived, report):
    answer = archived.write_status()

    assert answer.outcome is Outcome.DONE
    assert archived.status == "completed"
    want = build_output(
        build_claim(report),
        Status(COMPLETED),
        Archived(ARCHIVED_AT, f"gs://archive/{REPORT}", str(archived.archive.stat(REPORT).generation)),
    )
    assert archived.output == want
    assert want.complete
    assert len(archived.nodes.patches) == 1


def test_write_status_publishes_the_finished_event(archived):
    archived.write_status()

    [event] = archived.published()
    assert (event.type, event.id) == (REPORT_FINISHED, f"{RUN_ID}/report.finished")
    assert event.data["status"] == "completed"
    assert event.data["archiveUri"] == f"gs://archive/{REPORT}"
    assert event.data["filePath"] == FILE_PATH


def test_rejected_event_is_a_hint_like_any_other(archived):
    assert archived.write_status(archived.event(REPORT_REJECTED)).outcome is Outcome.DONE
    assert archived.status == "completed"


def test_write_status_twice_writes_once_and_tells_twice(archived):
    archived.write_status()
    want = archived.snapshot()

    answer = archived.write_status()

    assert answer.outcome is Outcome.DUPLICATE
    assert archived.snapshot() == want
    first, second = archived.published()
    assert first == second


@pytest.mark.parametrize("status", ["collect", "failed: deadline-exceeded", "completed", "paused by hand", None])
def test_status_that_is_not_in_progress_stays(archived, report, status):
    archived.put_node(build_claim(report), status)

    assert archived.write_status().outcome is Outcome.DONE

    assert archived.status == status
    assert archived.output.is_on_record(RUN_ID)


def test_late_archive_keeps_the_ending_that_the_node_tells_and_says_late(archived, report):
    claim = build_claim(report)
    ended = Output("failed", "manual", complete=False, reason="deadline-exceeded", run_id=RUN_ID)
    archived.put_node(claim, "failed: deadline-exceeded", output=format_output(ended))
    archived.nodes.now = claim.deadline_at + timedelta(minutes=75)

    archived.write_status()

    output = archived.output
    assert (output.status, output.reason, output.late) == ("failed", "deadline-exceeded", True)
    assert output.archived.archive_uri == f"gs://archive/{REPORT}"
    assert archived.status == "failed: deadline-exceeded"


def test_failure_of_the_agent_is_on_record_and_its_status_stays(world):
    claim = build_claim(result=RunResult("none", 1, 1.2, "no-report"))
    output = build_output(claim, failed("no-report"))
    world.store.now = ARCHIVED_AT
    world.put_node(claim, "failed: no-report", output=format_output(output))
    world.archive_report()

    world.write_status()

    assert world.status == "failed: no-report"
    assert world.output == output._replace(archived=Archived(ARCHIVED_AT))
    [event] = world.published(REPORT_FINISHED)
    assert "archiveUri" not in event.data


def test_partial_report_fails_the_run_and_is_not_complete(world, report):
    cut = report[:-40]
    world.put_node(build_claim(cut))
    world.stage(cut)
    world.archive_report()

    world.write_status()

    assert world.status == "failed: incomplete"
    assert (world.output.status, world.output.reason, world.output.complete) == ("failed", "incomplete", False)


def _later(report):
    return build_claim(run_id=LATER_RUN_ID, result=None, previous=build_claim(report))


def test_previous_run_goes_to_previous_and_touches_nothing_else(archived, report):
    top = Output("failed", "automatic", complete=False, reason="no-agent")
    archived.put_node(_later(report), "in-progress", output=format_output(top))

    assert archived.write_status().outcome is Outcome.DONE

    assert archived.status == "in-progress"
    assert archived.output._replace(previous=None) == top
    assert archived.output.previous.run_id == RUN_ID
    assert archived.output.is_on_record(RUN_ID)


def test_previous_run_without_an_output_stands_at_the_top_as_itself(archived, report):
    archived.put_node(_later(report), "in-progress")

    archived.write_status()

    assert archived.status == "in-progress"
    assert (archived.output.run_id, archived.output.previous) == (RUN_ID, None)


def test_end_of_a_run_keeps_that_its_previous_one_is_on_record(world, report):
    later = build_claim(report, run_id=LATER_RUN_ID, previous=build_claim(report))
    world.put_node(later)
    world.stage(report)
    world.stage(report, LATER_RUN_ID)
    for run_id in (RUN_ID, LATER_RUN_ID):
        world.archive_report(world.event(run_id=run_id))

    for run_id in (RUN_ID, LATER_RUN_ID):
        world.write_status(world.event(REPORT_ARCHIVED, run_id))

    assert world.status == "completed"
    assert world.output.run_id == LATER_RUN_ID
    assert world.output.is_on_record(LATER_RUN_ID)
    assert world.output.is_on_record(RUN_ID)


def test_replay_after_the_run_is_on_record_leaves_another_executors_progress_alone(archived, report):
    archived.write_status()
    output = archived.annotation(KEYS.output)
    archived.put_node(build_claim(report), "in-progress", output=output)
    want = archived.snapshot()

    assert archived.write_status().outcome is Outcome.DUPLICATE
    assert archived.snapshot() == want


def test_foreign_output_is_replaced_with_the_runs(archived, report):
    archived.put_node(build_claim(report), output="another tool's")

    archived.write_status()

    assert find_output(archived.annotation(KEYS.output)).run_id == RUN_ID


def test_output_members_of_a_newer_writer_stay_for_the_same_run(archived, report):
    output = build_output(build_claim(report), failed("timeout"))._replace(unknown={"ticket": "INC-1"})
    archived.put_node(build_claim(report), "failed: timeout", output=format_output(output))

    archived.write_status()

    assert archived.output.unknown == {"ticket": "INC-1"}


@pytest.mark.parametrize(
    ("claim", "uid", "want"),
    [
        ("own", OTHER_UID, (Outcome.LATE, "node-recreated")),
        (None, NODE_UID, (Outcome.LATE, "not-claimed")),
        ("other", NODE_UID, (Outcome.LATE, "not-claimed")),
        ("{", NODE_UID, (Outcome.REJECTED, "foreign-claim")),
    ],
)
def test_node_that_does_not_claim_the_run_is_not_written(archived, report, claim, uid, want):
    claims = {"own": build_claim(report), "other": build_claim(report, run_id=LATER_RUN_ID)}
    archived.put_node(claims.get(claim, claim), uid=uid)
    before = archived.snapshot()

    answer = archived.write_status()

    assert (answer.outcome, answer.reason) == want
    assert archived.snapshot() == before
    assert archived.published() == []


def test_event_without_a_manifest_writes_nothing(world, report):
    world.put_node(build_claim(report))
    before = world.snapshot()

    answer = world.write_status()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "no-manifest")
    assert world.snapshot() == before


def test_manifest_of_another_node_writes_nothing(archived):
    text = archived.archive.content(MANIFEST).replace(NODE_UID.encode(), OTHER_UID.encode())
    archived.archive.replace(MANIFEST, text)
    before = archived.snapshot()

    answer = archived.write_status()

    assert (answer.outcome, answer.reason) == (Outcome.REJECTED, "foreign-manifest")
    assert archived.snapshot() == before


class RacingNodes:
    """Nodes that somebody else changes just before each of the next patches."""

    def __init__(self, nodes, changes) -> None:
        self.nodes = nodes
        self.changes = list(changes)

    def read_node(self, name):
        return self.nodes.read_node(name)

    def patch_node(self, name, operations):
        if self.changes:
            self.changes.pop(0)()
        return self.nodes.patch_node(name, operations)


def test_lost_race_is_decided_again_and_the_handlers_change_wins(archived, report):
    nodes = archived.nodes
    archived.nodes = RacingNodes(nodes, [lambda: nodes.put(_with_status(nodes, "collect"))])

    answer = archived.write_status()

    archived.nodes = nodes
    assert answer.outcome is Outcome.DONE
    assert archived.status == "collect"
    assert archived.output.is_on_record(RUN_ID)


def test_lost_races_are_bounded_and_then_redelivered(archived):
    nodes = archived.nodes
    changes = [lambda word=word: nodes.put(_with_status(nodes, word)) for word in "abcdefgh"]
    archived.nodes = RacingNodes(nodes, changes)

    answer = archived.write_status()

    assert (answer.outcome, answer.reason) == (Outcome.RETRY, "lost-races")
    assert len(changes) - len(archived.nodes.changes) == 5


def test_node_that_goes_between_read_and_write_is_late(archived):
    nodes = archived.nodes
    archived.nodes = RacingNodes(nodes, [lambda: nodes.remove("n1")])

    answer = archived.write_status()

    assert (answer.outcome, answer.reason) == (Outcome.LATE, "node-gone")


def _with_status(nodes, status):
    node = nodes.get("n1")
    node["metadata"]["annotations"][KEYS.status] = status
    return node
