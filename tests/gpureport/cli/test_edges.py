"""How commands end, seen from outside: real processes, real pipes, real signals."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpureport.cli.terminal import format_table, paint, printable, wants_colour

RUN = "import sys; from gpureport.cli.main import main; sys.exit(main())"
TIMEOUT_S = 30


def run(*argv: str, code: str = RUN, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *argv]
    environ = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environ, check=False)


def test_closed_pipe_is_quiet(saved: Callable[[str], str]) -> None:
    command = [sys.executable, "-c", RUN, "triage", "--objects", saved("C-88"), "-n", "ml", "p"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        err = child.stderr.read()
        assert child.wait(TIMEOUT_S) == 0
    assert err == b""


def test_ctrl_c_is_exit_code_130_and_quiet(tmp_path: Path) -> None:
    pipe = tmp_path / "objects"
    os.mkfifo(pipe)
    # As on a terminal: a job in the background is born with SIGINT ignored, and so are its children.
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {RUN}"
    command = [sys.executable, "-c", code, "triage", "--objects", str(pipe), "p"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        # Opening for writing returns once the command has opened the file for reading: it is at work.
        with pipe.open("wb"):
            # Python looks for signals before it reads, not while: one that comes in between waits for another.
            for _ in range(TIMEOUT_S):
                if child.poll() is not None:
                    break
                child.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.5)
            out, err = child.communicate(timeout=TIMEOUT_S)
        assert child.returncode == 130
    assert (out, err) == (b"", b"")


FAULT = "from gpureport.cli.edges import run_command; import sys; sys.exit(run_command('tool', lambda: 1 // 0))"


def test_fault_of_the_program_is_one_line_and_exit_code_70() -> None:
    done = run(code=FAULT)
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "internal fault: ZeroDivisionError" in done.stderr


def test_fault_shows_its_traceback_on_request() -> None:
    done = run(code=FAULT, GPUREPORT_TRACEBACK="1")
    assert done.returncode == 70
    assert "Traceback" in done.stderr


def test_no_kubeconfig_at_all_says_what_to_do(tmp_path: Path) -> None:
    done = run("triage", "p", HOME=str(tmp_path), KUBECONFIG="")
    assert done.returncode == 6
    assert done.stderr.count("\n") == 1
    assert "--objects FILE" in done.stderr


def test_context_without_a_kubeconfig_is_a_usage_error(tmp_path: Path) -> None:
    done = run("triage", "p", "--context", "x", HOME=str(tmp_path), KUBECONFIG="")
    assert done.returncode == 2
    assert "--kubeconfig" in done.stderr


def test_unreachable_cluster_is_exit_code_5(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"
    )
    done = run("triage", "p", "--kubeconfig", str(kubeconfig))
    assert done.returncode == 5
    assert done.stderr.count("\n") == 1


class Stream:
    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environment", "want"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    is_terminal: bool, environment: dict[str, str], want: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(Stream(is_terminal)) is want  # type: ignore[arg-type] - all that it asks of a stream


def test_paint_wraps_a_text_or_leaves_it() -> None:
    assert paint("ok", "32", True) == "\x1b[32mok\x1b[0m"
    assert paint("ok", "32", False) == "ok"


def test_table_aligns_numbers_to_the_right() -> None:
    assert format_table(("STAGE", "N"), [("a", "5"), ("b", "12")]) == "STAGE   N\na       5\nb      12"


def test_table_cuts_long_cells() -> None:
    assert len(format_table(("A",), [("x" * 1000,)]).splitlines()[1]) == 120


def test_printable_is_one_line() -> None:
    assert printable("a\x1b[2J\nb\tc") == "a [2J b c"
