"""Whether a process of some run lives on this node: one flock, inherited by the script.

The lock belongs to the open file, so that a script which outlives its agent still holds it. It is therefore given back
by closing, never by unlocking: a child that cannot be ended keeps it (flock(2)).
"""

import errno
import fcntl
import os
import stat

from agent.ledger.files import FILE_MODE, NotAFile, set_aside

LOCK_FILE = "lock"


class RunLock:
    """The lock of one node, held from a claim until its run has ended on the Node. Methods may raise `OSError`."""

    def __init__(self, state_folder: str) -> None:
        self._folder = state_folder
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int | None:
        """The open file, to be passed on to the script; None while not held."""
        return self._descriptor

    def acquire(self) -> bool:
        """Take the lock if it is free; True when it is ours now, also when it was before. Never waits."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = self._open()
        except NotAFile:
            set_aside(self._folder, LOCK_FILE)
            descriptor = self._open()
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

    def _open(self) -> int:
        # For reading: a lock needs no more, and a disk that has become read-only still gives it.
        flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(os.path.join(self._folder, LOCK_FILE), flags, FILE_MODE)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
                raise NotAFile(f"{LOCK_FILE} is no file") from None
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotAFile(f"{LOCK_FILE} is no file")
        return descriptor
