"""Which parts there are, what each is for, and how it is brought."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from infra.parts.cache import ensure_folder, make_key, part_folder
from infra.parts.commands import CannotBring
from infra.parts.debian_parts import fetch_script, fetch_smi
from infra.parts.go_parts import (
    CONTROL_PLANE_COMMANDS,
    FAKE_GCS_SERVER,
    KUBERNETES_VERSION,
    KWOK,
    build_control_plane,
    control_plane_key,
    install_program,
)

CONTROL_PLANE = "control-plane"
SCRIPT_535 = "script-535"
SCRIPT_550 = "script-550"
NVIDIA_SMI = "nvidia-smi"
FAKE_GCS = "fake-gcs-server"
KWOK_NODES = "kwok"

REQUIRED: set[str] = set()
"""The parts that this process has asked for, so that it can be said which were really used."""

ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"


class Part(NamedTuple):
    """One part: `what` it is, for people; its key; how it is made in a folder; the files that it consists of."""

    name: str
    what: str
    key: Callable[[], str]
    make: Callable[[Path], None]
    files: tuple[str, ...]


PARTS = {
    part.name: part
    for part in (
        Part(
            CONTROL_PLANE,
            f"etcd, apiserver, scheduler, controller-manager and kubectl {KUBERNETES_VERSION} (8 min, then cached)",
            control_plane_key,
            build_control_plane,
            CONTROL_PLANE_COMMANDS,
        ),
        Part(
            SCRIPT_535,
            "NVIDIA's script of driver 535, from Debian's non-free component",
            lambda: "bookworm",
            partial(fetch_script, "bookworm"),
            ("nvidia-bug-report.sh",),
        ),
        Part(
            SCRIPT_550,
            "NVIDIA's script of driver 550, from Debian's non-free component",
            lambda: "trixie",
            partial(fetch_script, "trixie"),
            ("nvidia-bug-report.sh",),
        ),
        Part(
            NVIDIA_SMI,
            "nvidia-smi and its library, from Debian's non-free component",
            lambda: "bookworm",
            partial(fetch_smi, "bookworm"),
            ("nvidia-smi", "libnvidia-ml.so.1"),
        ),
        Part(
            FAKE_GCS,
            "fake-gcs-server 1.56.1 (3 min, then cached)",
            lambda: make_key(FAKE_GCS_SERVER),
            partial(install_program, FAKE_GCS_SERVER),
            ("fake-gcs-server",),
        ),
        Part(
            KWOK_NODES,
            "kwok 0.8.0: kubelets without machines (3 min, then cached)",
            lambda: make_key(KWOK),
            partial(install_program, KWOK),
            ("kwok",),
        ),
    )
}


def bring(name: str) -> Path:
    """Return the folder of a part, brought if need be; `CannotBring` says why it can't be had."""
    part = PARTS[name]
    assets = os.environ.get(ASSETS_VARIABLE)
    if name == CONTROL_PLANE and assets:
        return _check(part, Path(assets), f"{ASSETS_VARIABLE} is set to it")
    return _check(part, ensure_folder(name, part.key(), part.make), "remove it and run `make parts` again")


def find(name: str) -> Path | None:
    """Return the folder of a part that is there already; None otherwise."""
    part = PARTS[name]
    assets = os.environ.get(ASSETS_VARIABLE)
    folder = Path(assets) if name == CONTROL_PLANE and assets else part_folder(name, part.key())
    return folder if all((folder / file).exists() for file in part.files) else None


def require(name: str) -> Path:
    """Return the folder of a part that is there; `CannotBring` with the command that brings it otherwise."""
    REQUIRED.add(name)
    folder = find(name)
    if folder is None:
        raise CannotBring(f"the part {name} is not here ({PARTS[name].what}): run `make parts PART={name}`")
    return folder


def _check(part: Part, folder: Path, remedy: str) -> Path:
    missing = [file for file in part.files if not (folder / file).exists()]
    if missing:
        raise CannotBring(f"{folder} has no {', '.join(missing)}: {remedy}")
    return folder
