"""The host's script as a measurement sees it: the stand-in, wrapped so that it notes when it starts and ends.

The instants are of the system's clock; on one machine they compare with those of whoever waits. `date` is a program to
start: its millisecond counts to what is measured.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

from bench.rows import NotMeasured
from infra.layout import STAND_IN_SCRIPT

_WRAPPER = """#!/bin/sh
date +%s.%N >"{folder}/started"
"{stand_in}" "$@"
code=$?
date +%s.%N >"{folder}/ended"
exit $code
"""


class Stamps(NamedTuple):
    """When one run of the script started and ended, in seconds of the system's clock."""

    started_s: float
    ended_s: float


class HostScript:
    """The wrapped script in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        stand_in = shutil.copytree(STAND_IN_SCRIPT.parent, folder / "script") / STAND_IN_SCRIPT.name
        stand_in.chmod(0o755)
        self._configuration = stand_in.with_suffix(".conf")
        self.path = folder / "nvidia-bug-report.sh"
        self.path.write_text(_WRAPPER.format(folder=folder, stand_in=stand_in))
        self.path.chmod(0o755)

    def configure(self, extra_text_kib: int) -> None:
        """Make the next reports so much longer than the plain one, in KiB of text."""
        self._configuration.write_text(f"EXTRA_TEXT_KIB={extra_text_kib}\n")

    def read_stamps(self) -> Stamps:
        """Read when the last run started and ended; `NotMeasured` when it did not."""
        try:
            return Stamps(*(float((self._folder / name).read_text()) for name in ("started", "ended")))
        except (OSError, ValueError) as error:
            raise NotMeasured(f"the script left no instants: {error}") from None
