"""Computed names: of a fixed form for every id, and never the same for two things."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from gpureport.contract.events import REPORT_ARCHIVED, TYPES_BY_TOPIC
from gpureport.contract.names import (
    CLUSTER_NAME,
    FILE_PATH,
    NODE_NAME,
    archive_folder,
    archive_uri,
    event_id,
    event_source,
    manifest_object,
    report_file_name,
    report_object,
    staging_object,
)
from tests.gpureport.contract.contract_values import clusters, instants, nodes, run_ids, sha256s, triggers

RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"
AT = datetime(2026, 11, 30, 9, 15, 6, tzinfo=UTC)
LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
STAGED = re.compile(r"[0-9a-f]{32}/[0-9a-f]{64}\.log\.gz")
FOLDER = re.compile(rf"v1/({LABEL})/({LABEL}(?:\.{LABEL})*)/([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/([0-9a-f]{{32}})")


def test_names_of_a_run_are_those_of_the_contract() -> None:
    folder = archive_folder("prod", "n1", AT, RUN_ID)

    assert staging_object(RUN_ID, "a" * 64) == f"{RUN_ID}/{'a' * 64}.log.gz"
    assert folder == f"v1/prod/n1/2026-11-30/{RUN_ID}"
    assert manifest_object(folder) == f"v1/prod/n1/2026-11-30/{RUN_ID}/manifest.json"
    assert report_object(folder) == f"v1/prod/n1/2026-11-30/{RUN_ID}/report.log.gz"
    assert report_object(folder, quarantined=True) == f"quarantine/v1/prod/n1/2026-11-30/{RUN_ID}/report.log.gz"
    assert archive_uri("archive", report_object(folder)) == f"gs://archive/{folder}/report.log.gz"
    assert report_file_name(AT, "manual") == "nvidia-bug-report-20261130T091506Z-manual.log.gz"
    assert event_id(RUN_ID, REPORT_ARCHIVED) == f"{RUN_ID}/report.archived"
    assert event_source("prod", "n1") == "gpureport/prod/n1"


@given(run_ids, sha256s)
def test_staged_name_has_its_form_and_gives_its_ids_back(run_id: str, sha256: str) -> None:
    name = staging_object(run_id, sha256)

    assert STAGED.fullmatch(name)
    assert name.removesuffix(".log.gz").split("/") == [run_id, sha256]


@given(clusters, nodes, instants, run_ids)
def test_archived_name_has_its_form_and_gives_its_ids_back(
    cluster: str, node: str, started_at: datetime, run_id: str
) -> None:
    match = FOLDER.fullmatch(archive_folder(cluster, node, started_at, run_id))

    assert match
    assert match.groups() == (cluster, node, started_at.date().isoformat(), run_id)


@given(clusters, nodes, instants, run_ids, sha256s)
def test_objects_of_a_run_never_share_a_name(
    cluster: str, node: str, started_at: datetime, run_id: str, sha256: str
) -> None:
    folder = archive_folder(cluster, node, started_at, run_id)

    names = {
        manifest_object(folder),
        report_object(folder),
        report_object(folder, quarantined=True),
        staging_object(run_id, sha256),
    }
    assert len(names) == 4


def test_archived_names_day_is_that_of_utc() -> None:
    started_at = datetime(2026, 11, 30, 23, 30, 0, tzinfo=timezone(timedelta(hours=-8)))

    assert archive_folder("prod", "n1", started_at, RUN_ID).split("/")[3] == "2026-12-01"


@given(run_ids)
def test_events_of_a_run_have_an_id_each(run_id: str) -> None:
    types = [one for some in TYPES_BY_TOPIC.values() for one in some]

    assert len({event_id(run_id, one) for one in types}) == len(types)


@given(instants, triggers)
def test_reports_file_name_is_plain(collected_at: datetime, trigger: str) -> None:
    name = report_file_name(collected_at, trigger)

    assert re.fullmatch(r"[-0-9A-Za-z.]{1,79}", name)
    assert FILE_PATH.fullmatch("/" + name)


@given(clusters, nodes)
def test_cluster_and_node_names_are_recognised(cluster: str, node: str) -> None:
    assert CLUSTER_NAME.fullmatch(cluster)
    assert NODE_NAME.fullmatch(node)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a..b", "-a", "a-", "A", "a_b", "a\n", "a b", "é", "a%2fb", "x" * 254]
)
def test_text_that_could_lead_elsewhere_is_no_name(name: str) -> None:
    assert not NODE_NAME.fullmatch(name)
    assert not CLUSTER_NAME.fullmatch(name)


@pytest.mark.parametrize("path", ["", "a", "./a", "/a\nb", '/a"b', "/a\\b", "/a\x00", "/a\x7f", "/\ud800"])
def test_text_that_json_would_escape_is_no_path(path: str) -> None:
    assert not FILE_PATH.fullmatch(path)
