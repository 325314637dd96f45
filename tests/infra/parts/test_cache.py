"""A part is whole under its name or not there at all, whoever is stopped or comes at the same time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.layout import REPOSITORY
from infra.parts.cache import cache_root, ensure_folder, make_key, part_folder

MAKER = """
import sys, time
from pathlib import Path
from infra.parts.cache import ensure_folder

def make(folder):
    with open(sys.argv[1], "a") as log:
        log.write("made\\n")
    (folder / "half").write_text("half")
    time.sleep(float(sys.argv[2]))
    (folder / "program").write_text("whole")

print(ensure_folder("thing", "k1", make))
"""


def start_maker(log: Path, takes_s: float) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", MAKER, str(log), str(takes_s)], cwd=REPOSITORY)


def make_program(folder: Path) -> None:
    (folder / "program").write_text("whole")


def test_part_is_made_once(cache: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        make_program(folder)

    want = cache / "thing-k1"
    assert ensure_folder("thing", "k1", make) == want
    assert ensure_folder("thing", "k1", make) == want
    assert len(made) == 1
    assert (want / "program").read_text() == "whole"


def test_failed_making_leaves_no_part_and_keeps_what_it_had(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "download").write_text("kept")
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        ensure_folder("thing", "k1", fail)
    assert not part_folder("thing", "k1").exists()

    seen = []

    def go_on(folder: Path) -> None:
        seen.append((folder / "download").read_text())
        make_program(folder)

    ensure_folder("thing", "k1", go_on)
    assert seen == ["kept"]


def test_killed_making_leaves_no_part_and_the_next_one_makes_it(cache: Path, tmp_path: Path) -> None:
    log, half = tmp_path / "log", cache / "thing-k1.partial" / "half"
    maker = start_maker(log, takes_s=60)
    until = time.monotonic() + 20
    while not half.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(maker.pid, signal.SIGKILL)
    maker.wait()

    assert not part_folder("thing", "k1").exists()
    folder = ensure_folder("thing", "k1", make_program)

    assert (folder / "program").read_text() == "whole"
    assert not half.exists()


def test_two_that_want_the_same_part_make_it_once(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    makers = [start_maker(log, takes_s=0.3) for _ in range(2)]

    assert [maker.wait(20) for maker in makers] == [0, 0]
    assert log.read_text() == "made\n"


def test_newer_part_replaces_older_ones_of_its_name_only(cache: Path) -> None:
    ensure_folder("thing", "k1", make_program)
    ensure_folder("thing-else", "k1", make_program)
    (cache / "thing-k0.partial").mkdir()

    ensure_folder("thing", "k2", make_program)

    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == ["thing-else-k1", "thing-k2"]


def test_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in ("relative/path", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", text)
        assert cache_root() == tmp_path / ".cache" / "gpureport"


def test_key_tells_ingredients_apart_however_they_are_cut() -> None:
    assert make_key("ab", "c") != make_key("a", "bc")
    assert make_key("a", "b") == make_key(b"a", b"b")
