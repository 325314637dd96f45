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
    load_object,
)
from gpureport.contract.instants import format_instant
from gpureport.contract.keys import OUTPUT_BYTES_MAX, READ_BYTES_MAX
from gpureport.contract.names import FILE_PATH, RUN_ID, SHA256
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import COMPLETED, FAILED, Status

ARCHIVE_URI_BYTES_MAX = 1024
"""A bucket name has at most 63 characters, an object name of ours about 400."""

_ARCHIVE_URI = re.compile(r"gs://[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]/[-_./0-9A-Za-z]+")
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
        complete=report is not None and report.complete and ending.reason != "corrupt",
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
    """Write an output annotation; `ValueError` when it is longer than its cap, which no legal value is."""
    text = dump_object(_describe_output(output))
    if len(text.encode()) > OUTPUT_BYTES_MAX:
        raise ValueError(f"the output annotation would have {len(text.encode())} bytes, at most {OUTPUT_BYTES_MAX}")
    return text


def _read_output(value: Mapping[str, Any], *, is_previous: bool = False) -> Output:
    fields = FieldReader("output annotation", value)
    status = fields.take("status", as_word((COMPLETED, FAILED)))
    reason = fields.find("reason", as_word(REASONS))
    if (status == FAILED) is (reason is None):
        fields.reject("reason", "a failed run has one, a completed run has none")
    trigger = fields.take("trigger", as_word(TRIGGERS))
    file_path = fields.find("filePath", as_text(FILE_PATH))
    file_size_bytes = fields.find("fileSizeBytes", as_integer)
    complete = fields.take("complete", as_flag)
    duration_s = fields.find("durationSeconds", as_seconds)
    collected_at = fields.find("collectedAt", as_instant)
    run_id = fields.find("runId", as_text(RUN_ID))
    mode = fields.find("mode", as_word(MODES))
    sha256 = fields.find("sha256", as_text(SHA256))
    archived = _read_archived(fields)
    late = fields.find("late", as_flag)
    previous = fields.find("previous", as_object)
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
        previous=None if previous is None or is_previous else _read_output(previous, is_previous=True),
        unknown=unknown,
    )


def _read_archived(fields: FieldReader) -> Archived | None:
    archive_uri = fields.find("archiveUri", as_text(_ARCHIVE_URI))
    if archive_uri is not None and len(archive_uri) > ARCHIVE_URI_BYTES_MAX:
        fields.reject("archiveUri", f"longer than {ARCHIVE_URI_BYTES_MAX} bytes")
    archive_generation = fields.find("archiveGeneration", as_text(_GENERATION))
    archived_at = fields.find("archivedAt", as_instant)
    if archived_at is None:
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
    return {name: member for name, member in members.items() if member is not None}
