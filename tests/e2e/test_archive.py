"""One label becomes one archived report, and nothing that is said again, late or falsely changes that."""

import hashlib
import json
import random
from pathlib import Path

from gpureport.contract.claims import AUTOMATIC, MANUAL
from gpureport.contract.events import REPORT_ARCHIVED, REPORT_COLLECTED, build_run_event
from gpureport.contract.instants import parse_instant
from gpureport.contract.manifests import parse_manifest
from gpureport.contract.pubsub_binding import format_message
from infra.local import topology
from infra.local.demo_objects import HEALTHY_NODE, SICK_NODE
from infra.local.pipeline import CLUSTER
from tests.e2e.world import KEYS, World, wait_until

AT = parse_instant("2026-11-30T09:15:00Z")


def object_name(uri: str | None) -> str:
    assert uri is not None
    return uri.removeprefix(f"gs://{topology.ARCHIVE}/")


def test_label_becomes_one_archived_report(world: World) -> None:
    runs_before = world.script_runs()

    output = world.run_once(SICK_NODE)

    assert world.status(SICK_NODE) == "completed"
    assert output.trigger == MANUAL
    assert output.archived is not None
    data = world.download(topology.ARCHIVE, object_name(output.archived.archive_uri))
    assert hashlib.sha256(data).hexdigest() == output.sha256
    assert len(data) == output.file_size_bytes
    assert output.file_path is not None
    assert Path(output.file_path).read_bytes() == data
    assert KEYS.trigger not in world.node(SICK_NODE)["metadata"]["labels"]
    assert world.objects(topology.STAGING) == {}
    assert world.script_runs() == runs_before + 1


def test_manifest_says_what_the_node_says(world: World) -> None:
    output = world.run_once(SICK_NODE)

    assert output.archived is not None
    name = object_name(output.archived.archive_uri).replace("report.log.gz", "manifest.json")
    manifest = parse_manifest(world.download(topology.ARCHIVE, name))

    claim = world.claim(SICK_NODE)
    assert claim is not None
    assert manifest.claim == claim._replace(previous=None)
    assert manifest.origin.node == SICK_NODE
    assert manifest.report is not None
    assert manifest.report.sha256 == output.sha256
    assert manifest.report.members >= 100
    assert manifest.report.generation == output.archived.archive_generation


def test_annotation_asks_as_well(world: World) -> None:
    before = world.output(HEALTHY_NODE)
    world.annotate(HEALTHY_NODE, {KEYS.status: "collect"})

    output = world.wait_on_record(HEALTHY_NODE, before)

    assert world.status(HEALTHY_NODE) == "completed"
    assert output.trigger == AUTOMATIC


def test_events_of_a_run_replayed_and_shuffled_change_nothing(world: World) -> None:
    world.run_once(SICK_NODE)
    said = [(topic, *message) for topic in ("reports", "results") for message in world.captured(topic)]
    node, archive = world.node(SICK_NODE), world.objects(topology.ARCHIVE)
    assert {attributes["ce-type"].split(".")[3] for _topic, _data, attributes in said} == {
        "collected",
        "archived",
        "finished",
    }

    again = said * 3
    random.Random(20261130).shuffle(again)
    for topic, data, attributes in again:
        world.publish(topic, data, attributes)
    world.wait_quiet()

    assert world.node(SICK_NODE) == node
    assert world.objects(topology.ARCHIVE) == archive
    assert world.objects(topology.STAGING) == {}


def test_event_about_another_nodes_run_changes_nothing(world: World) -> None:
    run = world.run_once(SICK_NODE)
    world.run_once(HEALTHY_NODE)
    nodes, archive = [world.node(name) for name in (SICK_NODE, HEALTHY_NODE)], world.objects(topology.ARCHIVE)
    counted = len(world.outcomes("archive_report"))
    assert run.run_id is not None
    forged = build_run_event(
        REPORT_COLLECTED,
        cluster=CLUSTER,
        node=HEALTHY_NODE,
        run_id=run.run_id,
        at=AT,
        data={"archiveUri": "gs://elsewhere/report.log.gz"},
    )

    world.publish("reports", *format_message(forged))
    world.wait_quiet()

    assert [world.node(name) for name in (SICK_NODE, HEALTHY_NODE)] == nodes
    assert world.objects(topology.ARCHIVE) == archive
    outcomes = world.outcomes("archive_report")[counted:]
    assert [outcome["outcome"] for outcome in outcomes] in (["late"], ["rejected"])


def test_result_that_names_no_manifest_changes_nothing(world: World) -> None:
    supervisor = world.pipeline.supervisor
    before = world.output(SICK_NODE)
    supervisor.part("archive_report").stop()
    world.request(SICK_NODE)
    claim = wait_until(lambda: world.new_evidence(SICK_NODE, before), "evidence on the Node")
    node, counted = world.node(SICK_NODE), len(world.outcomes("write_status"))
    forged = build_run_event(
        REPORT_ARCHIVED, cluster=CLUSTER, node=SICK_NODE, run_id=claim.run_id, at=AT, data={"status": "completed"}
    )

    world.publish("results", *format_message(forged))
    outcomes = wait_until(lambda: world.outcomes("write_status")[counted:], "an outcome")

    assert [outcome["outcome"] for outcome in outcomes] == ["rejected"]
    assert world.node(SICK_NODE) == node
    supervisor.restart("archive_report")
    world.wait_on_record(SICK_NODE, before)
    assert world.status(SICK_NODE) == "completed"


def test_garbage_is_acknowledged_and_counted(world: World) -> None:
    counted = len(world.outcomes("archive_report"))
    attributes = {"ce-type": REPORT_COLLECTED, "ce-specversion": "1.0", "ce-id": "x", "ce-source": "y"}
    garbage = [
        (b"\xff\xfe\x00garbage", {**attributes, "content-type": "application/json"}),
        (b"{}", {"ce-type": REPORT_COLLECTED}),
        (b"[]", {**attributes, "content-type": "application/json"}),
        (json.dumps({"node": "../../etc"}).encode(), {**attributes, "content-type": "text/plain", "ce-node": "../x"}),
        (b'{"a":1}', {**attributes, "content-type": "application/json", "ce-node": "absent", "ce-cluster": CLUSTER}),
        (b'{"a":1}', {**attributes, "content-type": "application/json", "ce-node": "n1", "ce-cluster": "elsewhere"}),
    ]

    for data, attributes in garbage:
        world.publish("reports", data, attributes)
    world.wait_quiet()

    outcomes = wait_until(lambda: world.outcomes("archive_report")[counted:], "outcomes")
    assert len(outcomes) == len(garbage)
    assert {outcome["outcome"] for outcome in outcomes} <= {"rejected", "late"}
