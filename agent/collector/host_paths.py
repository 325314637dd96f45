"""Where does a path of the host lie for us, and what does it lead to: links never lead out of the host's root."""

import os
import stat

LINKS_MAX = 40
"""The kernel's own bound for the links of one path (path_resolution(7))."""


def to_local(host_root: str, host_path: str) -> str:
    """Return where an absolute path of the host lies under our own root; links in it are not looked at."""
    if not host_path.startswith("/"):
        raise ValueError(f"{host_path!r} is not an absolute path")
    return host_root.rstrip("/") + host_path


def resolve_on_host(host_root: str, host_path: str) -> str | None:
    """Return a path of the host with its links followed as the host follows them; None when it leads nowhere.

    An absolute link starts at the host's root, and no `..` leads above it.
    """
    waiting = host_path.split("/")[::-1]
    resolved: list[str] = []
    links = 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            resolved = resolved[:-1]
            continue
        local = to_local(host_root, "/" + "/".join([*resolved, name]))
        try:
            is_link = stat.S_ISLNK(os.lstat(local).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not is_link:
            resolved.append(name)
            continue
        links += 1
        if links > LINKS_MAX:
            return None
        target = os.readlink(local)
        waiting += target.split("/")[::-1]
        if target.startswith("/"):
            resolved = []
    return "/" + "/".join(resolved)


def is_file_on_host(host_root: str, host_path: str) -> bool:
    """Say whether a path of the host leads to a regular file there."""
    resolved = resolve_on_host(host_root, host_path)
    if resolved is None:
        return False
    return stat.S_ISREG(os.lstat(to_local(host_root, resolved)).st_mode)
