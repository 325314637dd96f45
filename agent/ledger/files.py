"""Small files that survive a crash: written whole or not at all, read with a bound, set aside when damaged.

What they hold is the business of `records`.
"""

import os

FILE_BYTES_MAX = 64 * 1024
"""A record holds a claim of at most 4 KiB and a few numbers; a longer file is not ours."""

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def write_atomically(folder: str, name: str, data: bytes) -> None:
    """Write a file so that it is there whole, or as it was before; on disk when this returns. `OSError`."""
    temporary = os.path.join(folder, f".{name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, os.path.join(folder, name))
    sync_folder(folder)


def read_bounded(folder: str, name: str) -> bytes | None:
    """Read a file; None when there is none; one byte more than `FILE_BYTES_MAX` of a longer one. `OSError`."""
    try:
        descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
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
    """Rename a damaged file to `NAME.bad`, over an older one; return that name. `OSError`."""
    aside = f"{name}.bad"
    os.rename(os.path.join(folder, name), os.path.join(folder, aside))
    sync_folder(folder)
    return aside


def ensure_folder(folder: str) -> None:
    """Make a folder that only its owner may enter, and those above it; one that exists keeps its mode. `OSError`."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        return
    sync_folder(os.path.dirname(folder))


def sync_folder(folder: str) -> None:
    """Bring a folder's entries to disk. `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
