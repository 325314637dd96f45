"""How does a run get on record? Examine what is staged, copy it, write the manifest, tell, tidy up.

Every step can be repeated and finds what an earlier try left: names are computed, objects are only ever created, and
the manifest comes last. Which runs this is done for is decided by the callers.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from functions.outcomes import Answer, Outcome, rejected
from functions.records import (
    Record,
    build_record_event,
    build_record_output,
    build_rejected_event,
    find_folder,
    find_record,
)
from gpureport.contract.claims import CORRUPT, NONE, Claim, ReportEvidence, RunResult
from gpureport.contract.endings import Verdict, decide_ending, decide_outcome
from gpureport.contract.events import REPORT_ARCHIVED
from gpureport.contract.manifests import ArchivedReport, Manifest, Origin, format_manifest
from gpureport.contract.names import manifest_object, report_object, staging_object
from gpureport.ports import ObjectReader, ObjectRemover, ObjectWriter, Publisher, Refused, StoredObject, Unavailable
from gpureport.report.judge import Judge, Judgement

STAGED_BYTES_MAX = 256 * 1024 * 1024
"""The largest report that an agent keeps; a longer object is not read. The same bound as `report.judge.Limits`."""

REPORT_CONTENT_TYPE = "application/gzip"
MANIFEST_CONTENT_TYPE = "application/json"


class Staging(ObjectReader, ObjectRemover, Protocol):
    """The bucket that agents fill."""


class Archive(ObjectReader, ObjectWriter, Protocol):
    """The bucket with retention: nothing in it is replaced or deleted."""


class ArchivePorts(NamedTuple):
    """What archiving needs of the world."""

    staging: Staging
    archive: Archive
    publisher: Publisher
    results_topic: str
    build_judge: Callable[[], Judge]


class Examined(NamedTuple):
    """What the staged bytes are, by one pass over them."""

    sha256: str
    size_bytes: int
    judgement: Judgement


class _Case(NamedTuple):
    """One run with its result, at the instant that its Node was read."""

    origin: Origin
    run: Claim
    result: RunResult
    served_at: datetime


def archive_run(origin: Origin, run: Claim, served_at: datetime, ports: ArchivePorts) -> Answer:
    """Put one run on record as its claim states it, and tell; a run on record already is only told again.

    Raises `Unavailable` or `Refused`; whatever was done until then is found and used by the next call. Memory does
    not grow with the report.
    """
    record = find_record(ports.archive, origin, run)
    if record is not None:
        return _repeat(record, ports)
    if run.result is None or (run.report is None and run.result.outcome != NONE):
        return rejected("no-evidence", "the Node states no result of that run yet")
    case = _Case(origin, run, run.result, served_at)
    if run.report is None:
        return _commit(case, Verdict(NONE), None, None, ports)
    try:
        return _archive_report(case, run.report, ports)
    except Refused:
        # What was staged may have been archived and removed by another delivery while this one read it.
        record = find_record(ports.archive, origin, run)
        if record is None:
            raise
        return _repeat(record, ports)


def examine(chunks: Iterator[bytes], judge: Judge) -> Examined:
    """Hash and judge a report in one pass."""
    sha256 = hashlib.sha256()
    size_bytes = 0
    for chunk in chunks:
        sha256.update(chunk)
        judge.feed(chunk)
        size_bytes += len(chunk)
    return Examined(sha256.hexdigest(), size_bytes, judge.finish())


def _archive_report(case: _Case, evidence: ReportEvidence, ports: ArchivePorts) -> Answer:
    staged = _find_staged(case, evidence, ports)
    if isinstance(staged, Answer):
        return staged
    examined = examine(ports.staging.read(staged), ports.build_judge())
    if (examined.sha256, examined.size_bytes) != (evidence.sha256, evidence.size_bytes):
        return _remove_foreign(case, staged, f"the SHA-256 of what is staged is {examined.sha256}", ports)
    return _archive_examined(case, staged, examined, ports)


def _find_staged(case: _Case, evidence: ReportEvidence, ports: ArchivePorts) -> StoredObject | Answer:
    """Pin the staged object of that evidence, at the name computed from it."""
    if evidence.size_bytes > STAGED_BYTES_MAX:
        return _reject(case, "too-large", f"{evidence.size_bytes} bytes, at most {STAGED_BYTES_MAX}", ports)
    staged = ports.staging.stat(staging_object(case.run.run_id, evidence.sha256))
    if staged is None:
        return rejected("not-staged", "the report is not in the staging bucket; the agent stages it again")
    if staged.size_bytes != evidence.size_bytes:
        return _remove_foreign(case, staged, f"{staged.size_bytes} bytes are staged", ports)
    return staged


def _remove_foreign(case: _Case, staged: StoredObject, message: str, ports: ArchivePorts) -> Answer:
    """Make room for the agent's report: bytes that are not what their name says are nobody's evidence."""
    ports.staging.delete(staged)
    return _reject(case, "evidence-mismatch", f"{message}; it is removed, and the agent stages the report again", ports)


def _archive_examined(case: _Case, staged: StoredObject, examined: Examined, ports: ArchivePorts) -> Answer:
    verdict = examined.judgement.verdict
    outcome = decide_outcome(case.result, verdict)
    if outcome == NONE:
        return _commit(case, verdict, staged, None, ports)
    name = report_object(find_folder(case.origin, case.run), quarantined=outcome == CORRUPT)
    copied = _ensure_copy(staged, name, ports.archive)
    if copied is None:
        return _reject(case, "archive-conflict", "other bytes have the report's name in the archive", ports)
    return _commit(case, verdict, staged, _describe_report(copied, examined), ports)


def _ensure_copy(staged: StoredObject, name: str, archive: Archive) -> StoredObject | None:
    """Have the staged bytes under that name; None when other bytes are there."""
    copied = archive.copy_from(staged, name, REPORT_CONTENT_TYPE)
    if copied is None:
        copied = archive.stat(name)
    if copied is None:
        raise Unavailable(f"gs://{staged.bucket}/{staged.name}: the copy was taken and gone in one moment")
    is_equal = (copied.size_bytes, copied.crc32c) == (staged.size_bytes, staged.crc32c)
    return copied if is_equal else None


def _describe_report(copied: StoredObject, examined: Examined) -> ArchivedReport:
    judgement = examined.judgement
    return ArchivedReport(
        bucket=copied.bucket,
        name=copied.name,
        generation=str(copied.generation),
        size_bytes=copied.size_bytes,
        sha256=examined.sha256,
        crc32c=copied.crc32c,
        outcome=judgement.verdict.outcome,
        members=judgement.members,
        raw_bytes=judgement.raw_bytes,
        facts=judgement.facts,
    )


def _commit(
    case: _Case, verdict: Verdict, staged: StoredObject | None, report: ArchivedReport | None, ports: ArchivePorts
) -> Answer:
    """Write the manifest: from here on the run is on record. Then tell, and only then remove what was staged."""
    manifest = Manifest(case.origin, case.run, decide_ending(case.result, verdict), report)
    name = manifest_object(find_folder(case.origin, case.run))
    stored = ports.archive.create(name, format_manifest(manifest), MANIFEST_CONTENT_TYPE)
    if stored is None:
        record = find_record(ports.archive, case.origin, case.run)
        if record is None:
            raise Unavailable(f"{name}: taken and gone in one moment")
        return _repeat(record, ports)
    record = Record(manifest, stored)
    _tell(record, ports)
    kept = "" if staged is None else _remove_staged(staged, ports)
    fields: dict[str, str | int] = {
        "status": manifest.ending.word,
        "sizeBytes": 0 if report is None else report.size_bytes,
    }
    return Answer(Outcome.DONE, manifest.ending.reason, kept, fields, is_error=bool(kept))


def _repeat(record: Record, ports: ArchivePorts) -> Answer:
    """Tell again of a run on record, and see that its staged object is gone."""
    _tell(record, ports)
    claim, kept = record.manifest.claim, ""
    if claim.report is not None:
        staged = ports.staging.stat(staging_object(claim.run_id, claim.report.sha256))
        kept = "" if staged is None else _remove_staged(staged, ports)
    return Answer(Outcome.DUPLICATE, None, kept or "the run is on record already", is_error=bool(kept))


def _remove_staged(staged: StoredObject, ports: ArchivePorts) -> str:
    """Remove what is archived from staging; a refusal (a hold, a permission) is said and not retried.

    Returns the sentence to say; empty when it is gone.
    """
    try:
        ports.staging.delete(staged)
    except Refused as error:
        return f"the run is on record, but gs://{staged.bucket}/{staged.name} stays: {error}"
    return ""


def _tell(record: Record, ports: ArchivePorts) -> None:
    output = build_record_output(record, record.manifest.ending)
    ports.publisher.publish(ports.results_topic, build_record_event(REPORT_ARCHIVED, record, output))


def _reject(case: _Case, reason: str, message: str, ports: ArchivePorts) -> Answer:
    """Tell that the run's report cannot be put on record, and why."""
    event = build_rejected_event(case.origin, case.run.run_id, case.served_at, reason, message)
    ports.publisher.publish(ports.results_topic, event)
    return rejected(reason, message)
