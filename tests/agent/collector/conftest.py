"""Real children, and a host's root laid out in a folder."""

import os
import select
import shutil
import signal
import time
from pathlib import Path

import pytest

from agent.collector.child import Child
from agent.collector.processes import list_session

REPOSITORY = Path(__file__).resolve().parents[3]
STAND_IN = REPOSITORY / "infra/local/script/nvidia-bug-report.sh"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
LIMIT_S = 20.0


class Runner:
    """Starts children and takes them to their end, as the agent's loop does."""

    def __init__(self):
        self.children = []

    def start(self, *argv, env=ENVIRONMENT, cwd=None, timeout_s=10.0, grace_s=5.0, **options):
        argv = [shutil.which(argv[0]) or argv[0], *argv[1:]]
        child = Child.start(
            argv, env=env, cwd=cwd, timeout_s=timeout_s, grace_s=grace_s, now=time.monotonic(), **options
        )
        self.children.append(child)
        return child

    def finish(self, child):
        """Poll and step until the child has ended; each step must return at once."""
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            poll = select.poll()
            for fd in child.fds():
                poll.register(fd, select.POLLIN)
            poll.poll(max(0.0, child.wake_at() - time.monotonic()) * 1000)
            before = time.monotonic()
            end = child.step(before)
            assert time.monotonic() - before < 1.0
            if end is not None:
                return end
        raise AssertionError("the child did not end")

    def run(self, *argv, **options):
        return self.finish(self.start(*argv, **options))

    def shell(self, text, **options):
        return self.run("/bin/sh", "-c", text, **options)

    def wait_for(self, condition):
        """Poll until a condition holds; fails after a time."""
        limit = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < limit
            select.select([], [], [], 0.01)

    def close(self):
        for child in self.children:
            for process in list_session(child.session_id):
                os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def runner():
    running = Runner()
    yield running
    running.close()


@pytest.fixture
def host_root(tmp_path):
    """An empty folder that stands for the host's root."""
    root = tmp_path / "host"
    root.mkdir()
    return root


@pytest.fixture
def stand_in():
    """The script that writes reports of the real structure."""
    return STAND_IN


@pytest.fixture
def run_stand_in(runner, tmp_path):
    """Run the stand-in with some settings in a folder of its own; return its end and that folder."""

    def run(*flags, timeout_s=10.0, grace_s=1.0, **settings):
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir()
        work.mkdir()
        script = shutil.copy(STAND_IN, home)
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (home / "nvidia-bug-report.conf").write_text("".join(lines))
        argv = [script, "--output-file", "r.log", *flags]
        end = runner.run(*argv, cwd=str(work), timeout_s=timeout_s, grace_s=grace_s)
        return end, work

    return run
