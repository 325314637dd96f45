"""The whole pipeline on this machine.

  python -m infra.local run     request, collect and archive one report, show each step, stop everything
  python -m infra.local up      keep it all running to play with, until Ctrl-C

Nothing of it is left when it ends, however it ends. Exit code 0: done; 1: something failed; 2: wrong use;
130: ended by Ctrl-C; 143: ended by SIGTERM.
"""

import argparse
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from gpureport.contract.deadlines import DEADLINE_S_MAX, SCRIPT_TIMEOUT_S, decide_deadline_s
from infra.layout import STAND_IN_SCRIPT
from infra.local.guard import run_guarded

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked for the end; not an Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__(signal.Signals(number).name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run under the guard."""
    try:
        for number in SIGNALS:
            signal.signal(number, _stop)
        options = _parse(arguments)
        return run_guarded(lambda: _supervise(options), with_parent=options.with_parent)
    except Stopped as stopped:
        return stopped.exit_code


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "up"])
    parser.add_argument("--script", type=_script, default=STAND_IN_SCRIPT, help="the bug report script to run")
    parser.add_argument(
        "--timeout", type=_timeout_s, default=SCRIPT_TIMEOUT_S, metavar="S", help="seconds the script has (default: 60)"
    )
    parser.add_argument("--pubsub", choices=["broker", "emulator"], default="broker", help="ours, or Google's emulator")
    parser.add_argument(
        "--cluster", choices=["stand-in", "real"], default="stand-in", help="ours, or Kubernetes' own control plane"
    )
    parser.add_argument("--kubeconfig", type=Path, help="use this cluster in place of one of ours")
    parser.add_argument("--work", type=Path, help="folder for logs and data (default: a new one in build/local)")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started this ends")
    options = parser.parse_args(arguments)
    if options.kubeconfig is not None and options.cluster == "real":
        parser.error("--kubeconfig names a cluster that runs already: leave --cluster real out")
    return options


def _script(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{path}: there is no such file")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"{path}: not a file that can be executed; chmod +x helps if it is a script")
    return path.resolve()


def _timeout_s(text: str) -> float:
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = math.nan
    if not 0 < timeout_s < math.inf or decide_deadline_s(timeout_s) > DEADLINE_S_MAX:
        longest_s = (DEADLINE_S_MAX - decide_deadline_s(0)) / 2
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to {longest_s:g}")
    return timeout_s


def _supervise(options: argparse.Namespace) -> int:
    try:
        # Google's and Kubernetes' libraries take a second to import: only now, when a signal finds its handler.
        from infra.local.stage import play

        return play(options)
    except Stopped as stopped:
        return stopped.exit_code


def _stop(number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping that the first one began.
    for one in SIGNALS:
        signal.signal(one, _ignore)
    raise Stopped(number)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, it finds a signal quietly that is on its way already."""


if __name__ == "__main__":
    sys.exit(main())
