"""Keeps the parts of the local pipeline: starts them in order, restarts what ends by itself, stops all in reverse."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from infra.local.part import Definition, Part, PartFailed

RESTARTS_MAX = 5
"""Restarts of one part within `RESTART_WINDOW_S`; after that it is left down and said to be."""
RESTART_WINDOW_S = 60.0


def say_nothing(_text: str) -> None:
    """Report to nobody."""


class Supervisor:
    """The running parts by name; a context manager, so that they are stopped whatever happens. One thread."""

    def __init__(self, logs: Path, say: Callable[[str], None] = say_nothing) -> None:
        self._logs = logs
        self._say = say
        self._parts: dict[str, Part] = {}
        self._definitions: dict[str, Definition] = {}
        self._groups: list[tuple[str, ...]] = []
        self._restarts: dict[str, list[float]] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    def start(self, *definitions: Definition) -> list[Part]:
        """Start some parts side by side and wait until each is ready; `PartFailed` names the one that is not."""
        began = time.monotonic()
        for definition in definitions:
            self._definitions[definition.name] = definition
            self._parts[definition.name] = Part(definition, self.log_path(definition.name))
        started = [self._parts[definition.name] for definition in definitions]
        for part in started:
            part.wait_ready()
        names = tuple(definition.name for definition in definitions)
        # A part that is started again keeps its place in the order of stopping.
        if not {name for group in self._groups for name in group}.issuperset(names):
            self._groups.append(names)
        self._say(f"{', '.join(names)} ready in {time.monotonic() - began:.1f} s")
        return started

    def restart(self, name: str) -> Part:
        """Start a part again that was stopped or has ended, with what it was started with."""
        return self.start(self._definitions[name])[0]

    def part(self, name: str) -> Part:
        """Return a part by its name."""
        return self._parts[name]

    def log_path(self, name: str) -> Path:
        """Return where a part writes."""
        return self._logs / f"{name}.log"

    def check(self) -> None:
        """Raise `PartFailed` when a part has ended by itself."""
        for part in self._parts.values():
            if not part.is_alive():
                raise PartFailed(part.describe_end())

    def revive(self) -> list[str]:
        """Restart what has ended by itself, a bounded number of times; return the names of what runs again."""
        ended = [name for name, part in self._parts.items() if not part.is_alive()]
        return [name for name in ended if self._revive(name)]

    def _revive(self, name: str) -> bool:
        now = time.monotonic()
        self._say(self._parts[name].describe_end())
        recent = [at for at in self._restarts.get(name, []) if now - at < RESTART_WINDOW_S]
        if len(recent) >= RESTARTS_MAX:
            self._say(f"{name} stays down: {RESTARTS_MAX} restarts in {RESTART_WINDOW_S:.0f} s")
            del self._parts[name]
            return False
        self._restarts[name] = [*recent, now]
        try:
            self.restart(name)
        except PartFailed as failure:
            self._say(str(failure))
            return False
        return True

    def stop_all(self) -> None:
        """Stop every part, what was started last first, side by side what was started side by side."""
        remaining = dict(self._parts)
        self._parts.clear()
        for names in [*reversed(self._groups), tuple(remaining)]:
            parts = [remaining.pop(name) for name in names if name in remaining]
            for part in parts:
                part.begin_stop()
            for part in parts:
                part.stop()
        self._groups.clear()
