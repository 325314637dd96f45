"""Where brought parts lie, and how one gets there whole or not at all.

A part is made in a folder of another name, which is renamed when it is whole: what has the part's name can be used.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEY_CHARACTERS = 12


def cache_root() -> Path:
    """Return the folder of all parts: `$XDG_CACHE_HOME/gpureport`, `~/.cache/gpureport` without that variable."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification says to ignore a relative path.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "gpureport"


def make_key(*ingredients: str | bytes) -> str:
    """Return a short text that changes with any of the ingredients."""
    digest = hashlib.sha256()
    for ingredient in ingredients:
        data = ingredient.encode() if isinstance(ingredient, str) else ingredient
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:KEY_CHARACTERS]


def part_folder(name: str, key: str) -> Path:
    """Return where a part of that key lies, once it is there."""
    return cache_root() / f"{name}-{key}"


def ensure_folder(name: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return a part's folder, made by `make` unless it is there; older ones of the same name are removed.

    Two processes that want the same part wait for one another. What `make` raises passes through, and what it had
    made by then stays for its next try.
    """
    folder = part_folder(name, key)
    with _locked(name):
        if folder.is_dir():
            return folder
        partial = folder.with_name(f"{folder.name}.partial")
        partial.mkdir(parents=True, exist_ok=True)
        make(partial)
        partial.rename(folder)
        for other in cache_root().glob(f"{name}-*"):
            # A key holds no dash: what has one belongs to a part whose name begins like this one's.
            if other != folder and "-" not in other.name[len(name) + 1 :]:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@contextmanager
def _locked(name: str) -> Iterator[None]:
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
