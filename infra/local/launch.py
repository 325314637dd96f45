"""How does a child end when its starter ends, even by kill -9? This starts it so; what is started is no concern here.

    python -I -S infra/local/launch.py [--parent PID] [--signal NUMBER] -- COMMAND [ARGUMENT...]

The kernel sends that signal, SIGTERM by default, to the command when the *thread* that started it ends: start it from
the main thread.
Standard library only, and no package of ours: it runs isolated, by its path.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""prctl(2); survives execve of an ordinary program."""

STARTER_GONE = 125
"""Exit status when the starter had ended before the kernel knew that we depend on it."""


def main(arguments: list[str]) -> int:
    """Become the command, bound to the starter's life; 125 when the starter is gone already, 2 on bad usage."""
    options = {"--parent": os.getppid(), "--signal": int(signal.SIGTERM)}
    while arguments[:1] and arguments[0] in options and len(arguments) > 1:
        options[arguments[0]], arguments = int(arguments[1]), arguments[2:]
    if arguments[:1] != ["--"] or len(arguments) < 2:
        print("usage: launch.py [--parent PID] [--signal NUMBER] -- COMMAND [ARGUMENT...]", file=sys.stderr)
        return 2
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, options["--signal"], 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() == options["--parent"]:
        os.execvp(arguments[1], arguments[1:])  # noqa: S606 - an argv list, no shell: this program exists to exec
    return STARTER_GONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
