"""Where do reports lie on the node's disk: a private work folder while one is written, then one file per report.

A report gets its final name only when it is whole on disk: file and folder are synchronised around the rename.
Paths of the host are what the Node and the script see; `local` says where they lie for us. `OSError` passes through:
what a full or a broken disk means for a run is decided elsewhere.
"""

import os
import stat
from collections.abc import Iterable
from datetime import datetime

from agent.collector.host_paths import to_local
from gpureport.contract.names import report_file_name

WORK_FOLDER = ".work"
OUTPUT_NAME = "nvidia-bug-report.log"
"""Ends in `.log`: the script appends `.gz` by itself."""
FOLDER_MODE = 0o700
FILE_MODE = 0o600

WORK_ENTRIES_MAX = 10_000
"""Files of one run that are looked at for its output; a script that leaves more is not ours."""
SAME_NAMES_MAX = 100
"""Reports of one second and trigger; the lock lets one run at a time write here."""

_REPORT_PREFIX = "nvidia-bug-report-"
_REPORT_ENDING = ".log.gz"
_OUTPUT_ENDINGS = (".log.gz", ".log")
_REPLACED_ENDINGS = (".old.gz", ".old.log.gz", ".old")


class SpoolRefused(Exception):
    """The reports folder is not ours to write into: no folder, a link, somebody else's, or writable by others."""


class Spool:
    """The reports folder of one node; `reports_dir` is the host's path."""

    def __init__(self, host_root: str, reports_dir: str) -> None:
        self._host_root = host_root
        self.reports_dir = reports_dir.rstrip("/")
        self.work_dir = f"{self.reports_dir}/{WORK_FOLDER}"
        """The host's path of the folder that a script works in."""
        self.output_path = f"{self.work_dir}/{OUTPUT_NAME}"
        """The host's path that the script is told to write to."""

    def local(self, host_path: str) -> str:
        """Return where a path of the host lies for us."""
        return to_local(self._host_root, host_path)

    def prepare(self) -> None:
        """Make the reports folder and an empty work folder; `SpoolRefused` when it is not ours alone."""
        local = self.local(self.reports_dir)
        os.makedirs(os.path.dirname(local), exist_ok=True)
        try:
            os.mkdir(local, FOLDER_MODE)
        except FileExistsError:
            _check_folder(local)
        self.clear_work()
        os.mkdir(self.local(self.work_dir), FOLDER_MODE)

    def clear_work(self) -> None:
        """Remove the work folder and all that a script left in it."""
        work = self.local(self.work_dir)
        if os.path.lexists(work):
            remove_tree(work)

    def find_output(self) -> str | None:
        """Find what the script wrote, as a path of ours: the name with `.gz`, the name, else the newest that fits.

        Regular files alone count; None when there is none.
        """
        for path in (self.output_path + ".gz", self.output_path):
            if _is_regular(self.local(path)):
                return self.local(path)
        try:
            with os.scandir(self.local(self.work_dir)) as entries:
                fitting = [entry for entry, _ in zip(entries, range(WORK_ENTRIES_MAX), strict=False) if _fits(entry)]
        except FileNotFoundError:
            return None
        newest = max(fitting, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, default=None)
        return None if newest is None else newest.path

    def keep(self, path: str, collected_at: datetime, trigger: str) -> str:
        """Give a report (a path of ours, on the spool's disk) its final name, durably; return the host's path."""
        final = self._find_free_name(report_file_name(collected_at, trigger))
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(fd, FILE_MODE)
            os.fsync(fd)
            os.rename(path, self.local(final))
            self._sync_folder()
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # works on clean pages alone: after the fsync
        finally:
            os.close(fd)
        return final

    def rotate(self, max_reports: int, keep: Iterable[str] = ()) -> list[str]:
        """Delete the oldest reports beyond the newest `max_reports`, those in `keep` never; return what went.

        All paths are the host's. The name starts with the instant: its order is that of time.
        """
        kept = frozenset(keep)
        names = [name for name in os.listdir(self.local(self.reports_dir)) if _is_report_name(name)]
        names.sort(key=lambda name: name.removesuffix(_REPORT_ENDING))
        surplus = names[: max(0, len(names) - max_reports)]
        removed = [path for path in (f"{self.reports_dir}/{name}" for name in surplus) if path not in kept]
        for path in removed:
            os.unlink(self.local(path))
        if removed:
            self._sync_folder()
        return removed

    def _find_free_name(self, name: str) -> str:
        stem = name.removesuffix(_REPORT_ENDING)
        for number in range(1, SAME_NAMES_MAX + 1):
            path = f"{self.reports_dir}/{stem}{'' if number == 1 else f'-{number}'}{_REPORT_ENDING}"
            if not os.path.lexists(self.local(path)):
                return path
        raise FileExistsError(f"{SAME_NAMES_MAX} reports are named {stem}")

    def _sync_folder(self) -> None:
        fd = os.open(self.local(self.reports_dir), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def remove_tree(path: str) -> None:
    """Remove a file, a link or a folder with all in it; links are removed, never followed."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            child = os.path.join(folder, name)
            if os.path.islink(child):
                os.unlink(child)
            else:
                os.rmdir(child)
    os.rmdir(path)


def _check_folder(local: str) -> None:
    status = os.lstat(local)
    if not stat.S_ISDIR(status.st_mode):
        raise SpoolRefused(f"{local} is no folder")
    if status.st_uid != os.geteuid():
        raise SpoolRefused(f"{local} belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SpoolRefused(f"{local} can be written by others: mode {stat.S_IMODE(status.st_mode):04o}")
    os.chmod(local, FOLDER_MODE)


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _fits(entry: "os.DirEntry[str]") -> bool:
    is_output = entry.name.endswith(_OUTPUT_ENDINGS) and not entry.name.endswith(_REPLACED_ENDINGS)
    return is_output and entry.is_file(follow_symlinks=False)


def _is_report_name(name: str) -> bool:
    return name.startswith(_REPORT_PREFIX) and name.endswith(_REPORT_ENDING)
