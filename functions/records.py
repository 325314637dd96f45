"""What does the archive have on record of a run? Finds its manifest, and words the events that tell of it.

Names are computed from the claim. When a manifest is written is decided in `archiving`.
"""

import json
from datetime import datetime
from typing import Any, NamedTuple

from gpureport.contract.claims import COMPLETE, Claim
from gpureport.contract.events import REPORT_REJECTED, Event, build_run_event
from gpureport.contract.fields import ContractError
from gpureport.contract.manifests import MANIFEST_BYTES_MAX, Manifest, Origin, parse_manifest
from gpureport.contract.names import archive_folder, archive_uri, manifest_object
from gpureport.contract.outputs import Archived, Output, build_output, format_output
from gpureport.contract.statuses import Status, format_status
from gpureport.ports import ObjectReader, StoredObject


class Record(NamedTuple):
    """A manifest and the object that holds it."""

    manifest: Manifest
    stored: StoredObject

    @property
    def archived(self) -> Archived:
        """Where the run is on record; the instant is the store's, whole seconds as everywhere."""
        report = self.manifest.report
        at = self.stored.created_at.replace(microsecond=0)
        if report is None:
            return Archived(at)
        return Archived(at, archive_uri(report.bucket, report.name), report.generation)


def find_folder(origin: Origin, run: Claim) -> str:
    """Name the folder of a run in the archive."""
    return archive_folder(origin.cluster, origin.node, run.started_at, run.run_id)


def find_record(archive: ObjectReader, origin: Origin, run: Claim) -> Record | None:
    """Read a run's manifest; None when there is none, `ContractError` when what is there is not that run's."""
    stored = archive.stat(manifest_object(find_folder(origin, run)))
    if stored is None:
        return None
    if stored.size_bytes > MANIFEST_BYTES_MAX:
        raise ContractError("manifest", [f"{stored.size_bytes} bytes, at most {MANIFEST_BYTES_MAX} are read"])
    manifest = parse_manifest(b"".join(archive.read(stored)))
    stated = (manifest.origin.cluster, manifest.origin.node, manifest.claim.run_id, manifest.claim.node_uid)
    if stated != (origin.cluster, origin.node, run.run_id, run.node_uid):
        raise ContractError("manifest", ["of another run, or another Node"])
    try:
        format_status(manifest.ending)
    except ValueError:
        raise ContractError("manifest", ["status: not one that we write"]) from None
    return Record(manifest, stored)


def build_record_output(record: Record, ending: Status, *, late: bool = False) -> Output:
    """Describe a run on record for the Node and for subscribers; whole only when the archive found it whole too."""
    manifest = record.manifest
    output = build_output(manifest.claim, ending, record.archived, late=late)
    is_whole = manifest.report is not None and manifest.report.outcome == COMPLETE
    return output._replace(complete=output.complete and is_whole)


def build_record_event(event_type: str, record: Record, output: Output) -> Event:
    """Build `report.archived` or `report.finished`: the same bytes at each republish of the same record."""
    data: dict[str, Any] = json.loads(format_output(output._replace(previous=None, unknown={})))
    data["manifestUri"] = archive_uri(record.stored.bucket, record.stored.name)
    return build_run_event(
        event_type,
        cluster=record.manifest.origin.cluster,
        node=record.manifest.origin.node,
        run_id=record.manifest.claim.run_id,
        at=record.stored.created_at,
        data=data,
        reason=output.reason,
    )


def build_rejected_event(origin: Origin, run_id: str, at: datetime, reason: str, message: str) -> Event:
    """Build `report.rejected`: the run's report could not be put on record, and why."""
    return build_run_event(
        REPORT_REJECTED,
        cluster=origin.cluster,
        node=origin.node,
        run_id=run_id,
        at=at,
        data={"runId": run_id, "reason": reason, "message": message},
        reason=reason,
    )
