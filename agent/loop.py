"""The agent's one deciding thread: waits for whatever comes first, does what is due, and is the boundary for faults.

What is due is the executor's and the delivery queue's business.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from agent.apiserver.backoff import Backoff
from agent.apiserver.watch import NodeWatch
from agent.delivery import DeliveryQueue
from agent.executor import Executor
from agent.telemetry.log import Log
from gpureport.contract.exit_codes import EXIT_OK

EXIT_S_MAX = 15.0
"""From SIGTERM to the last try to tell the Node; with the script's grace before it the agent is gone within 20 s."""
FLUSH_S_MAX = 5.0
"""What an interrupted run may take to publish its event; the successor delivers it again anyway."""
FAULT_FIRST_S = 1.0
FAULT_MOST_S = 60.0
LEAVE_S_MAX = 17.0
"""From SIGTERM to leaving whatever is still going on: the successor takes it over."""
ALARM_S = 19.0
"""From SIGTERM to the kernel's ending a process that hangs in a system call; the kubelet's KILL comes at 30 s."""
STOPPING_FAULT_S_MAX = 1.0
NEVER = float("inf")
SLEEP_S_MAX = 3600.0
"""poll(2) takes milliseconds as an int; nothing is due later than that."""


_ENDING = frozenset((signal.SIGTERM, signal.SIGINT))


class Signals:
    """Turns signals into wake-ups of a poll; handlers do nothing but remember."""

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._came: set[int] = set()
        self._is_ending = False

    def catch(self) -> None:
        """Take SIGTERM, SIGINT and SIGUSR1; call it in the main thread."""
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self._remember)

    def take(self) -> set[int]:
        """Return the signals that came since the last call. Never waits."""
        with suppress(BlockingIOError):
            os.read(self.fd, 4096)
        came, self._came = self._came, set()
        return came

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait for so long at most; return whether SIGTERM or SIGINT came. They are taken then."""
        until_s = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while (left_s := until_s - time.monotonic()) > 0:
            poll.poll(left_s * 1000)
            if self.take() & _ENDING:
                return True
        return False

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number in _ENDING and not self._is_ending:
            # Its default action ends us even where no Python runs, in a name server's or a disk's slow answer.
            self._is_ending = True
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, ALARM_S)
        self._came.add(number)


class Loop:
    """Runs until SIGTERM or SIGINT has been served."""

    def __init__(  # noqa: PLR0913 (each is a part of the world that a test replaces)
        self,
        executor: Executor,
        queue: DeliveryQueue,
        watch: NodeWatch,
        signals: Signals,
        log: Log,
        *,
        jitter: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._executor = executor
        self._queue = queue
        self._watch = watch
        self._signals = signals
        self._log = log
        self._monotonic = monotonic
        self._faults = Backoff(FAULT_FIRST_S, FAULT_MOST_S, jitter)
        self._not_before_s = 0.0
        self._exit_at = float("inf")
        self._leave_at = float("inf")
        self._flush_until: float | None = None

    def run(self) -> int:
        """Serve until a signal ends it; return the exit code."""
        while True:
            self._wait()
            now = self._monotonic()
            self._take_signals(now)
            if now >= self._leave_at:
                return self._leave()
            if now < self._not_before_s:
                continue
            try:
                self._step(now)
                self._faults.reset()
            except Exception as fault:  # noqa: BLE001 - the agent's loop boundary: a fault is said and slept over
                wait_s = self._faults.decide_wait_s()
                self._not_before_s = now + (min(wait_s, STOPPING_FAULT_S_MAX) if self._executor.is_stopping else wait_s)
                self._log.error("internal", f"{type(fault).__name__}: {fault}", at=_describe_place(fault))
                self._executor.look_again(self._not_before_s)
            if self._is_over(self._monotonic()):
                return EXIT_OK

    def _step(self, now: float) -> None:
        self._watch.ensure_running()
        self._executor.step(now)
        self._executor.deliver(now, may_start=self._may_deliver(now))

    def _wait(self) -> None:
        poll = select.poll()
        now = self._monotonic()
        sources = [self._signals.fd]
        due_at = self._not_before_s
        if now >= self._not_before_s:
            sources += [*self._executor.fds(), *self._queue.fds()]
            ends = (self._exit_at, self._flush_until or NEVER)
            due_at = min(self._executor.wake_at(), self._queue.wake_at(), *(end for end in ends if end > now))
        for descriptor in sources:
            poll.register(descriptor, select.POLLIN)
        poll.poll(max(0.0, min(due_at - now, self._leave_at - now, SLEEP_S_MAX)) * 1000)

    def _take_signals(self, now: float) -> None:
        came = self._signals.take()
        if signal.SIGUSR1 in came:
            self._log.info_list("modules", sorted(sys.modules))
        if came & _ENDING and not self._executor.is_stopping:
            self._log.info("stopping", "a signal ends the agent")
            self._exit_at, self._leave_at = now + EXIT_S_MAX, now + LEAVE_S_MAX
            self._not_before_s = now
            self._executor.stop(now)
            if not self._executor.has_interrupted:
                self._queue.stop(now)

    def _leave(self) -> int:
        self._log.warning("stopping", "what is still going on is left to the next agent")
        return EXIT_OK

    def _may_deliver(self, now: float) -> bool:
        """Say whether a delivery may begin: always, but after SIGTERM only that of the run it interrupted."""
        if not self._executor.is_stopping:
            return True
        return self._executor.has_interrupted and (self._flush_until is None or now < self._flush_until)

    def _is_over(self, now: float) -> bool:
        executor = self._executor
        if not executor.is_stopping:
            return False
        if executor.is_collecting:
            return False
        if executor.has_to_tell and executor.has_interrupted and now < self._exit_at:
            return False
        return self._is_flushed(now)

    def _is_flushed(self, now: float) -> bool:
        if self._executor.has_interrupted and not self._executor.has_to_tell:
            if self._flush_until is None:
                self._flush_until = min(now + FLUSH_S_MAX, self._exit_at)
            if now < self._flush_until and not self._queue.is_idle():
                return False
        self._queue.stop(now)
        return not self._queue.fds()


def _describe_place(fault: BaseException) -> str:
    """Name the innermost line of ours that a fault came from."""
    trace, place = fault.__traceback__, ""
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
