"""`gpu-triage NAMESPACE POD`: the word alone on stdout; an absent Pod is a message on stderr and exit code 1."""

import argparse
from collections.abc import Sequence

from gpureport.cli.edges import run_command
from gpureport.cli.judging import judge_pods
from gpureport.cli.triage import format_words, report_absent, show_warnings, write
from gpureport.cli.triage_options import (
    Connect,
    add_shared_options,
    connect_cluster,
    open_snapshot,
    parse_namespace,
    parse_pod_name,
    read_options,
)

PROG = "gpu-triage"

EPILOG = """\
examples:
  gpu-triage ml trainer-0
  gpu-triage ml trainer-0 trainer-1          prints a line <pod> <word> for each
  gpu-triage ml trainer-0 --objects objects.json

The words, and the evidence for them: gpureport triage --help."""


def main(argv: Sequence[str] | None = None, connect: Connect = connect_cluster) -> int:
    """Run the command and return its exit code."""
    return run_command(PROG, lambda: _run(build_parser().parse_args(argv), connect))


def build_parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = argparse.ArgumentParser(
        prog=PROG, description="Say in one word why a GPU Pod does not run.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("namespace", metavar="NAMESPACE", type=parse_namespace)
    parser.add_argument("pods", metavar="POD", nargs="+", type=parse_pod_name)
    add_shared_options(parser)
    return parser


def _run(args: argparse.Namespace, connect: Connect) -> int:
    snapshot = open_snapshot(args, connect)
    options = read_options(args, snapshot)
    found = judge_pods(snapshot, options, args.namespace, args.pods, needs_evidence=False)
    show_warnings(PROG, snapshot)
    write(format_words([(name, v) for name, v in found if v is not None], is_list=len(found) > 1))
    return report_absent(PROG, snapshot, args.namespace, [name for name, verdict in found if verdict is None])
