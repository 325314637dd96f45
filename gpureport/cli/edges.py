"""How every command ends: errors as one line and an exit code, Ctrl-C as 130, a closed pipe in silence.

No traceback reaches a user; `GPUREPORT_TRACEBACK=1` shows the one of a fault of this program.
"""

import os
import sys
import traceback
from collections.abc import Callable
from types import TracebackType

from gpureport.cli.terminal import printable
from gpureport.contract.exit_codes import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
)
from gpureport.ports import Misconfigured, Refused, Unavailable

MESSAGE_CHARS_MAX = 500
"""Foreign text in an error line is cut here."""


class CommandError(Exception):
    """An error that the user can do something about: the message says what, the code says which kind."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_command(prog: str, action: Callable[[], int]) -> int:
    """Run a command and return its exit code; what it raises becomes one line on stderr."""
    ensure_streams()
    sys.excepthook = _fault_hook(prog)
    try:
        code = action()
        sys.stdout.flush()
    except CommandError as error:
        return fail(prog, str(error), error.exit_code)
    except (Refused, Unavailable) as error:
        kind, exit_code = _describe_kind(error)
        return fail(prog, f"{kind}: {error}", exit_code)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_OK
    except OSError as error:
        _silence_stdout()
        return fail(prog, f"cannot write the answer: {error.strerror}", EXIT_USAGE)
    return code


def _describe_kind(error: Refused | Unavailable) -> tuple[str, int]:
    if isinstance(error, Misconfigured):
        return "unusable", EXIT_USAGE
    return ("refused", EXIT_REFUSED) if isinstance(error, Refused) else ("not reachable", EXIT_UNAVAILABLE)


def fail(prog: str, message: str, exit_code: int) -> int:
    """Print one line on stderr and return the exit code."""
    warn(prog, f"error: {message}")
    return exit_code


def warn(prog: str, message: str) -> None:
    """Print one line on stderr, whatever line breaks foreign text brought along."""
    print(f"{prog}: {printable(message)[:MESSAGE_CHARS_MAX]}", file=sys.stderr)


def ensure_streams() -> None:
    """Open what the caller closed (`>&-`): reading finds nothing then, writing goes nowhere."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 (open for the life of the process)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _silence_stdout() -> None:
    """Send what is still buffered nowhere: the interpreter flushes at exit, and would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _describe_place(trace: TracebackType | None) -> str:
    frames = traceback.extract_tb(trace)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "an unknown place"


def _fault_hook(prog: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.environ.get("GPUREPORT_TRACEBACK"):
            sys.__excepthook__(kind, error, trace)
        # Not the error's own text: it may hold a token.
        warn(prog, f"internal fault: {kind.__name__} at {_describe_place(trace)}; GPUREPORT_TRACEBACK=1 shows more")
        sys.exit(EXIT_INTERNAL)

    return hook
