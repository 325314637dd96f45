"""How is a process made: by posix_spawn, in a new session, with a few named descriptors and default signals.

posix_spawn runs no Python between fork and exec and needs no `subprocess`, which costs the agent 2.4 MiB. It blocks
until the exec is done, so the program must be a local one: what lies on the host is reached through a launcher.
"""

import errno
import os
import signal
from collections.abc import Mapping, Sequence

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def spawn(
    argv: Sequence[str], env: Mapping[str, str], standard_fds: tuple[int, int, int], pass_fds: Sequence[int] = ()
) -> int:
    """Start `argv[0]`, a path, as the leader of a new session and return its pid; `OSError` when it cannot be run.

    `standard_fds` become 0, 1 and 2; `pass_fds` keep their numbers, which are above 2; all others are closed.
    """
    actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(standard_fds)]
    actions += [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in pass_fds]  # onto itself: it loses close-on-exec
    actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _list_inheritable() if fd not in pass_fds]
    return os.posix_spawn(
        argv[0],
        list(argv),
        env,
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        setsigdef=_IGNORED_BY_PYTHON,
    )


def _list_inheritable() -> list[int]:
    """List the descriptors above 2 that whoever started us left open for children; Python opens none such."""
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except OSError as error:
            if error.errno != errno.EBADF:  # the listing's own, closed by now
                raise
    return found


def open_input(data: bytes) -> int:
    """Open a descriptor to read these bytes from: a small file in memory, so that nobody has to feed a pipe."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    fd = os.memfd_create("stdin")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
