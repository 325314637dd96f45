"""Where the measurements happen: one local pipeline, started when the first of them needs it, and a folder.

What is measured there belongs to the measurements.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

from bench.host_script import HostScript
from bench.reports import ReportFile, ensure_report
from infra.layout import REPOSITORY
from infra.local.pipeline import Pipeline, Settings

WORK_ROOT = REPOSITORY / "build" / "bench" / "work"
SCRIPT_TIMEOUT_S = 60.0


class Stage:
    """The pipeline and what belongs to it; a context manager that stops everything."""

    def __init__(self, say: Callable[[str], None], work: Path | None = None) -> None:
        self.say = say
        self.work = work or WORK_ROOT / str(os.getpid())
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._exits.close()
        shutil.rmtree(self.work, ignore_errors=True)

    @cached_property
    def script(self) -> HostScript:
        """The script that agents run here: the stand-in, which notes when it starts and ends."""
        return HostScript(self.work / "host")

    @cached_property
    def pipeline(self) -> Pipeline:
        """The whole pipeline, running; Google's clients of this process find it too."""
        settings = Settings(
            work=self.work / "local", script=self.script.path, timeout_s=SCRIPT_TIMEOUT_S, delivery_backoff_s=2.0
        )
        pipeline = self._exits.enter_context(Pipeline(settings, self.say))
        pipeline.start()
        os.environ.update(pipeline.environment)
        return pipeline

    def report(self, raw_mb: float) -> ReportFile:
        """Return a report file of so many millions of bytes of text."""
        return ensure_report(raw_mb)
