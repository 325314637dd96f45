"""The agent's command line: `python -I -S FOLDER run`, and `finish` in the folder of the finish child.

Which commands there are; their flags stand with each of them.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

USAGE = """usage: agent {run,finish} ...

  run     serve the GPU report requests of one Node; see agent run --help
  finish  judge, stage and publish one report; started by the agent itself, in the folder of the finish child
"""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", ())
    if command == "run":
        from agent.bootstrap import run
        from agent.settings import parse_settings

        return run(parse_settings(rest, os.environ, os.path.dirname(os.path.abspath(__file__))))
    if command == "finish":
        # By name: the folder of the agent itself holds no such module, and must not need one.
        code: int = import_module("agent.finish.main").main(rest)
        return code
    from gpureport.contract.exit_codes import EXIT_OK, EXIT_USAGE

    is_asked = command in ("-h", "--help")
    (sys.stdout if is_asked else sys.stderr).write(USAGE)
    return EXIT_OK if is_asked else EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
