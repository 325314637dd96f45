"""In which order parts end: the reverse of their start, whichever of them were started again in between."""

import re
import sys
from pathlib import Path

from infra.local.part import Definition
from infra.local.supervisor import Supervisor

PROGRAM = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("up", flush=True)
signal.sigwait({signal.SIGTERM})
open(sys.argv[1], "a").write(sys.argv[2] + "\\n")
"""


def test_part_that_was_started_again_ends_in_its_old_place(tmp_path: Path) -> None:
    ends = tmp_path / "ends"
    first, second = (
        Definition(name, [sys.executable, "-c", PROGRAM, str(ends), name], ready=re.compile("up"))
        for name in ("first", "second")
    )
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.start(first)
        supervisor.start(second)
        supervisor.part("first").kill()
        supervisor.restart("first")

    assert ends.read_text().split() == ["second", "first"]
