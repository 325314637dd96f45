"""What the agent remembers across its own death: the run at work and the outbox, in `<reports-dir>/.state`.

What is made of them after a restart is decided in `agent.handshake.restart`.
"""

import errno
import os
from collections.abc import Callable, Iterator

from agent.handshake.runs import Run
from agent.ledger import files
from agent.ledger.records import NewerRecord, Parcel, format_parcel, format_run, parse_parcel, parse_run
from gpureport.contract.fields import ContractError
from gpureport.contract.names import RUN_ID

STATE_FOLDER = ".state"
RUN_FILE = "run.json"
OUTBOX_FOLDER = "outbox"
RESERVE_FILE = "reserve"

RESERVE_BYTES = 64 * 1024
"""Room that is given up when the disk is full: enough for the records of a run, several times over."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk, or a full quota, answers."""

OUTBOX_MAX = 64
"""Parcels read at a start. A run makes one, so more than a few mean that nothing is delivered for days."""

Report = Callable[[str], None]
"""Says one sentence about a file that was set aside or left alone."""


class Ledger:
    """The run record and the outbox of one node. Every method may raise `OSError`."""

    def __init__(self, reports_folder: str, report: Report) -> None:
        self.folder = os.path.join(reports_folder, STATE_FOLDER)
        self._outbox = os.path.join(self.folder, OUTBOX_FOLDER)
        self._report = report

    def prepare(self) -> None:
        """Make the folders inside the reports folder, which must be there and ours."""
        for folder in (self.folder, self._outbox):
            aside = files.ensure_folder(folder)
            if aside is not None:
                self._report(f"{aside}: was no folder")
        self.ensure_reserve()

    def ensure_reserve(self) -> None:
        """Lay by the room that a record needs when the disk is full. Never raises."""
        files.ensure_reserve(self.folder, RESERVE_FILE, RESERVE_BYTES)

    def read_run(self) -> Run | None:
        """Read the run record; None when there is none, or something damaged, which is set aside.

        `NewerRecord` for a newer agent's unfinished run, which is to be left alone.
        """
        data = self._read(self.folder, RUN_FILE)
        if data is None:
            return None
        try:
            return parse_run(data)
        except NewerRecord as newer:
            if newer.is_done:
                return None
            raise
        except ContractError as error:
            self._report(f"{files.set_aside(self.folder, RUN_FILE)}: {error}")
            return None

    def write_run(self, run: Run) -> None:
        """Write the run record; on disk when this returns."""
        self._write(self.folder, RUN_FILE, format_run(run))

    def forget_run(self) -> None:
        """Remove the run record."""
        files.remove(self.folder, RUN_FILE)

    def read_outbox(self) -> Iterator[Parcel]:
        """Read the outbox, at most `OUTBOX_MAX` parcels; damaged ones are set aside, newer ones left alone."""
        names = sorted(name for name in os.listdir(self._outbox) if _is_parcel(name))
        if len(names) > OUTBOX_MAX:
            self._report(f"{len(names)} parcels in the outbox, {OUTBOX_MAX} are looked at")
        for name in names[:OUTBOX_MAX]:
            data = self._read(self._outbox, name)
            if data is None:
                continue
            try:
                yield parse_parcel(data)
            except NewerRecord as newer:
                self._report(f"{name}: {newer}")
            except ContractError as error:
                self._report(f"{files.set_aside(self._outbox, name)}: {error}")

    def find_parcel(self, run_id: str) -> Parcel | None:
        """Read one run's parcel; None when there is none that can be read."""
        data = self._read(self._outbox, f"{run_id}.json")
        try:
            return None if data is None else parse_parcel(data)
        except ContractError:
            return None

    def put_parcel(self, parcel: Parcel) -> None:
        """Put a run into the outbox; on disk when this returns."""
        self._write(self._outbox, f"{parcel.run_id}.json", format_parcel(parcel))

    def drop_parcel(self, run_id: str) -> None:
        """Take a run out of the outbox; no error when it is gone already."""
        files.remove(self._outbox, f"{run_id}.json")

    def _read(self, folder: str, name: str) -> bytes | None:
        try:
            return files.read_bounded(folder, name)
        except files.NotAFile as error:
            self._report(f"{files.set_aside(folder, name)}: {error}")
            return None

    def _write(self, folder: str, name: str, data: bytes) -> None:
        try:
            files.write_atomically(folder, name, data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            files.remove(self.folder, RESERVE_FILE)
            files.write_atomically(folder, name, data)


def _is_parcel(name: str) -> bool:
    stem, dot, ending = name.partition(".")
    return (dot, ending) == (".", "json") and RUN_ID.fullmatch(stem) is not None
