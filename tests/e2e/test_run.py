"""`make run` as a person runs it: what it shows, and that nothing of it is left however it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.layout import REPOSITORY
from infra.local.guard import find_descendants
from infra.local.pipeline import REAL, STAND_IN

WAIT_S_MAX = 60.0

STARTING = re.compile(r"starting")
ETCD_ALONE = re.compile(r"etcd ready")
SCRIPT = re.compile(r"the host's script is started")
UPLOAD = re.compile(r"staging the report")


class Run:
    """A pipeline run in a work folder of its own; every process of it carries that folder's path somewhere."""

    def __init__(self, work: Path, *options: str) -> None:
        self.work = work
        self.log = work.with_suffix(".log")
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                # A shell with a second command stays as the parent, as make does.
                [
                    "sh",
                    "-c",
                    '"$@"; exit $?',
                    "sh",
                    sys.executable,
                    "-m",
                    "infra.local",
                    "run",
                    "--with-parent",
                    "--work",
                    str(work),
                    *options,
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=REPOSITORY,
                start_new_session=True,
            )

    def wait_for(self, pattern: re.Pattern[str]) -> str:
        until = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < until:
            text = self.log.read_text()
            if pattern.search(text):
                return text
            assert self.process.poll() is None, text
            time.sleep(0.01)
        raise AssertionError(f"{pattern.pattern!r} is not in:\n{self.log.read_text()}")

    def wait_for_guard(self) -> int:
        """Return the guard's pid once its interpreter runs our program."""
        until = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < until:
            for pid in sorted(find_descendants(self.process.pid)):
                # Python has read its program once it handles SIGINT by itself (bit 2 of the mask of caught signals).
                caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
                if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                    return pid
            time.sleep(0.005)
        raise AssertionError("no guard")

    @property
    def guard(self) -> int:
        return min(find_descendants(self.process.pid))

    @property
    def supervisor(self) -> int:
        return min(find_descendants(self.guard))

    def left(self) -> list[str]:
        """Return the command of every process that has to do with this run."""
        return [command for pid, command in _processes() if pid != os.getpid() and _belongs(pid, command, self.work)]


def _processes() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue


def _belongs(pid: int, command: str, work: Path) -> bool:
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return str(work) in command or folder.startswith(str(work)) or str(work).encode() in environment


def wait_until_nothing_is_left(run: Run) -> None:
    until = time.monotonic() + WAIT_S_MAX
    while run.left():
        assert time.monotonic() < until, run.left()
        time.sleep(0.05)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start_run(*options: str) -> Run:
        runs.append(Run(tmp_path / f"run-{len(runs)}", *options))
        return runs[-1]

    yield start_run
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
        run.process.wait()
        wait_until_nothing_is_left(run)


@pytest.mark.parametrize("cluster", [STAND_IN, REAL])
def test_run_shows_the_whole_story_and_leaves_nothing(start, cluster: str) -> None:
    run = start("--cluster", cluster)

    assert run.process.wait(WAIT_S_MAX) == 0, run.log.read_text()
    text = run.log.read_text()
    wanted = ("in-progress", "completed", "gs://archive/v1/local/gpu-node-1/", "manifest.json", "allocatable-zero")
    assert [want for want in wanted if want not in text] == []
    assert "The archived bytes have the SHA-256 that stands on the Node." in text
    assert run.left() == []


@pytest.mark.parametrize(
    ("cluster", "moment"),
    [
        pytest.param(STAND_IN, STARTING, id="starting"),
        pytest.param(STAND_IN, SCRIPT, id="script"),
        pytest.param(STAND_IN, UPLOAD, id="upload"),
        pytest.param(REAL, ETCD_ALONE, id="etcd alone"),
        pytest.param(REAL, SCRIPT, id="script on the real cluster"),
    ],
)
def test_interrupt_leaves_nothing(start, cluster: str, moment: re.Pattern[str]) -> None:
    run = start("--cluster", cluster)
    run.wait_for(moment)

    # Ctrl-C reaches the foreground process group: make, the guard and the supervisor.
    os.killpg(run.process.pid, signal.SIGINT)

    assert run.process.wait(WAIT_S_MAX) in (130, -signal.SIGINT)
    wait_until_nothing_is_left(run)


@pytest.mark.parametrize(
    ("who", "cluster"),
    [
        ("make", STAND_IN),
        ("guard", STAND_IN),
        ("supervisor", STAND_IN),
        ("guard and supervisor", STAND_IN),
        # Nobody is left there who could stop the apiserver before etcd.
        ("guard and supervisor", REAL),
    ],
)
def test_kill_leaves_nothing(start, who: str, cluster: str) -> None:
    run = start("--cluster", cluster)
    run.wait_for(SCRIPT)
    victims = {
        "make": [run.process.pid],
        "guard": [run.guard],
        "supervisor": [run.supervisor],
        "guard and supervisor": [run.guard, run.supervisor],
    }[who]

    for pid in victims:
        os.kill(pid, signal.SIGKILL)

    wait_until_nothing_is_left(run)


@pytest.mark.parametrize("after_s", [0.05, 0.2, 0.5, 1.0, 1.5])
def test_interrupt_before_anything_is_started_is_quiet(start, after_s: float) -> None:
    run = start()
    guard = run.wait_for_guard()
    time.sleep(after_s)  # the moment of the signal is what this test is about

    os.kill(guard, signal.SIGINT)

    assert run.process.wait(WAIT_S_MAX) == 130, run.log.read_text()
    assert "Traceback" not in run.log.read_text()
    wait_until_nothing_is_left(run)


def test_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent.sh"

    done = subprocess.run(
        [sys.executable, "-m", "infra.local", "run", "--script", str(absent)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=WAIT_S_MAX,
        check=False,
    )

    assert done.returncode == 2
    assert f"{absent}: there is no such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_real_cluster_whose_programs_are_not_here_names_the_command_that_brings_them(
    start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    run = start("--cluster", REAL)

    assert run.process.wait(WAIT_S_MAX) == 1
    text = run.log.read_text()
    assert "run `make parts PART=control-plane`" in text
    assert "Traceback" not in text


def test_kubeconfig_beside_the_real_cluster_is_wrong_use(start, tmp_path: Path) -> None:
    run = start("--cluster", REAL, "--kubeconfig", str(tmp_path / "kubeconfig"))

    assert run.process.wait(WAIT_S_MAX) == 2
    assert "--kubeconfig names a cluster that runs already: leave --cluster real out" in run.log.read_text()


def test_part_that_does_not_start_is_named_with_its_log(start, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": []}))

    run = start("--kubeconfig", str(kubeconfig))

    assert run.process.wait(WAIT_S_MAX) == 1
    assert "Traceback" not in run.log.read_text()
    assert str(kubeconfig) in run.log.read_text()
