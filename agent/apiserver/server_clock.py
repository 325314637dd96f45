"""What time it is by the apiserver's clock: its last Date header, and the monotonic time since.

The node's own clock is never asked: it may be ten years off.
"""

from datetime import datetime, timedelta


class ServerClock:
    """The apiserver's clock as last seen; whole seconds, behind by at most the answer's travel time."""

    def __init__(self) -> None:
        self._served_at: datetime | None = None
        self._seen_s = 0.0

    @property
    def is_set(self) -> bool:
        """Whether a server has said the time yet."""
        return self._served_at is not None

    def see(self, served_at: datetime | None, now_s: float) -> None:
        """Take the Date of an answer that arrived at the monotonic instant `now_s`."""
        if served_at is not None:
            self._served_at = served_at
            self._seen_s = now_s

    def read(self, now_s: float) -> datetime:
        """Return the time at the monotonic instant `now_s`; `ValueError` before any answer."""
        if self._served_at is None:
            raise ValueError("no server has said the time yet")
        return self._served_at + timedelta(seconds=max(0.0, now_s - self._seen_s))
