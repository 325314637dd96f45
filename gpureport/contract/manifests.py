"""The manifest of a run in the archive: the commit point, written once and never changed.

It says where the run came from, what the agent stated, what the archive found, and in which status the run ends.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gpureport.contract.claims import OUTCOMES, Claim, describe_claim, read_claim, refuse_newer, without_unknown
from gpureport.contract.fields import (
    FieldReader,
    as_flag,
    as_integer,
    as_object,
    as_text,
    as_word,
    leave_out_absent,
    load_object,
)
from gpureport.contract.names import CLUSTER_NAME, NODE_NAME, SHA256
from gpureport.contract.statuses import COMPLETED, Status, format_status, parse_status

SCHEMA = 1
MANIFEST_BYTES_MAX = 64 * 1024
"""A claim of 4 KiB and the facts of one report; a longer manifest is not ours."""

_ANY_TEXT = re.compile(r".{0,300}")
_OBJECT_NAME = re.compile(r"[-_./0-9A-Za-z]{1,1000}")
_NUMBER = re.compile(r"[0-9]{1,20}")


class Origin(NamedTuple):
    """Where a run came from; `cluster_uid` is the uid of the kube-system Namespace, empty members are not known."""

    cluster: str
    node: str
    project: str = ""
    location: str = ""
    cluster_uid: str = ""


class ArchivedReport(NamedTuple):
    """The archived bytes, and what a judge found in them; `facts` is what the report says of itself."""

    bucket: str
    name: str
    generation: str
    size_bytes: int
    sha256: str
    crc32c: str
    outcome: str
    members: int
    raw_bytes: int
    facts: Mapping[str, Any] = {}


class Manifest(NamedTuple):
    """One run on record; `ending` is the terminal status that write_status brings to the Node."""

    origin: Origin
    claim: Claim
    ending: Status
    report: ArchivedReport | None = None


def format_manifest(manifest: Manifest) -> bytes:
    """Write a manifest: indented JSON, for people read it too; what is unknown is left out when it would not fit.

    `ValueError` for an ending that we do not write, and when the rest is longer than `MANIFEST_BYTES_MAX`: nobody could
    read it again.
    """
    if not manifest.ending.is_terminal:
        raise ValueError(f"{manifest.ending!r} is no ending of a run")
    data = _encode(manifest)
    if len(data) > MANIFEST_BYTES_MAX:
        data = _encode(manifest._replace(claim=without_unknown(manifest.claim)))
    if len(data) > MANIFEST_BYTES_MAX:
        raise ValueError(f"the manifest would have {len(data)} bytes, at most {MANIFEST_BYTES_MAX}")
    return data


def _encode(manifest: Manifest) -> bytes:
    origin, report = manifest.origin, manifest.report
    members: dict[str, Any] = {
        "schema": SCHEMA,
        "attested": True,
        "project": origin.project or None,
        "location": origin.location or None,
        "cluster": origin.cluster,
        "clusterUid": origin.cluster_uid or None,
        "node": origin.node,
        "status": format_status(manifest.ending),
        "run": describe_claim(manifest.claim._replace(previous=None)),
        "report": None if report is None else _describe_report(report),
    }
    return (json.dumps(leave_out_absent(members), ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest; `ContractError` with every fault, `NewerSchema` for a schema above ours."""
    value = load_object("manifest", data, MANIFEST_BYTES_MAX)
    refuse_newer("manifest", SCHEMA, value, value.get("run"))
    fields = FieldReader("manifest", value)
    if fields.take("schema", as_integer) == 0:
        fields.reject("schema", "0 is no schema")
    fields.take("attested", as_flag)
    project = fields.find("project", as_text(_ANY_TEXT))
    location = fields.find("location", as_text(_ANY_TEXT))
    cluster = fields.take("cluster", as_text(CLUSTER_NAME))
    cluster_uid = fields.find("clusterUid", as_text(_ANY_TEXT))
    node = fields.take("node", as_text(NODE_NAME))
    ending = fields.take("status", _as_ending)
    claim = fields.take("run", _as_claim)
    report = fields.find("report", _read_report)
    fields.finish()
    return Manifest(
        origin=Origin(cluster, node, project or "", location or "", cluster_uid or ""),
        claim=claim,
        ending=ending,
        report=report,
    )


def _as_ending(value: object) -> Status:
    status = parse_status(value) if isinstance(value, str) else None
    if status == Status(COMPLETED) or (status is not None and status.is_terminal and status.reason is not None):
        return status
    raise ValueError("no ending of a run")


def _as_claim(value: object) -> Claim:
    return read_claim(as_object(value))


def _describe_report(report: ArchivedReport) -> dict[str, Any]:
    return {
        "bucket": report.bucket,
        "name": report.name,
        "generation": report.generation,
        "sizeBytes": report.size_bytes,
        "sha256": report.sha256,
        "crc32c": report.crc32c,
        "outcome": report.outcome,
        "members": report.members,
        "rawBytes": report.raw_bytes,
        "facts": dict(report.facts),
    }


def _read_report(value: object) -> ArchivedReport:
    fields = FieldReader("report", as_object(value))
    bucket = fields.take("bucket", as_text(_OBJECT_NAME))
    name = fields.take("name", as_text(_OBJECT_NAME))
    generation = fields.take("generation", as_text(_NUMBER))
    size_bytes = fields.take("sizeBytes", as_integer)
    sha256 = fields.take("sha256", as_text(SHA256))
    crc32c = fields.take("crc32c", as_text(_ANY_TEXT))
    outcome = fields.take("outcome", as_word(OUTCOMES))
    members = fields.take("members", as_integer)
    raw_bytes = fields.take("rawBytes", as_integer)
    facts = fields.take("facts", as_object)
    fields.finish()
    return ArchivedReport(bucket, name, generation, size_bytes, sha256, crc32c, outcome, members, raw_bytes, facts)
