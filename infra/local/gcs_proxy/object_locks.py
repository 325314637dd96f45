"""Who may touch an object now? A fixed set of locks, so that a check and the request it allows are one step."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

LOCKS = 256
"""Objects share locks by hash: memory stays fixed, and two objects seldom wait for each other."""

ObjectKey = tuple[str, str]
"""Bucket and name."""


class ObjectLocks:
    """Locks by object, for this process."""

    def __init__(self) -> None:
        self._locks = tuple(threading.Lock() for _ in range(LOCKS))

    @contextmanager
    def hold(self, *keys: ObjectKey) -> Iterator[None]:
        """Hold the locks of these objects; taken in one order, so no two requests wait for each other in a ring."""
        with ExitStack() as stack:
            for place in sorted({hash(key) % LOCKS for key in keys}):
                stack.enter_context(self._locks[place])
            yield
