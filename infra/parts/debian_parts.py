"""Parts from Debian's non-free component: NVIDIA's bug report script, and `nvidia-smi` with its library.

They are fetched with apt from the mirror that this machine is set up for, into lists and folders of our own: nothing
is installed. They are not free, so they are never part of this project.
"""

import subprocess
from pathlib import Path

from infra.parts.commands import CannotBring, require_program, run_command

APT_S_MAX = 300.0
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SCRIPT = "nvidia-bug-report.sh"
SMI = "nvidia-smi"


def fetch_script(suite: str, folder: Path) -> None:
    """Fetch the script of a Debian release (bookworm has 535, trixie 550) as `nvidia-bug-report.sh`."""
    unpacked = _fetch(suite, ["nvidia-driver-bin"], folder)
    _link(folder / SCRIPT, unpacked, SCRIPT)


def fetch_smi(suite: str, folder: Path) -> None:
    """Fetch `nvidia-smi` and the library that it loads, as `nvidia-smi` and `lib`."""
    unpacked = _fetch(suite, [SMI, "libnvidia-ml1"], folder)
    _link(folder / SMI, unpacked, SMI)
    _link(folder / "libnvidia-ml.so.1", unpacked, "libnvidia-ml.so.1")


def _fetch(suite: str, packages: list[str], folder: Path) -> Path:
    require_program("dpkg", "these parts come as Debian packages")
    apt = require_program("apt-get", "these parts come as Debian packages")
    lists, log = folder / "lists", folder / "apt.log"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYRING}] {_find_mirror(apt)} {suite} main contrib non-free\n")
    options = [
        *("-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=-"),
        *("-o", f"Dir::State::Lists={lists}", "-o", "Dir::Cache::PkgCache=", "-o", "Dir::Cache::SrcPkgCache="),
        *("-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2", "-o", "Acquire::Languages=none"),
    ]
    run_command([apt, *options, "update"], folder, log, timeout_s=APT_S_MAX)
    run_command([apt, *options, "download", *packages], folder, log, timeout_s=APT_S_MAX)
    unpacked = folder / "unpacked"
    for package in sorted(folder.glob("*.deb")):
        run_command(["dpkg", "-x", str(package), str(unpacked)], folder, log, timeout_s=APT_S_MAX)
    return unpacked


def _find_mirror(apt: str) -> str:
    """Return the mirror of Debian's own packages that this machine uses."""
    command = [apt, "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(SUITE)", "Created-By: Packages"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    for line in answer.stdout.splitlines():
        mirror, _, rest = line.partition(" ")
        if rest.startswith("Debian ") and "security" not in rest:
            return mirror
    raise CannotBring("apt knows no Debian mirror on this machine: run apt-get update once, on Debian")


def _link(link: Path, unpacked: Path, name: str) -> None:
    found = [path for path in sorted(unpacked.rglob(name)) if path.is_file()]
    if not found:
        raise CannotBring(f"the package has no {name}")
    link.unlink(missing_ok=True)
    link.symlink_to(found[0].relative_to(link.parent))
