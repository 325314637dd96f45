"""`gpureport reasons`: what the word behind `failed:` means, and what to do about it."""

import argparse
import json

from gpureport.cli.edges import CommandError
from gpureport.cli.triage_options import Connect
from gpureport.contract.exit_codes import EXIT_NOT_FOUND, EXIT_OK
from gpureport.contract.reasons import REASONS, Reason

DESCRIPTION = """\
What the word behind `failed:` in cloud.google.com/gpu-report-status means, and what to do about it.

examples:
  gpureport reasons
  gpureport reasons script-not-found
  gpureport reasons -o json
"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the desk."""
    parser = commands.add_parser(
        "reasons",
        help="say what a failure's reason means, and what to do",
        description=DESCRIPTION,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="WORD", nargs="*", help="a reason; all of them without one")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _connect: Connect) -> int:
    """Print the reasons asked for; `CommandError` for a word that is none."""
    unknown = [word for word in args.words if word not in REASONS]
    if unknown:
        raise CommandError(f"{unknown[0]!r} is no reason; there are {', '.join(REASONS)}", EXIT_NOT_FOUND)
    chosen = [REASONS[word] for word in args.words or REASONS]
    print(json.dumps([reason._asdict() for reason in chosen], indent=2) if args.output == "json" else _format(chosen))
    return EXIT_OK


def _format(reasons: list[Reason]) -> str:
    width = max(len(reason.word) for reason in reasons)
    return "\n".join(f"{one.word:<{width}}  {one.sentence}\n{'':<{width}}  → {one.remedy}" for one in reasons)
