"""Lays the folders that run elsewhere: the functions' bundle, the agent's home and its finish child's home.

What runs locally is laid by the same lines as what is deployed. Reproducible: the same sources give the same bytes,
names, modes and times.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

STAND_IN_SCRIPT = REPOSITORY / "infra" / "local" / "script" / "nvidia-bug-report.sh"
"""Our own script, which writes what NVIDIA's writes in structure; never laid, it belongs to no node."""

LAID_AT_S = 1_577_836_800
"""Modification time of every laid file, 2020-01-01: zip archives and image layers of the same sources are equal."""

Piece = tuple[str, str]
"""A source, relative to the repository, and the name it gets in the laid folder."""


def lay_bundle(folder: Path) -> None:
    """Lay what functions-framework serves, here and in the cloud."""
    _lay(
        folder,
        [
            ("functions/main.py", "main.py"),
            ("requirements.txt", "requirements.txt"),
            *_package("functions"),
            *_modules("gpureport"),
            *_package("gpureport/contract"),
            *_package("gpureport/report"),
            *_package("gpureport/triage"),
            *_package("gpureport/adapters"),
        ],
    )


def lay_agent_home(folder: Path) -> None:
    """Lay what `python -I -S FOLDER run` needs: nothing but the agent and the contract."""
    agent = [piece for piece in _package("agent") if not piece[0].startswith("agent/finish/")]
    _lay(
        folder,
        [
            ("agent/__main__.py", "__main__.py"),
            *agent,
            ("gpureport/__init__.py", "gpureport/__init__.py"),
            *_package("gpureport/contract"),
        ],
    )


def lay_finish_home(folder: Path) -> None:
    """Lay what the agent's `finish` child needs; it runs under an interpreter that has Google's libraries."""
    _lay(
        folder,
        [
            ("agent/__main__.py", "__main__.py"),
            ("agent/__init__.py", "agent/__init__.py"),
            *_package("agent/finish"),
            *_modules("gpureport"),
            *_package("gpureport/contract"),
            *_package("gpureport/report"),
            *_package("gpureport/adapters"),
        ],
    )


def _modules(package: str) -> list[Piece]:
    return [(f"{package}/{path.name}",) * 2 for path in sorted((REPOSITORY / package).glob("*.py"))]


def _package(package: str) -> list[Piece]:
    sources = (path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / package).rglob("*.py"))
    return [(source, source) for source in sorted(sources)]


def _lay(folder: Path, pieces: Iterable[Piece]) -> None:
    """Replace the folder by the pieces; a folder that we did not lay is left alone."""
    mark = folder / ".laid"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise FileExistsError(f"{folder} holds other files; name an empty folder, or remove it")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mark.touch()
    for source, name in pieces:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((REPOSITORY / source).read_bytes())
        target.chmod(0o644)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (LAID_AT_S, LAID_AT_S))


LAYERS = {"bundle": lay_bundle, "agent-home": lay_agent_home, "finish-home": lay_finish_home}


def main(arguments: Sequence[str] | None = None) -> int:
    """Lay one of the folders."""
    parser = argparse.ArgumentParser(prog="python -m infra.layout", description=__doc__)
    parser.add_argument("what", choices=sorted(LAYERS))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        LAYERS[options.what](options.folder)
    except OSError as error:
        parser.exit(2, f"infra.layout: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
