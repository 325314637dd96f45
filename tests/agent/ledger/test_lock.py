"""The lock is one per node, and belongs to whoever has the file open: a child that outlives us keeps it."""

import subprocess
from pathlib import Path

from agent.ledger.lock import RunLock
from tests.agent.agent_world import wait_until


def test_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first, second = RunLock(str(tmp_path)), RunLock(str(tmp_path))
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_child_that_inherited_the_lock_keeps_it_after_our_release(tmp_path: Path) -> None:
    lock, other = RunLock(str(tmp_path)), RunLock(str(tmp_path))
    assert lock.acquire()
    assert lock.descriptor is not None
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, pass_fds=[lock.descriptor])
    lock.release()
    assert not other.acquire()
    child.communicate(b"", timeout=10)
    assert other.acquire()
    other.release()


def test_child_that_was_not_given_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    lock, other = RunLock(str(tmp_path)), RunLock(str(tmp_path))
    assert lock.acquire()
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, close_fds=False)
    lock.release()
    wait_until(other.acquire, "the lock, once the child has closed what it was not given")
    other.release()
    child.communicate(b"", timeout=10)
