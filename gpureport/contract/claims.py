"""The run annotation: the claim of one run, and later its evidence (`result` and `report`).

Which run may be claimed when is the agent's business; what is archived of it the functions'.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

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
    shorten,
)
from gpureport.contract.instants import format_instant
from gpureport.contract.keys import READ_BYTES_MAX, RUN_BYTES_MAX
from gpureport.contract.names import AGENT_VERSION, FILE_PATH, FILE_PATH_BYTES_MAX, RUN_ID, SHA256, UUID
from gpureport.contract.reasons import ANY_REASON

SCHEMA = 1

MANUAL = "manual"
AUTOMATIC = "automatic"
TRIGGERS = (MANUAL, AUTOMATIC)

OWN = "own"
ADOPT = "adopt"
EXECUTORS = (OWN, ADOPT)

COMPLETE = "complete"
PARTIAL = "partial"
CORRUPT = "corrupt"
NONE = "none"
OUTCOMES = (COMPLETE, PARTIAL, CORRUPT, NONE)
"""What came of a run, from best to worst."""

NORMAL = "normal"
SAFE = "safe"
MODES = (NORMAL, SAFE)

ATTEMPTS_MAX = 2
"""One normal attempt and, after a time-out, one in safe mode."""


class NewerSchema(ContractError):
    """A claim of a newer schema: to be left alone, not to be judged."""


class RunResult(NamedTuple):
    """What became of the script: written with the evidence, or with the failure of a run that never started."""

    outcome: str
    attempts: int
    duration_s: float
    reason: str | None = None
    mode: str | None = None
    file_path: str | None = None
    """The report's path on the host."""
    collected_at: datetime | None = None
    unknown: Mapping[str, Any] = {}


class ReportEvidence(NamedTuple):
    """The report that the node has: which attempt wrote it, its SHA-256 and size, and whether it is whole."""

    attempt: int
    sha256: str
    size_bytes: int
    complete: bool
    unknown: Mapping[str, Any] = {}


class Claim(NamedTuple):
    """One run as the Node states it; `unknown`, here and in its parts, keeps what a newer writer added."""

    run_id: str
    trigger: str
    executor: str
    node_uid: str
    boot_id: str
    started_at: datetime
    deadline_at: datetime
    agent_version: str
    result: RunResult | None = None
    report: ReportEvidence | None = None
    previous: "Claim | None" = None
    """The run before, while that one is not on record in the archive; it has no previous of its own."""
    unknown: Mapping[str, Any] = {}

    def find_run(self, run_id: str) -> "Claim | None":
        """Return the claim of that run id: this one, its previous one, or None."""
        if self.run_id == run_id:
            return self
        return self.previous if self.previous is not None and self.previous.run_id == run_id else None


def parse_claim(text: str | bytes) -> Claim:
    """Read a run annotation; `ContractError` with every fault, `NewerSchema` for a schema above ours."""
    return read_claim(load_object("run annotation", text, READ_BYTES_MAX))


def find_claim(text: str | None) -> Claim | None:
    """Read a run annotation that may be absent, another tool's or a newer schema's: None then."""
    if text is None:
        return None
    try:
        return parse_claim(text)
    except ContractError:
        return None


def format_claim(claim: Claim) -> str:
    """Write a run annotation; what is unknown is left out when it would not fit.

    `ValueError` when the rest is longer than the cap, which no legal value is.
    """
    text = dump_object(describe_claim(claim))
    if len(text.encode()) > RUN_BYTES_MAX:
        text = dump_object(describe_claim(without_unknown(claim)))
    if len(text.encode()) > RUN_BYTES_MAX:
        raise ValueError(f"the run annotation would have {len(text.encode())} bytes, at most {RUN_BYTES_MAX}")
    return text


def without_unknown(claim: Claim) -> Claim:
    """Return the claim as this version alone would write it."""
    return claim._replace(
        result=None if claim.result is None else claim.result._replace(unknown={}),
        report=None if claim.report is None else claim.report._replace(unknown={}),
        previous=None if claim.previous is None else without_unknown(claim.previous),
        unknown={},
    )


def read_claim(value: Mapping[str, Any], *, is_previous: bool = False) -> Claim:
    """Read a claim that stands inside another document (a manifest, a claim); the errors of `parse_claim`."""
    refuse_newer("run annotation", SCHEMA, value, value.get("previous"))
    fields = FieldReader("run annotation", value)
    if fields.take("schema", as_integer) == 0:
        fields.reject("schema", "0 is no schema")
    run_id = fields.take("runId", as_text(RUN_ID))
    trigger = fields.take("trigger", as_word(TRIGGERS))
    executor = fields.take("executor", as_word(EXECUTORS))
    node_uid = fields.take("nodeUid", as_text(UUID))
    boot_id = fields.take("bootId", as_text(UUID))
    started_at = fields.take("startedAt", as_instant)
    deadline_at = fields.take("deadlineAt", as_instant)
    agent_version = fields.take("agentVersion", as_text(AGENT_VERSION))
    result = fields.find("result", _read_result)
    report = fields.find("report", _read_report)
    previous = fields.find("previous", _skip_previous if is_previous else _read_previous)
    unknown = fields.finish()
    return Claim(
        run_id=run_id,
        trigger=trigger,
        executor=executor,
        node_uid=node_uid,
        boot_id=boot_id,
        started_at=started_at,
        deadline_at=deadline_at,
        agent_version=agent_version,
        result=result,
        report=report,
        previous=previous,
        unknown=unknown,
    )


def refuse_newer(what: str, schema: int, *objects: object) -> None:
    """Raise `NewerSchema` when one of the objects says that its schema is above `schema`."""
    for value in objects:
        stated = value.get("schema") if isinstance(value, Mapping) else None
        if isinstance(stated, int) and stated > schema:
            raise NewerSchema(what, [f"schema: {shorten(stated)} is newer than {schema}"])


def _read_previous(value: object) -> Claim:
    return read_claim(as_object(value), is_previous=True)


def _skip_previous(value: object) -> None:
    """Leave out what a previous claim says of one before it: one at most is kept."""


def _read_result(value: object) -> RunResult:
    fields = FieldReader("result", as_object(value))
    outcome = fields.take("outcome", as_word(OUTCOMES))
    reason = fields.find("reason", as_text(ANY_REASON))
    mode = fields.find("mode", as_word(MODES))
    attempts = fields.take("attempts", _as_attempts)
    file_path = fields.find("filePath", as_text(FILE_PATH, FILE_PATH_BYTES_MAX))
    duration_s = fields.take("durationSeconds", as_seconds)
    collected_at = fields.find("collectedAt", as_instant)
    unknown = fields.finish()
    return RunResult(outcome, attempts, duration_s, reason, mode, file_path, collected_at, unknown)


def _read_report(value: object) -> ReportEvidence:
    fields = FieldReader("report", as_object(value))
    attempt = fields.take("attempt", _as_attempts)
    sha256 = fields.take("sha256", as_text(SHA256))
    size_bytes = fields.take("sizeBytes", as_integer)
    complete = fields.take("complete", as_flag)
    unknown = fields.finish()
    return ReportEvidence(attempt, sha256, size_bytes, complete, unknown)


def _as_attempts(value: object) -> int:
    attempts = as_integer(value)
    if attempts > ATTEMPTS_MAX:
        raise ValueError(f"more than {ATTEMPTS_MAX}")
    return attempts


def describe_claim(claim: Claim) -> dict[str, Any]:
    """Turn a claim into the JSON object of the contract, members in its order."""
    members = {
        "schema": SCHEMA,
        "runId": claim.run_id,
        "trigger": claim.trigger,
        "executor": claim.executor,
        "nodeUid": claim.node_uid,
        "bootId": claim.boot_id,
        "startedAt": format_instant(claim.started_at),
        "deadlineAt": format_instant(claim.deadline_at),
        "agentVersion": claim.agent_version,
        "result": None if claim.result is None else _describe_result(claim.result),
        "report": None if claim.report is None else _describe_report(claim.report),
        "previous": None if claim.previous is None else describe_claim(claim.previous._replace(previous=None)),
        **claim.unknown,
    }
    return leave_out_absent(members)


def _describe_result(result: RunResult) -> dict[str, Any]:
    members = {
        "outcome": result.outcome,
        "reason": result.reason,
        "mode": result.mode,
        "attempts": result.attempts,
        "filePath": result.file_path,
        "durationSeconds": format_seconds(result.duration_s),
        "collectedAt": None if result.collected_at is None else format_instant(result.collected_at),
        **result.unknown,
    }
    return leave_out_absent(members)


def _describe_report(report: ReportEvidence) -> dict[str, Any]:
    return {
        "attempt": report.attempt,
        "sha256": report.sha256,
        "sizeBytes": report.size_bytes,
        "complete": report.complete,
        **report.unknown,
    }
