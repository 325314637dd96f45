"""The two records of the ledger as JSON: the run at work, and a parcel of the outbox.

A record of a newer schema is left alone; a damaged one is an error that names every fault.
"""

import re
from datetime import datetime
from typing import NamedTuple

from agent.handshake.runs import DONE, PHASES, Run, ScriptProcess
from agent.ledger.files import FILE_BYTES_MAX
from gpureport.contract.claims import Claim, describe_claim, read_claim
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
    load_object,
)
from gpureport.contract.instants import format_instant

SCHEMA = 1

_ANY_TEXT = re.compile(r"[^\x00]{0,4096}")


class NewerRecord(ContractError):
    """A record of a newer agent; `is_done` says whether that one has finished with it."""

    def __init__(self, what: str, schema: int, *, is_done: bool) -> None:
        self.is_done = is_done
        super().__init__(what, [f"schema: {schema} is newer than {SCHEMA}"])


class Parcel(NamedTuple):
    """One run on its way to the archive; `file_path` is the report's path on the host, None without a report.

    `is_delivered` says that it was staged and published once: from then on the archive has had its chance.
    """

    claim: Claim
    file_path: str | None
    put_at: datetime
    is_delivered: bool = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.claim.run_id


def format_run(run: Run) -> bytes:
    """Write the record of a run."""
    script = run.script
    members = {
        "schema": SCHEMA,
        "phase": run.phase,
        "servedLabel": run.served_label,
        "deaths": run.deaths,
        "scriptSessionId": None if script is None else script.session_id,
        "scriptStartTicks": None if script is None else script.start_ticks,
        "startedSeconds": run.started_s,
        "scriptDeadlineSeconds": run.script_deadline_s,
        "reportPath": run.report_path,
        "claim": describe_claim(run.claim),
    }
    return dump_object(members).encode()


def parse_run(data: bytes) -> Run:
    """Read the record of a run; `NewerRecord`, or `ContractError` with every fault."""
    fields = _open("run record", data)
    phase = fields.take("phase", as_word(PHASES))
    served_label = fields.find("servedLabel", as_text(_ANY_TEXT))
    deaths = fields.take("deaths", as_integer)
    session_id = fields.find("scriptSessionId", as_integer)
    start_ticks = fields.find("scriptStartTicks", as_integer)
    started_s = fields.find("startedSeconds", as_monotonic)
    script_deadline_s = fields.find("scriptDeadlineSeconds", as_monotonic)
    report_path = fields.find("reportPath", as_text(_ANY_TEXT))
    claim = fields.take("claim", as_object)
    fields.finish()
    script = None if session_id is None or start_ticks is None else ScriptProcess(session_id, start_ticks)
    return Run(phase, read_claim(claim), served_label, deaths, script, started_s, script_deadline_s, report_path)


def format_parcel(parcel: Parcel) -> bytes:
    """Write a parcel of the outbox."""
    members = {
        "schema": SCHEMA,
        "putAt": format_instant(parcel.put_at),
        "filePath": parcel.file_path,
        "delivered": True if parcel.is_delivered else None,
        "claim": describe_claim(parcel.claim),
    }
    return dump_object(members).encode()


def parse_parcel(data: bytes) -> Parcel:
    """Read a parcel of the outbox; `NewerRecord`, or `ContractError` with every fault."""
    fields = _open("outbox parcel", data)
    put_at = fields.take("putAt", as_instant)
    file_path = fields.find("filePath", as_text(_ANY_TEXT))
    is_delivered = fields.find("delivered", as_flag)
    claim = fields.take("claim", as_object)
    fields.finish()
    return Parcel(read_claim(claim), file_path, put_at, bool(is_delivered))


def as_monotonic(value: object) -> float:
    """Read an instant of a monotonic clock in seconds: a duration since the boot."""
    return as_seconds(value)


def _open(what: str, data: bytes) -> FieldReader:
    value = load_object(what, data, FILE_BYTES_MAX)
    schema = value.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise NewerRecord(what, schema, is_done=value.get("phase") == DONE)
    fields = FieldReader(what, value)
    fields.take("schema", as_integer)
    return fields
