"""The agent's log: one JSON object a line on stderr, or plain lines for a terminal. One line per decision.

Every text that comes from outside is cut and printable here, whatever the caller did.
"""

import os
import time
from enum import Enum

from gpureport.contract.fields import dump_object

TEXT_CHARACTERS_MAX = 600
"""Longest value of one member; a 422 of the apiserver can repeat the whole Node, 20 KB and more."""


class Severity(Enum):
    """Cloud Logging's words; source: cloud.google.com/logging, LogSeverity."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class LogFormat(Enum):
    """How a line looks."""

    JSON = "json"
    TEXT = "text"


class Log:
    """Writes lines to one descriptor. Never raises: a log that cannot be written ends nothing."""

    def __init__(self, log_format: LogFormat = LogFormat.JSON, descriptor: int = 2) -> None:
        self._format = log_format
        self._descriptor = descriptor
        self._last_by_topic: dict[str, str] = {}

    def info(self, event: str, message: str, **fields: object) -> None:
        """Say what was done."""
        self._write(Severity.INFO, event, message, fields)

    def warning(self, event: str, message: str, **fields: object) -> None:
        """Say what was not as it should be."""
        self._write(Severity.WARNING, event, message, fields)

    def error(self, event: str, message: str, **fields: object) -> None:
        """Say what needs a person."""
        self._write(Severity.ERROR, event, message, fields)

    def note(self, topic: str, message: str, **fields: object) -> None:
        """Say something about a standing condition, once per change of the sentence; an empty one only resets it."""
        if self._last_by_topic.get(topic, "") != message:
            self._last_by_topic[topic] = message
            if message:
                self._write(Severity.WARNING, topic, message, fields)

    def info_list(self, event: str, names: list[str]) -> None:
        """Say a list of names of our own on one line, however long: it is asked for by a signal, not by the world."""
        self._emit(dump_object({"severity": Severity.INFO.value, "event": event, event: [clean(n) for n in names]}))

    def _write(self, severity: Severity, event: str, message: str, fields: dict[str, object]) -> None:
        shown = {name: clean(value) for name, value in fields.items() if value is not None}
        at = time.time()
        instant = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1000):03d}Z"
        if self._format is LogFormat.JSON:
            line = dump_object(
                {"severity": severity.value, "time": instant, "event": event, "message": clean(message), **shown}
            )
        else:
            tail = "".join(f" {name}={value}" for name, value in shown.items())
            line = f"{instant[11:23]} {severity.value:7} {event}: {clean(message)}{tail}"
        self._emit(line)

    def _emit(self, line: str) -> None:
        try:
            os.write(self._descriptor, (line + "\n").encode("utf-8", "backslashreplace"))
        except OSError:
            return


def clean(value: object) -> object:
    """Make any value safe to show on one line: numbers and flags as they are, texts printable and cut."""
    if isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    if len(text) > TEXT_CHARACTERS_MAX:
        text = text[: TEXT_CHARACTERS_MAX - 1] + "…"
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
