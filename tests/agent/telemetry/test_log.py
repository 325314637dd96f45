"""A log line is one line, whatever is put into it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.telemetry.log import TEXT_CHARACTERS_MAX, Log, LogFormat, clean


class Lines:
    """A log file, read back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def read(self) -> list[str]:
        return self._path.read_text().splitlines()


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Lines]:
    lines = Lines(tmp_path / "log")
    yield lines
    os.close(lines.descriptor)


def test_line_is_one_json_object_in_cloud_loggings_words(lines: Lines) -> None:
    Log(LogFormat.JSON, lines.descriptor).info("claimed", "a manual request", runId="7f", deaths=None)
    entry = json.loads(lines.read()[0])
    assert {name: entry[name] for name in ("severity", "event", "message", "runId")} == {
        "severity": "INFO",
        "event": "claimed",
        "message": "a manual request",
        "runId": "7f",
    }
    assert "deaths" not in entry


def test_text_line_is_for_people(lines: Lines) -> None:
    Log(LogFormat.TEXT, lines.descriptor).warning("watch", "broke", code=3)
    assert lines.read()[0][13:] == "WARNING watch: broke code=3"


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_hostile_text_stays_on_one_short_line(lines: Lines, log_format: LogFormat) -> None:
    Log(log_format, lines.descriptor).error("x", "a\nb\x1b[31m\ud800" + "y" * 5000, foreign="c\r\nd")
    (line,) = lines.read()
    assert "\x1b" not in line
    assert len(line) < 2 * TEXT_CHARACTERS_MAX


def test_standing_condition_is_said_once_per_change(lines: Lines) -> None:
    log = Log(LogFormat.JSON, lines.descriptor)
    for message in ("down", "down", "", "down", "worse", ""):
        log.note("apiserver", message)
    assert [json.loads(line)["message"] for line in lines.read()] == ["down", "down", "worse"]


def test_log_that_cannot_be_written_ends_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    Log(LogFormat.JSON, writing).info("x", "nobody reads this")
    os.close(writing)


@given(st.text())
def test_clean_text_is_printable_and_short(text: str) -> None:
    shown = clean(text)
    assert isinstance(shown, str)
    assert shown.isprintable()
    assert len(shown) <= TEXT_CHARACTERS_MAX
