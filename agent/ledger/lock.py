"""Whether a process of some run lives on this node: one flock, inherited by the script.

The lock belongs to the open file, so that a script which outlives its agent still holds it. It is therefore given back
by closing, never by unlocking: a child that cannot be ended keeps it (flock(2)).
"""

import fcntl
import os

from agent.ledger.files import FILE_MODE

LOCK_FILE = "lock"


class RunLock:
    """The lock of one node, held from a claim until its run has ended on the Node. Methods may raise `OSError`."""

    def __init__(self, state_folder: str) -> None:
        self._path = os.path.join(state_folder, LOCK_FILE)
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int | None:
        """The open file, to be passed on to the script; None while not held."""
        return self._descriptor

    def acquire(self) -> bool:
        """Take the lock if it is free; True when it is ours now, also when it was before. Never waits."""
        if self._descriptor is not None:
            return True
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let our hold go; the lock stays taken while a child of ours has it open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
