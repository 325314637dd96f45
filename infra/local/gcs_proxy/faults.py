"""Which of the next requests shall fail, and how? Tests order failures here that a real service has by itself."""

import threading
from collections import deque
from enum import Enum
from typing import Any, NamedTuple

from infra.local.gcs_proxy.replies import Rejected, build_error

FAULTS_MAX = 64
SERVED_MAX = 2048
"""Requests remembered, the newest last."""


class Point(Enum):
    """Where a request fails."""

    BEFORE = "before"
    """Nothing is done, the status is answered."""
    AFTER = "after"
    """It is done, yet the status is answered: a lost response."""
    BODY = "body"
    """The connection breaks after `after_bytes` of the answer's body."""


class Fault(NamedTuple):
    """One ordered failure, for the next `times` requests that fit."""

    method: str
    path_prefix: str
    status: int
    times: int
    point: Point = Point.BEFORE
    after_bytes: int = 0
    skip: int = 0
    """So many requests that fit pass unharmed first."""


class Faults:
    """The ordered failures, and the list of requests served so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._served: deque[str] = deque(maxlen=SERVED_MAX)

    def order(self, content: dict[str, Any]) -> None:
        """Add one failure from its JSON form; 400 when it can't be read or 64 wait already."""
        try:
            fault = Fault(
                str(content.get("method", "")),
                str(content.get("path_prefix", "/")),
                int(content.get("status", 503)),
                int(content.get("times", 1)),
                Point(content.get("point", "before")),
                int(content.get("after_bytes", 0)),
                int(content.get("skip", 0)),
            )
        except (TypeError, ValueError) as error:
            raise Rejected(build_error(400, "malformed fault")) from error
        with self._lock:
            if len(self._faults) >= FAULTS_MAX:
                raise Rejected(build_error(400, "too many faults"))
            self._faults.append(fault)

    def forget(self) -> None:
        """Drop every failure that is still to come."""
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """Note the request, and use up one failure that fits it."""
        with self._lock:
            self._served.append(f"{method} {path}")
            for place, fault in enumerate(self._faults):
                if fault.method in ("", method) and path.startswith(fault.path_prefix):
                    if fault.skip > 0:
                        self._faults[place] = fault._replace(skip=fault.skip - 1)
                        return None
                    left = fault._replace(times=fault.times - 1)
                    self._faults[place : place + 1] = [left] if left.times > 0 else []
                    return fault
        return None

    def served(self) -> list[str]:
        """List the latest requests as `METHOD PATH`."""
        with self._lock:
            return list(self._served)
