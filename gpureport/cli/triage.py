"""`gpureport triage`: why a GPU Pod does not run, for people and for programs."""

import argparse
import sys

from gpureport.cli.edges import CommandError, fail, warn
from gpureport.cli.judging import judge_pods
from gpureport.cli.snapshots import Snapshot
from gpureport.cli.terminal import wants_colour
from gpureport.cli.triage_options import (
    Connect,
    add_shared_options,
    open_snapshot,
    parse_namespace,
    parse_pod_name,
    read_options,
)
from gpureport.cli.triage_output import format_json, format_text
from gpureport.contract.exit_codes import EXIT_NOT_FOUND, EXIT_OK, EXIT_USAGE
from gpureport.triage.verdict import Verdict

NAME = "triage"
PROG = "gpureport triage"
SUMMARY = "say in one word why a GPU Pod does not run, with the evidence"

WARNINGS_SHOWN_MAX = 5
"""Objects that could not be read, named on stderr one by one; more are counted."""

DESCRIPTION = """\
Say in one word why a GPU Pod does not run. The word comes first, then the reason, how many nodes are left after each
stage, the nearest nodes with what lost them, and what to do. Judged from Nodes and Pods alone, never from the
scheduler's text, which says the same for three different faults.

words, in the order of the questions:
  no-request        no container asks for a GPU
  ok                placed on a node: scheduling is not what keeps it
  label-mismatch    no node has the labels that nodeSelector and required affinity ask for
  taint             every matching (GPU) node has a taint that the Pod does not tolerate
  no-gpu-node       no node that is left has the resource
  allocatable-zero  GPUs are there, and none is allocatable: driver or device plugin
  exhausted         allocatable, and not enough of it is free on any one node
  other             no GPU stage blocks the Pod; the likely cause is named"""

EPILOG = """\
examples:
  gpureport triage -n ml trainer-0
  gpureport triage -n ml trainer-0 --word
  kubectl get nodes,pods -A -o json > objects.json; gpureport triage --objects objects.json -n ml trainer-0
  gpureport triage -n ml trainer-0 -o json | jq -r .fix
  gpureport triage -n ml trainer-0 --resource 'nvidia.com/*'

exit codes: 0 a word was found, 1 the Pod does not exist, 2 wrong usage or file, 5 the cluster does not answer,
6 the cluster refuses. It needs the verbs get and list on pods and list on nodes, in the whole cluster."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the desk's parser."""
    parser = commands.add_parser(
        NAME, help=SUMMARY, description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("pods", metavar="POD", nargs="+", type=parse_pod_name, help="a Pod's name; several give a list")
    parser.add_argument("-n", "--namespace", default="default", type=parse_namespace, help="default: default")
    parser.add_argument("--word", action="store_true", help="print the word alone (several Pods: <pod> <word>)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    add_shared_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, connect: Connect) -> int:
    """Run the command and return its exit code."""
    if args.word and args.output == "json":
        raise CommandError("--word and -o json exclude each other", EXIT_USAGE)
    snapshot = open_snapshot(args, connect)
    is_list = len(args.pods) > 1
    has_words_alone = args.word or (is_list and args.output == "text")
    options = read_options(args, snapshot)
    found = judge_pods(snapshot, options, args.namespace, args.pods, needs_evidence=not has_words_alone)
    present = [(name, verdict) for name, verdict in found if verdict is not None]
    show_warnings(PROG, snapshot)
    if has_words_alone:
        write(format_words(present, is_list=is_list))
    elif args.output == "json":
        write(format_json([verdict for _, verdict in present], is_list=is_list) if present else "")
    elif present:
        write(format_text(present[0][1], wants_colour(sys.stdout)))
    absent = [name for name, verdict in found if verdict is None]
    return report_absent(PROG, snapshot, args.namespace, absent)


def write(text: str) -> None:
    """Print a command's whole answer at once."""
    if text:
        print(text)


def format_words(verdicts: list[tuple[str, Verdict]], *, is_list: bool) -> str:
    """Return one word, or `<pod> <word>` lines."""
    return "\n".join(f"{name} {verdict.word}" if is_list else str(verdict.word) for name, verdict in verdicts)


def report_absent(prog: str, snapshot: Snapshot, namespace: str, names: list[str]) -> int:
    """Name the Pods that do not exist on stderr, with the namespaces where one of that name does."""
    for name in names:
        elsewhere = snapshot.namespaces_of(name)
        hint = f"; a Pod of that name is in: {', '.join(elsewhere)}" if elsewhere else ""
        fail(prog, f"Pod {namespace}/{name} not found{hint}", EXIT_NOT_FOUND)
    return EXIT_NOT_FOUND if names else EXIT_OK


def show_warnings(prog: str, snapshot: Snapshot) -> None:
    """Print what was left out or looks incomplete, since a verdict without it may be another."""
    for message in snapshot.warnings[:WARNINGS_SHOWN_MAX]:
        warn(prog, message)
    more = len(snapshot.warnings) - WARNINGS_SHOWN_MAX
    if more > 0:
        warn(prog, f"and {more} more objects that can't be read")
