"""Small files that survive a crash: written whole or not at all, read with a bound, set aside when damaged.

What they hold is the business of `records`.
"""

import errno
import os
import stat
from contextlib import suppress

FILE_BYTES_MAX = 64 * 1024
"""A record holds a claim of at most 4 KiB and a few numbers; a longer file is not ours."""

FILE_MODE = 0o600
FOLDER_MODE = 0o700

ASIDE_MAX = 9
"""Names tried for a damaged entry; only folders take one each, files are laid over the last."""

_IS_TAKEN = (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST)


class NotAFile(Exception):
    """Something lies under a file's name that is no regular file: a folder, a link, a pipe."""


def write_atomically(folder: str, name: str, data: bytes) -> None:
    """Write a file so that it is there whole, or as it was before; on disk when this returns. `OSError`."""
    temporary = os.path.join(folder, f".{name}.new")
    try:
        _write_synced(temporary, data)
        os.rename(temporary, os.path.join(folder, name))
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)  # half a file would keep the room that the next try needs
        raise
    sync_folder(folder)


def read_bounded(folder: str, name: str) -> bytes | None:
    """Read a file; None when there is none; one byte more than `FILE_BYTES_MAX` of a longer one.

    `NotAFile` for anything else under that name, `OSError` when the disk refuses.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would keep us waiting for its writer
    try:
        descriptor = os.open(os.path.join(folder, name), flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise NotAFile(f"{name} is a link or a socket, no file") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotAFile(f"{name} is no file")
        return os.read(descriptor, FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)


def remove(folder: str, name: str) -> None:
    """Remove a file, on disk when this returns; no error when it is gone already. `OSError`."""
    try:
        os.unlink(os.path.join(folder, name))
    except FileNotFoundError:
        return
    sync_folder(folder)


def set_aside(folder: str, name: str) -> str:
    """Rename a damaged entry to `NAME.bad`, over an older file; return the name it got. `OSError`."""
    for number in range(1, ASIDE_MAX + 1):
        aside = f"{name}.bad" if number == 1 else f"{name}.bad-{number}"
        try:
            os.rename(os.path.join(folder, name), os.path.join(folder, aside))
        except OSError as error:
            if error.errno not in _IS_TAKEN or number == ASIDE_MAX:
                raise
        else:
            break
    sync_folder(folder)
    return aside


def ensure_reserve(folder: str, name: str, size_bytes: int) -> bool:
    """Occupy room on the disk under that name; false when there is none to be had. Never raises."""
    path = os.path.join(folder, name)
    if os.path.lexists(path):
        return True
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    except OSError:
        return False
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        return False
    finally:
        os.close(descriptor)
    return True


def ensure_folder(folder: str) -> str | None:
    """Make a folder that only its owner may enter; one that exists keeps its mode.

    Returns the name under which something else was set aside, which lay in its place. `OSError`.
    """
    aside, (parent, name) = None, os.path.split(folder)
    try:
        os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            return None
        aside = set_aside(parent, name)
        os.mkdir(folder, FOLDER_MODE)
    sync_folder(parent)
    return aside


def sync_folder(folder: str) -> None:
    """Bring a folder's entries to disk. `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_synced(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
