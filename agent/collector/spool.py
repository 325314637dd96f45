"""Where do reports lie on the node's disk: a private work folder while one is written, then one file per report.

A report gets its final name only when it is whole on disk: file and folder are synchronised around the rename.
Paths of the host are what the Node and the script see; `local` says where they lie for us. `OSError` passes through:
what a full or a broken disk means for a run is decided elsewhere.
"""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from agent.collector.host_paths import to_local
from gpureport.contract.names import report_file_name

WORK_FOLDER = ".work"
LEFT_FOLDER = ".work.left"
"""Where a work folder goes that cannot be removed, so that it keeps no later run from working."""
OUTPUT_NAME = "nvidia-bug-report.log"
"""Ends in `.log`: the script appends `.gz` by itself."""
FOLDER_MODE = 0o700
FILE_MODE = 0o600

WORK_ENTRIES_MAX = 10_000
"""Files of one run that are looked at for its output; a script that leaves more is not ours."""
SAME_NAMES_MAX = 100
"""Reports of one second and trigger; the lock lets one run at a time write here."""
REMOVE_TRIES_MAX = 3
"""Rounds of removing a folder that a process which outlived its script still writes into."""

_REPORT_PREFIX = "nvidia-bug-report-"
_REPORT_ENDING = ".log.gz"
_OUTPUT_ENDINGS = (".log.gz", ".log")
_REPLACED_ENDINGS = (".old.gz", ".old.log.gz", ".old")


class SpoolRefused(Exception):
    """The reports folder is not ours to write into, and will not be by itself; the message says what to do.

    It is no folder, a link, somebody else's, or writable by others.
    """


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

    def ensure_folder(self) -> None:
        """Make the reports folder; `SpoolRefused` when what is there is not ours alone."""
        local = self.local(self.reports_dir)
        try:
            os.makedirs(os.path.dirname(local), exist_ok=True)
            os.mkdir(local, FOLDER_MODE)
        except (FileExistsError, NotADirectoryError):
            _check_folder(local)

    def prepare(self) -> None:
        """Make the reports folder and an empty work folder; `SpoolRefused` when it is not ours alone."""
        self.ensure_folder()
        if self.tidy() is not None:
            work, left = self.local(self.work_dir), self.local(f"{self.reports_dir}/{LEFT_FOLDER}")
            if os.path.lexists(left):
                remove_tree(left)
            os.rename(work, left)
        os.mkdir(self.local(self.work_dir), FOLDER_MODE)

    def tidy(self) -> str | None:
        """Remove the work folder and all that a script left in it; return what is in the way. Never raises."""
        with suppress(OSError):
            remove_tree(self.local(f"{self.reports_dir}/{LEFT_FOLDER}"))
        try:
            remove_tree(self.local(self.work_dir))
        except FileNotFoundError:
            return None
        except OSError as error:
            return str(error)
        return None

    def find_output(self) -> str | None:
        """Find what the script wrote, as a path of ours: the name with `.gz`, the name, else the newest that fits.

        Regular files alone count; None when there is none, nor a work folder.
        """
        for path in (self.output_path + ".gz", self.output_path):
            if _is_regular(self.local(path)):
                return self.local(path)
        try:
            with os.scandir(self.local(self.work_dir)) as entries:
                fitting = [entry for entry, _ in zip(entries, range(WORK_ENTRIES_MAX), strict=False) if _fits(entry)]
        except (FileNotFoundError, NotADirectoryError):
            return None
        newest = max(fitting, key=_find_age, default=None)
        return None if newest is None else newest.path

    def find_kept(self, final: str) -> str | None:
        """Find the report that got that name (the host's path), as a path of ours; None when there is none."""
        local = self.local(final)
        is_ours = os.path.dirname(final) == self.reports_dir and _is_report_name(os.path.basename(final))
        return local if is_ours and _is_regular(local) else None

    def find_free_name(self, collected_at: datetime, trigger: str) -> str:
        """Find a name for a report that nothing has yet: the host's path."""
        stem = report_file_name(collected_at, trigger).removesuffix(_REPORT_ENDING)
        for number in range(1, SAME_NAMES_MAX + 1):
            path = f"{self.reports_dir}/{stem}{'' if number == 1 else f'-{number}'}{_REPORT_ENDING}"
            if not os.path.lexists(self.local(path)):
                return path
        raise FileExistsError(errno.EEXIST, f"{SAME_NAMES_MAX} reports are named {stem}")

    def keep(self, path: str, final: str) -> None:
        """Give a report (a path of ours, on the spool's disk) its final name (the host's path), durably."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(fd, FILE_MODE)
            os.fsync(fd)
            os.rename(path, self.local(final))
            self._sync_folder()
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # works on clean pages alone: after the fsync
        finally:
            os.close(fd)

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

    def _sync_folder(self) -> None:
        fd = os.open(self.local(self.reports_dir), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def remove_tree(path: str) -> None:
    """Remove a file, a link or a folder with all in it, also while somebody else writes into it for a moment.

    Links are removed, never followed. `OSError`; `FileNotFoundError` when there is nothing.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    for tries_left in reversed(range(REMOVE_TRIES_MAX)):
        try:
            _remove_folder(path)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or tries_left == 0:
                raise
        else:
            return


def _remove_folder(path: str) -> None:
    for folder, folders, files in os.walk(path, topdown=False):
        for name in (*files, *folders):
            child = os.path.join(folder, name)
            with suppress(FileNotFoundError):
                if name in folders and not os.path.islink(child):
                    os.rmdir(child)
                else:
                    os.unlink(child)
    with suppress(FileNotFoundError):
        os.rmdir(path)


def _check_folder(local: str) -> None:
    try:
        status = os.lstat(local)
    except (FileNotFoundError, NotADirectoryError):
        raise SpoolRefused(f"{local}: something above it is no folder; move it away, or name another folder") from None
    if stat.S_ISLNK(status.st_mode):
        raise SpoolRefused(f"{local} is a link; name the folder itself")
    if not stat.S_ISDIR(status.st_mode):
        raise SpoolRefused(f"{local} is no folder; move it away, or name another")
    if status.st_uid != os.geteuid():
        raise SpoolRefused(
            f"{local} belongs to user {status.st_uid}, not to {os.geteuid()}; give it to us, or name another"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SpoolRefused(f"{local} can be written by others: mode {mode:04o}; close it, or name another folder")
    if mode != FOLDER_MODE:
        os.chmod(local, FOLDER_MODE)


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _find_age(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return 0


def _fits(entry: "os.DirEntry[str]") -> bool:
    is_output = entry.name.endswith(_OUTPUT_ENDINGS) and not entry.name.endswith(_REPLACED_ENDINGS)
    return is_output and entry.is_file(follow_symlinks=False)


def _is_report_name(name: str) -> bool:
    return name.startswith(_REPORT_PREFIX) and name.endswith(_REPORT_ENDING)
