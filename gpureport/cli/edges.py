"""How every command ends: errors as one line and an exit code, Ctrl-C as 130, a closed pipe in silence.

No traceback reaches a user; `GPUREPORT_TRACEBACK=1` shows the one of a fault of this program.
"""

import os
import sys
from collections.abc import Callable
from types import TracebackType

from gpureport.cli.terminal import printable
from gpureport.contract.exit_codes import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
)
from gpureport.ports import Refused, Unavailable

MESSAGE_CHARS_MAX = 500
"""Foreign text in an error line is cut here."""


class CommandError(Exception):
    """An error that the user can do something about: the message says what, the code says which kind."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_command(prog: str, action: Callable[[], int]) -> int:
    """Run a command and return its exit code; what it raises becomes one line on stderr."""
    sys.excepthook = _fault_hook(prog)
    try:
        code = action()
        sys.stdout.flush()
    except CommandError as error:
        return fail(prog, str(error), error.exit_code)
    except Refused as error:
        return fail(prog, f"refused: {error}", EXIT_REFUSED)
    except Unavailable as error:
        return fail(prog, f"not reachable: {error}", EXIT_UNAVAILABLE)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_OK
    return code


def fail(prog: str, message: str, exit_code: int) -> int:
    """Print one line on stderr and return the exit code."""
    warn(prog, f"error: {message}")
    return exit_code


def warn(prog: str, message: str) -> None:
    """Print one line on stderr, whatever line breaks foreign text brought along."""
    print(f"{prog}: {printable(message)[:MESSAGE_CHARS_MAX]}", file=sys.stderr)


def _silence_stdout() -> None:
    """Send what is still buffered nowhere: the interpreter flushes at exit, and would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _fault_hook(prog: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.environ.get("GPUREPORT_TRACEBACK"):
            sys.__excepthook__(kind, error, trace)
        warn(prog, f"internal fault: {kind.__name__}: {error}; GPUREPORT_TRACEBACK=1 shows where")
        sys.exit(EXIT_INTERNAL)

    return hook
