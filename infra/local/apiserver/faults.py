"""What goes wrong on purpose, and what was asked: the hooks by which tests drive this stand-in.

Served under /_local/, which no kube-apiserver has; nothing here is consulted unless a test asked for it.
"""

import time
from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

JOURNAL_REQUESTS_MAX = 10_000
"""Requests that the journal keeps; the oldest go first."""

FAULTS_MAX = 100
"""Faults set at one time."""

DELAY_S_MAX = 60.0


class Fault(NamedTuple):
    """One way to fail: `status` 0 closes the connection without an answer; `after` performs the request first."""

    status: int
    headers: dict[str, str]
    body: str | None
    after: bool
    delay_s: float


class JournalEntry(NamedTuple):
    """One request as it was answered; `status` is 0 when the connection was closed instead."""

    at: float
    method: str
    path: str
    user: str
    status: int


class _Armed:
    def __init__(self, match: str, times: int, fault: Fault) -> None:
        self.match = match
        self.times = times
        self.fault = fault


class Faults:
    """The faults set, the interruptions of watches, and the journal of requests."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._armed: list[_Armed] = []
        self._journal: deque[JournalEntry] = deque(maxlen=JOURNAL_REQUESTS_MAX)
        self.drops = 0
        """How often all watches were ended."""
        self.hangs = 0
        """How often all watches were silenced."""

    def interrupt(self, how: str) -> None:
        """End ("drop") or silence ("hang") every watch open now."""
        with self._lock:
            self.drops += how == "drop"
            self.hangs += how == "hang"

    def arm(self, order: Mapping[str, Any]) -> None:
        """Set a fault for the next `times` requests that start with `match`; raises `ValueError` for a bad order."""
        match order:
            case {"match": str(match), "status": int(status)}:
                headers = {str(name): str(value) for name, value in dict(order.get("headers", {})).items()}
                delay_s = min(float(order.get("delay_s", 0)), DELAY_S_MAX)
                fault = Fault(status, headers, order.get("body"), bool(order.get("after", False)), delay_s)
            case _:
                raise ValueError('a fault is {"match": "PATCH /api/v1/nodes/n1", "times": 1, "status": 503}')
        with self._lock:
            if len(self._armed) >= FAULTS_MAX:
                raise ValueError(f"more than {FAULTS_MAX} faults are set")
            self._armed.append(_Armed(match, int(order.get("times", 1)), fault))

    def disarm(self) -> None:
        """Take back every fault."""
        with self._lock:
            self._armed.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """Take the fault for this request, if one is set."""
        with self._lock:
            for armed in self._armed:
                if f"{method} {path}".startswith(armed.match):
                    armed.times -= 1
                    if armed.times <= 0:
                        self._armed.remove(armed)
                    return armed.fault
        return None

    def record(self, method: str, path: str, user: str, status: int) -> None:
        """Write one answered request into the journal."""
        with self._lock:
            self._journal.append(JournalEntry(time.time(), method, path, user, status))

    def read_journal(self) -> list[JournalEntry]:
        """Read the journal, oldest first."""
        with self._lock:
            return list(self._journal)

    def clear_journal(self) -> None:
        """Empty the journal."""
        with self._lock:
            self._journal.clear()
