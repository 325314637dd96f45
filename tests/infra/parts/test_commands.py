"""A part's commands are bounded, and their output is kept."""

import time
from pathlib import Path

import pytest

from infra.parts.__main__ import main
from infra.parts.catalogue import CONTROL_PLANE, PARTS
from infra.parts.commands import CannotBring, run_command


def test_output_of_each_command_is_kept_and_only_the_last_ones_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_command(["sh", "-c", "echo first"], tmp_path, log, timeout_s=10)
    with pytest.raises(CannotBring, match="second") as failure:
        run_command(["sh", "-c", "echo second >&2; exit 3"], tmp_path, log, timeout_s=10)

    assert log.read_text() == "first\nsecond\n"
    assert "ended with 3" in str(failure.value)
    assert "first" not in str(failure.value)


def test_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(CannotBring, match="not done in 1 s; run it again"):
        run_command(["sleep", "60"], tmp_path, tmp_path / "log", timeout_s=1)
    assert time.monotonic() - began < 10


def test_unknown_part_is_wrong_use(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["control-plain"])
    assert exit_.value.code == 2
    assert "no part control-plain; there are control-plane, script-535" in capsys.readouterr().err


def test_part_that_cannot_be_had_keeps_no_other_away(
    cache: Path, empty_path: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kwok", "script-550"]) == 1

    said = capsys.readouterr().out
    assert "kwok: NOT HAD: no go on this machine" in said
    assert "script-550: NOT HAD: no dpkg on this machine" in said


def test_part_that_is_here_is_not_brought_again(
    cache: Path, tmp_path: Path, empty_path: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in PARTS[CONTROL_PLANE].files:
        (tmp_path / file).touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    assert main([CONTROL_PLANE]) == 0
    assert capsys.readouterr().out == f"control-plane: {tmp_path} (0 s)\n"
