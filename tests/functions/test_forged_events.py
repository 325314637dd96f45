"""An event may claim anything: no text of it becomes a name, a verdict or a write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.outcomes import Outcome
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_COLLECTED, Event
from tests.functions.world import FOLDER, LATER_RUN_ID, RUN_ID, World, build_claim, build_report

REPORT_BYTES = build_report()

any_text = st.text(max_size=300)
forged_events = st.builds(
    Event,
    type=st.sampled_from([REPORT_COLLECTED, REPORT_ARCHIVED]),
    id=any_text,
    source=any_text,
    data=st.dictionaries(any_text, any_text, max_size=5),
    extensions=st.fixed_dictionaries(
        {
            "cluster": st.sampled_from(["prod", "other", "PROD", ""]) | any_text,
            "node": st.sampled_from(["n1", "n2", "../n1", "N1", ""]) | any_text,
            "runid": st.sampled_from([RUN_ID, LATER_RUN_ID, RUN_ID.upper(), f"{RUN_ID}/..", ""]) | any_text,
        },
        optional={"reason": any_text, "severity": any_text},
    ),
)


def _build_world(*, staged: bool) -> World:
    world = World()
    world.put_node(build_claim(REPORT_BYTES))
    if staged:
        world.stage(REPORT_BYTES)
    return world


@given(event=forged_events)
def test_any_event_leads_to_computed_names_only(event):
    world = _build_world(staged=True)

    answers = [world.archive_report(event), world.write_status(event)]

    assert all(answer.outcome in Outcome for answer in answers)
    assert all(name.startswith(FOLDER) for name in world.archive.names())
    assert world.other_nodes.patches == []
    for published in world.published():
        assert (published.cluster, published.node, published.run_id) == ("prod", "n1", RUN_ID)
        assert str(published.data).count("gs://") in (0, 2)
    claims_the_run = (event.cluster, event.node, event.run_id) == ("prod", "n1", RUN_ID)
    assert (world.status == "completed") is claims_the_run


@given(event=forged_events)
def test_any_event_about_a_run_that_is_not_staged_changes_nothing(event):
    world = _build_world(staged=False)
    before = world.snapshot()

    answers = [world.archive_report(event), world.write_status(event)]

    assert {answer.outcome for answer in answers} <= {Outcome.LATE, Outcome.REJECTED}
    assert all(answer.reason for answer in answers)
    assert world.snapshot() == before
    assert world.published() == []


@pytest.mark.parametrize(
    ("names", "want"),
    [
        ({"node": ""}, "bad-node-name"),
        ({"node": "../../namespaces"}, "bad-node-name"),
        ({"node": "n1\n"}, "bad-node-name"),
        ({"node": "x" * 254}, "bad-node-name"),
        ({"run_id": "not-a-run"}, "bad-run-id"),
        ({"run_id": RUN_ID + "\n"}, "bad-run-id"),
        ({"run_id": "../" + RUN_ID}, "bad-run-id"),
        ({"cluster": "staging-9"}, "unknown-cluster"),
        ({"cluster": ""}, "unknown-cluster"),
    ],
)
def test_event_with_a_bad_name_is_rejected_before_anything_is_read(names, want):
    world = _build_world(staged=True)
    world.nodes.failure = AssertionError("the Node must not be read")

    for answer in (world.archive_report(world.event(**names)), world.write_status(world.event(**names))):
        assert (answer.outcome, answer.reason) == (Outcome.REJECTED, want)


def test_event_that_names_a_verdict_and_a_path_is_not_believed():
    world = _build_world(staged=True)
    honest = world.event()
    data = {"status": "failed", "reason": "corrupt", "archiveUri": "gs://evil/x", "sha256": "0" * 64, "file": "/etc"}

    world.archive_report(honest._replace(data=data))
    world.write_status(world.event(REPORT_ARCHIVED)._replace(data=data))

    assert world.status == "completed"
    assert world.output.archived.archive_uri.startswith(f"gs://archive/{FOLDER}/")


def test_event_about_another_nodes_run_changes_nothing():
    world = _build_world(staged=True)
    other = build_claim(REPORT_BYTES, run_id=LATER_RUN_ID)
    world.put_node(other)
    before = world.snapshot()

    answers = [world.archive_report(), world.write_status()]

    assert [answer.outcome for answer in answers] == [Outcome.LATE, Outcome.LATE]
    assert world.snapshot() == before
