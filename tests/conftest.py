"""What holds for every test: the closing table of real parts, and in CI no test may be skipped."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.pubsub.emulator import EmulatorMissing, find_command
from infra.parts.catalogue import PARTS, REQUIRED, find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which real counterparts there were, and which of them these tests asked for."""
    terminalreporter.section("real parts")
    for name, state in _list_parts():
        terminalreporter.write_line(f"{name:<24} {state}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail in CI when anything was skipped: there every part is to be had."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    if os.environ.get("CI") and skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\n{len(skipped)} skipped tests: in CI none may be", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _list_parts() -> Iterator[tuple[str, str]]:
    for name in PARTS:
        folder = find(name)
        used = "used" if name in REQUIRED else "not asked for by these tests"
        yield name, f"MISSING: make parts PART={name}" if folder is None else f"{used}, {_describe(folder)}"
    try:
        yield "pubsub emulator", Path(find_command(os.environ)[-1]).name
    except EmulatorMissing as missing:
        yield "pubsub emulator", f"MISSING: {missing}"
    yield "kubectl", shutil.which("kubectl") or "MISSING: install kubectl"


def _describe(folder: Path) -> str:
    return folder.name
