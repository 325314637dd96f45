"""How long to wait before the next try: doubling, with jitter, up to a maximum; what the server asks for is a floor."""

from collections.abc import Callable

RETRY_AFTER_S_MAX = 300.0
"""A server that asks for more is called again after this: a wrong header must not silence a node for a day."""


class Backoff:
    """Counts the failures in a row of one thing; `jitter` returns a number from 0 to 1."""

    def __init__(self, first_s: float, most_s: float, jitter: Callable[[], float]) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._jitter = jitter
        self._failures = 0

    def reset(self) -> None:
        """Forget the failures: something went well."""
        self._failures = 0

    def decide_wait_s(self, retry_after_s: float | None = None) -> float:
        """Count one more failure and say how long to wait: from half to the whole of the doubled time."""
        ceiling_s = min(self._most_s, self._first_s * float(1 << min(self._failures, 32)))
        self._failures += 1
        wait_s = ceiling_s * (0.5 + 0.5 * self._jitter())
        if retry_after_s is not None:
            wait_s = max(wait_s, min(retry_after_s, RETRY_AFTER_S_MAX) * (1 + 0.2 * self._jitter()))
        return wait_s
