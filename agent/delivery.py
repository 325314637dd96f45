"""Brings runs from the outbox to the archive: stage and publish by a child, again and again, until it is on record.

A parcel leaves the outbox when the Node says `archivedAt` for its run, when nobody claims it any more and it was
delivered once, or after `KEPT_S_MAX`. One child at a time.
"""

import json
import os
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from agent.apiserver.backoff import Backoff
from agent.collector.child import Child, ChildEnd
from agent.collector.spool import Spool
from agent.ledger.ledger import Ledger
from agent.ledger.records import Parcel
from agent.telemetry.log import Log
from gpureport.contract.claims import describe_claim, find_claim
from gpureport.contract.exit_codes import EXIT_OK
from gpureport.contract.instants import format_instant
from gpureport.contract.nodes import NodeState
from gpureport.contract.outputs import find_output

BACKOFF_FIRST_S = 30.0
BACKOFF_MOST_S = 600.0
DELIVER_TIMEOUT_S = 600.0
"""The upload's share of a run's deadline: see `gpureport.contract.deadlines`."""
DELIVER_GRACE_S = 1.0
ANSWER_BYTES_MAX = 16 * 1024
KEPT_S_MAX = 7 * 24 * 3600
"""A parcel that could not be put on record for so long is counted as lost."""


class Destination(NamedTuple):
    """Where reports go, and who sends them."""

    cluster: str
    node: str
    project: str
    bucket: str
    topic: str


class _Waiting:
    """A parcel and when it is due; monotonic seconds."""

    def __init__(self, parcel: Parcel, backoff: Backoff, due_s: float) -> None:
        self.parcel = parcel
        self.backoff = backoff
        self.due_s = due_s


class DeliveryQueue:
    """The parcels that are ready to go."""

    def __init__(  # noqa: PLR0913 (each is a part of the world that a test replaces)
        self,
        destination: Destination,
        finish_command: tuple[str, ...],
        ledger: Ledger,
        spool: Spool,
        log: Log,
        *,
        first_s: float,
        jitter: Callable[[], float],
    ) -> None:
        self._destination = destination
        self._finish_command = finish_command
        self._ledger = ledger
        self._spool = spool
        self._log = log
        self._first_s = first_s
        self._jitter = jitter
        self._waiting: dict[str, _Waiting] = {}
        self._child: Child | None = None
        self._sending: str | None = None

    def add(self, parcel: Parcel, now: float) -> None:
        """Make a parcel ready to go at once; no change when it waits already. What the outbox says of it counts."""
        if parcel.run_id not in self._waiting:
            try:
                parcel = self._ledger.find_parcel(parcel.run_id) or parcel
            except OSError as error:
                self._log.note("disk", f"the outbox cannot be read: {error}")
            most_s = max(self._first_s, min(BACKOFF_MOST_S, self._first_s * 20))
            backoff = Backoff(self._first_s, most_s, self._jitter)
            self._waiting[parcel.run_id] = _Waiting(parcel, backoff, now)

    def file_paths(self) -> list[str]:
        """Return the reports that must not be deleted yet, another agent's too: paths of the host. `OSError`."""
        parcels = [*(waiting.parcel for waiting in self._waiting.values()), *self._ledger.read_outbox()]
        return [parcel.file_path for parcel in parcels if parcel.file_path is not None]

    def fds(self) -> list[int]:
        """Return the descriptors to poll for input."""
        return [] if self._child is None else self._child.fds()

    def wake_at(self) -> float:
        """Return the instant when something is due."""
        if self._child is not None:
            return self._child.wake_at()
        return min((waiting.due_s for waiting in self._waiting.values()), default=float("inf"))

    def is_idle(self) -> bool:
        """Whether nothing waits that was never delivered."""
        return self._child is None and all(waiting.parcel.is_delivered for waiting in self._waiting.values())

    def settle(self, node: NodeState | None, server_now: datetime) -> None:
        """Drop what needs no delivery any more, by what the Node says.

        A claim carries the last run as `previous` until that one is on record. So a run that was delivered, and that
        the Node names in neither place, is on record or its claim was overwritten: staging it again would only leave
        an object that nobody takes.
        """
        output = None if node is None else find_output(node.output)
        for run_id, waiting in list(self._waiting.items()):
            if run_id == self._sending:
                continue
            parcel = waiting.parcel
            if output is not None and output.is_on_record(run_id):
                self._drop(run_id, "archived", "the run is on record in the archive")
            elif (server_now - parcel.put_at).total_seconds() > KEPT_S_MAX:
                self._drop(run_id, "lost", "not on record after seven days", is_bad=True)
            elif node is not None and not _is_claimed(node, run_id) and self._is_done_unattested(waiting):
                self._drop(run_id, "unattested", "the Node does not name the run any more; it was delivered once")

    def step(self, now: float, server_now: datetime, *, may_start: bool = True) -> None:
        """Take a child's end, start the next due parcel. Never waits."""
        if self._child is not None:
            end = self._child.step(now)
            if end is None:
                return
            self._child = None
            self._take_end(end, now)
        due = [waiting for waiting in self._waiting.values() if waiting.due_s <= now]
        if due and may_start:
            self._start(min(due, key=lambda waiting: waiting.due_s), now, server_now)

    def stop(self, now: float) -> None:
        """Begin to end the child; its parcel stays in the outbox."""
        if self._child is not None:
            self._child.stop(now)

    def _start(self, waiting: _Waiting, now: float, server_now: datetime) -> None:
        to, parcel = self._destination, waiting.parcel
        argv = [*self._finish_command, "deliver", "--project", to.project, "--bucket", to.bucket, "--topic", to.topic]
        order = {
            "cluster": to.cluster,
            "node": to.node,
            "at": format_instant(server_now),
            "claim": describe_claim(parcel.claim._replace(previous=None)),
            "file": None if parcel.file_path is None else self._spool.local(parcel.file_path),
        }
        self._log.info("exec", "the run is delivered", runId=parcel.run_id, argv=" ".join(argv))
        try:
            self._child = Child.start(
                argv,
                env=os.environ,
                cwd=None,
                timeout_s=DELIVER_TIMEOUT_S,
                grace_s=DELIVER_GRACE_S,
                stdout_bytes_max=ANSWER_BYTES_MAX,
                stdin=json.dumps(order, ensure_ascii=False).encode(),
                now=now,
            )
        except OSError as error:
            self._try_later(waiting, f"the child cannot be started: {error}", now)
            return
        self._sending = parcel.run_id

    def _take_end(self, end: ChildEnd, now: float) -> None:
        run_id, self._sending = self._sending, None
        waiting = None if run_id is None else self._waiting.get(run_id)
        if waiting is None:
            return
        answer = _parse_answer(end.stdout)
        if end.exit_code != EXIT_OK:
            problem = answer.get("problem") or end.stderr_tail.decode("utf-8", "replace")
            self._try_later(waiting, f"exit {end.exit_code}: {problem}", now)
            return
        waiting.due_s = now + waiting.backoff.decide_wait_s()
        self._log.info("delivered", "staged and published", runId=run_id, messageId=answer.get("published"))
        if not waiting.parcel.is_delivered:
            waiting.parcel = waiting.parcel._replace(is_delivered=True)
            try:
                self._ledger.put_parcel(waiting.parcel)
            except OSError as error:
                self._log.note("disk", f"a delivery cannot be remembered: {error}")

    def _try_later(self, waiting: _Waiting, problem: str, now: float) -> None:
        waiting.due_s = now + waiting.backoff.decide_wait_s()
        again_s = round(waiting.due_s - now, 1)
        self._log.warning("delivery-failed", problem, runId=waiting.parcel.run_id, againInSeconds=again_s)

    def _drop(self, run_id: str, event: str, message: str, *, is_bad: bool = False) -> None:
        try:
            self._ledger.drop_parcel(run_id)
        except OSError as error:
            # The next process finds the parcel again, and the Node still says that it is superfluous.
            self._log.note("disk", f"a parcel cannot be removed: {error}")
        del self._waiting[run_id]
        (self._log.warning if is_bad else self._log.info)(event, message, runId=run_id)

    @staticmethod
    def _is_done_unattested(waiting: _Waiting) -> bool:
        return waiting.parcel.is_delivered or waiting.parcel.file_path is None


def _is_claimed(node: NodeState, run_id: str) -> bool:
    claim = find_claim(node.run)
    return claim is not None and claim.node_uid == node.uid and claim.find_run(run_id) is not None


def _parse_answer(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
