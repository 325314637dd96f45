"""`gpureport`: the desk's commands, a file each. To add one: write its file, and name it in `COMMANDS`."""

import argparse
from collections.abc import Sequence

from gpureport.cli import reasons, triage
from gpureport.cli.edges import run_command
from gpureport.cli.triage_options import Connect, connect_cluster

PROG = "gpureport"

COMMANDS = (triage, reasons)

DESCRIPTION = """\
Bug reports of GPU nodes, and why GPU Pods do not run. `gpureport COMMAND --help` teaches each command."""


def main(argv: Sequence[str] | None = None, connect: Connect = connect_cluster) -> int:
    """Run a command of the desk and return its exit code."""
    return run_command(PROG, lambda: _run(build_parser().parse_args(argv), connect))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog=PROG, description=DESCRIPTION, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def _run(args: argparse.Namespace, connect: Connect) -> int:
    code: int = args.run(args, connect)
    return code
