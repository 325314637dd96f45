"""Hands the newest state of the Node from the watching thread to the deciding one: one slot, and a wake-up."""

import os
import threading
from contextlib import suppress
from typing import NamedTuple

from agent.apiserver.client import Served
from gpureport.contract.nodes import NodeState


class Delivery(NamedTuple):
    """The newest state, or that there is no such Node (`served` is None then)."""

    served: Served | None


class Mailbox:
    """Holds what was seen last; an unread state is overwritten, for only the newest one counts."""

    def __init__(self) -> None:
        self.wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()
        self._slot: Delivery | None = None
        self._last_state: NodeState | None = None
        self._is_first = True

    def put(self, served: Served | None) -> None:
        """Put a state in; nobody is woken when it is the one that was put last."""
        with self._lock:
            state = None if served is None else served.state
            if not self._is_first and state == self._last_state:
                return
            self._is_first = False
            self._last_state = state
            self._slot = Delivery(served)
        self.wake()

    def wake(self) -> None:
        """Wake whoever polls, with or without news."""
        os.eventfd_write(self.wake_fd, 1)

    def take(self) -> Delivery | None:
        """Take the newest state out; None when there is nothing new. Never waits."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.wake_fd)
        with self._lock:
            delivery, self._slot = self._slot, None
            return delivery
