"""Which script of the host is run, by which command and in which environment.

As root it runs in a chroot of the host's root, entered by a local launcher: no Python between fork and exec, and the
exec of a file on a sick host's disk hangs the child, not us. Without root it runs where it lies.
Starting it and judging what it writes belong elsewhere.
"""

import os
from typing import NamedTuple

from agent.collector.host_paths import is_file_on_host, resolve_on_host, to_local

SCRIPT_NAME = "nvidia-bug-report.sh"
SCRIPT_FOLDERS = (
    ("/home/kubernetes/bin/nvidia/bin", "/home/kubernetes/bin/nvidia/lib64"),
    ("/opt/nvidia/bin", "/opt/nvidia/lib64"),
    ("/usr/bin", ""),
)
"""Where the driver's tools lie, and the libraries they need: Container-Optimized OS, its older layout, Ubuntu."""
SYSTEM_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_LAUNCHERS = ("/usr/sbin/chroot", "/usr/bin/chroot", "/sbin/chroot", "/bin/chroot")
_SHELL = "/bin/sh"
_CHANGE_FOLDER = 'cd -- "$1" && shift && exec "$@"'
"""chroot leaves the working folder at the new root; the host has a shell, since the script is one's."""


class HostScript(NamedTuple):
    """The script that was found, in the paths that hold where it runs."""

    path: str
    search_path: str
    """Its PATH."""
    library_path: str
    """Its LD_LIBRARY_PATH; empty when the system's own folders do."""
    host_root: str
    is_confined: bool
    """Whether it runs in a chroot of the host's root; otherwise paths of the host get that root before them."""


def find_script(host_root: str, script: str | None, *, is_root: bool | None = None) -> HostScript | None:
    """Find the script under the host's root: the path given (the host's, absolute), or the first folder that has it.

    None when there is none.
    """
    is_confined = os.geteuid() == 0 if is_root is None else is_root
    candidates = [script] if script is not None else [f"{folder}/{SCRIPT_NAME}" for folder, _ in SCRIPT_FOLDERS]
    for path in candidates:
        if is_file_on_host(host_root, path):
            return _describe(host_root, path, is_confined=is_confined)
    return None


def build_command(host_root: str, script: HostScript, output_path: str, *, safe_mode: bool = False) -> list[str]:
    """Build the argv that runs the script in the folder of `output_path` (the host's path, ending in `.log`).

    The script appends `.gz` to that name by itself. `FileNotFoundError` when root has no chroot launcher.
    """
    folder, name = os.path.split(output_path)
    flags = ["--output-file", name, *(["--safe-mode"] if safe_mode else [])]
    command = [_SHELL, "-c", _CHANGE_FOLDER, "sh", _where_it_runs(script, folder), script.path, *flags]
    return [_find_launcher(), host_root, *command] if script.is_confined else command


def build_environment(script: HostScript, work_dir: str) -> dict[str, str]:
    """Build the script's whole environment; `work_dir` is the host's path of a folder on disk."""
    environment = {
        "LC_ALL": "C",
        "PATH": script.search_path,
        "TMPDIR": _where_it_runs(script, work_dir),
    }
    if script.library_path:
        environment["LD_LIBRARY_PATH"] = script.library_path
    return environment


def _describe(host_root: str, path: str, *, is_confined: bool) -> HostScript:
    folder = os.path.dirname(path)
    libraries = dict(SCRIPT_FOLDERS).get(folder, os.path.dirname(folder).rstrip("/") + "/lib64")
    if is_confined:
        return HostScript(path, f"{folder}:{SYSTEM_SEARCH_PATH}", libraries, host_root, is_confined)
    local_folder = to_local(host_root, folder)
    return HostScript(
        path=to_local(host_root, resolve_on_host(host_root, path) or path),
        search_path=f"{local_folder}:{SYSTEM_SEARCH_PATH}",
        library_path=to_local(host_root, libraries) if libraries else "",
        host_root=host_root,
        is_confined=is_confined,
    )


def _where_it_runs(script: HostScript, host_path: str) -> str:
    return host_path if script.is_confined else to_local(script.host_root, host_path)


def _find_launcher() -> str:
    for launcher in _LAUNCHERS:
        if os.access(launcher, os.X_OK):
            return launcher
    raise FileNotFoundError("there is no chroot command in " + " ".join(_LAUNCHERS))
