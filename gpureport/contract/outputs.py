"""The output annotation: what became of one run, for whoever asked for it.

The top describes one run; a result for the run before it goes to `previous` and touches nothing else.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from gpureport.contract.claims import MODES, TRIGGERS, Claim
from gpureport.contract.fields import (
    ContractError,
    FieldReader,
    as_flag,
    as_instant,
    as_integer,
    as_object,
    as_seconds,
    as_text,
    as_word,
    dump_object,
    format_seconds,
    leave_out_absent,
    load_object,
)
from gpureport.contract.instants import format_instant
from gpureport.contract.keys import OUTPUT_BYTES_MAX, READ_BYTES_MAX
from gpureport.contract.names import FILE_PATH, FILE_PATH_BYTES_MAX, RUN_ID, SHA256
from gpureport.contract.reasons import ANY_REASON
from gpureport.contract.statuses import COMPLETED, FAILED, Status

ARCHIVE_URI_BYTES_MAX = 1024
"""A bucket name with dots has at most 222 characters, an object name of ours about 400."""

_ARCHIVE_URI = re.compile(r"gs://[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]/[-_./0-9A-Za-z]+")
_REASONS_AGAINST_BYTES = frozenset({"corrupt", "incomplete", "too-large", "no-report"})
"""Endings that say that the report itself is not whole, whatever the agent saw on its disk."""

_GENERATION = re.compile(r"[0-9]{1,20}")


class Archived(NamedTuple):
    """Where a run is on record: the manifest's instant, and the report's URI and generation if there is one."""

    archived_at: datetime
    archive_uri: str | None = None
    archive_generation: str | None = None


class Output(NamedTuple):
    """One run's result; `status` is `completed` or `failed`."""

    status: str
    trigger: str
    complete: bool
    reason: str | None = None
    file_path: str | None = None
    file_size_bytes: int | None = None
    duration_s: float | None = None
    collected_at: datetime | None = None
    run_id: str | None = None
    mode: str | None = None
    sha256: str | None = None
    archived: Archived | None = None
    late: bool = False
    previous: "Output | None" = None
    unknown: Mapping[str, Any] = {}

    def is_on_record(self, run_id: str) -> bool:
        """Say whether the archive has that run, by this output or by its `previous`."""
        for output in (self, self.previous):
            if output is not None and output.run_id == run_id and output.archived is not None:
                return True
        return False


def build_output(claim: Claim, ending: Status, archived: Archived | None = None, *, late: bool = False) -> Output:
    """Describe the end of a run from its claim; `ending` is terminal."""
    result, report = claim.result, claim.report
    return Output(
        status=ending.word,
        reason=ending.reason,
        trigger=claim.trigger,
        file_path=None if result is None or report is None else result.file_path,
        file_size_bytes=None if report is None else report.size_bytes,
        complete=report is not None and report.complete and ending.reason not in _REASONS_AGAINST_BYTES,
        duration_s=None if result is None else result.duration_s,
        collected_at=None if result is None or report is None else result.collected_at,
        run_id=claim.run_id,
        mode=None if result is None else result.mode,
        sha256=None if report is None else report.sha256,
        archived=archived,
        late=late,
    )


def parse_output(text: str | bytes) -> Output:
    """Read an output annotation; `ContractError` with every fault."""
    return _read_output(load_object("output annotation", text, READ_BYTES_MAX))


def find_output(text: str | None) -> Output | None:
    """Read an output annotation that may be absent or another tool's: None then."""
    if text is None:
        return None
    try:
        return parse_output(text)
    except ContractError:
        return None


def format_output(output: Output) -> str:
    """Write an output annotation; what is unknown is left out when it would not fit.

    `ValueError` when the rest is longer than the cap, which no legal value is.
    """
    text = dump_object(_describe_output(output))
    if len(text.encode()) > OUTPUT_BYTES_MAX:
        previous = None if output.previous is None else output.previous._replace(unknown={})
        text = dump_object(_describe_output(output._replace(previous=previous, unknown={})))
    if len(text.encode()) > OUTPUT_BYTES_MAX:
        raise ValueError(f"the output annotation would have {len(text.encode())} bytes, at most {OUTPUT_BYTES_MAX}")
    return text


def _read_output(value: Mapping[str, Any], *, is_previous: bool = False) -> Output:
    fields = FieldReader("output annotation", value)
    status = fields.take("status", as_word((COMPLETED, FAILED)))
    reason = (fields.take if status == FAILED else fields.find)("reason", as_text(ANY_REASON))
    if status == COMPLETED and reason is not None:
        fields.reject("reason", "a completed run has none")
    trigger = fields.take("trigger", as_word(TRIGGERS))
    file_path = fields.find("filePath", as_text(FILE_PATH, FILE_PATH_BYTES_MAX))
    file_size_bytes = fields.find("fileSizeBytes", as_integer)
    complete = fields.take("complete", as_flag)
    duration_s = fields.find("durationSeconds", as_seconds)
    collected_at = fields.find("collectedAt", as_instant)
    run_id = fields.find("runId", as_text(RUN_ID))
    mode = fields.find("mode", as_word(MODES))
    sha256 = fields.find("sha256", as_text(SHA256))
    archived = _read_archived(fields)
    late = fields.find("late", as_flag)
    previous = fields.find("previous", _skip_previous if is_previous else _read_previous)
    unknown = fields.finish()
    return Output(
        status=status,
        trigger=trigger,
        complete=complete,
        reason=reason,
        file_path=file_path,
        file_size_bytes=file_size_bytes,
        duration_s=duration_s,
        collected_at=collected_at,
        run_id=run_id,
        mode=mode,
        sha256=sha256,
        archived=archived,
        late=bool(late),
        previous=previous,
        unknown=unknown,
    )


def _read_previous(value: object) -> Output:
    return _read_output(as_object(value), is_previous=True)


def _skip_previous(value: object) -> None:
    """Leave out what a previous output says of one before it: one at most is kept."""


def _read_archived(fields: FieldReader) -> Archived | None:
    archive_uri = fields.find("archiveUri", as_text(_ARCHIVE_URI, ARCHIVE_URI_BYTES_MAX))
    archive_generation = fields.find("archiveGeneration", as_text(_GENERATION))
    archived_at = fields.find("archivedAt", as_instant)
    if (archive_uri is None) is not (archive_generation is None):
        fields.reject("archiveUri", "it and archiveGeneration stand together or not at all")
    if archived_at is None:
        if archive_uri is not None:
            fields.reject("archivedAt", "missing beside archiveUri")
        return None
    return Archived(archived_at, archive_uri, archive_generation)


def _describe_output(output: Output) -> dict[str, Any]:
    archived = output.archived
    members = {
        "status": output.status,
        "reason": output.reason,
        "trigger": output.trigger,
        "filePath": output.file_path,
        "fileSizeBytes": output.file_size_bytes,
        "complete": output.complete,
        "durationSeconds": None if output.duration_s is None else format_seconds(output.duration_s),
        "collectedAt": None if output.collected_at is None else format_instant(output.collected_at),
        "runId": output.run_id,
        "mode": output.mode,
        "sha256": output.sha256,
        "archiveUri": None if archived is None else archived.archive_uri,
        "archiveGeneration": None if archived is None else archived.archive_generation,
        "archivedAt": None if archived is None else format_instant(archived.archived_at),
        "late": True if output.late else None,
        "previous": None if output.previous is None else _describe_output(output.previous._replace(previous=None)),
        **output.unknown,
    }
    return leave_out_absent(members)
