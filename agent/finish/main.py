"""Which of the child's two commands is asked for: `finish judge` or `finish deliver`.

Each writes one line of JSON to stdout, whatever happens, and its exit code says who must act. The commands' libraries
are imported when they run: judging must start fast, and delivering needs memory.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from gpureport.contract.exit_codes import EXIT_INTERNAL


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    options = _parse(arguments)
    code, answer = _run(options)
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return code


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="agent finish", description="Judge a report, or deliver a run.")
    commands = parser.add_subparsers(dest="command", required=True)
    judge = commands.add_parser("judge", help="say whether a report is whole, and hash it")
    judge.add_argument("--file", required=True, help="the report; plain text is compressed in its place")
    deliver = commands.add_parser("deliver", help="stage a run's report and publish its event; the run comes by stdin")
    deliver.add_argument("--project", required=True, help="the Google Cloud project of the topic")
    deliver.add_argument("--bucket", required=True, help="the staging bucket")
    deliver.add_argument("--topic", required=True, help="the topic of agents' events")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    try:
        if options.command == "judge":
            from agent.finish.judging import judge_file

            return judge_file(options.file)
        from agent.finish.delivering import deliver_run

        return deliver_run(sys.stdin.buffer, options.project, options.bucket, options.topic)
    except OSError as problem:
        return EXIT_INTERNAL, {"problem": str(problem)}
