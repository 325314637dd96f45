"""The agent's own Node as it was seen last, and the server's time with it: what was read, watched, or written.

What is to be written is decided and built in `agent.handshake`.
"""

from datetime import datetime

from agent.apiserver.client import NodeClient, Served
from agent.apiserver.mailbox import Mailbox
from agent.apiserver.server_clock import ServerClock
from agent.telemetry.log import Log
from gpureport.contract.nodes import Change, NodeState, build_patch


class OwnNode:
    """One Node. `read` and `patch` may raise `ApiError`."""

    def __init__(self, client: NodeClient, mailbox: Mailbox, log: Log) -> None:
        self._client = client
        self._mailbox = mailbox
        self._log = log
        self._clock = ServerClock()
        self.known: Served | None = None
        """What was seen last; None while there is no such Node."""
        self.is_doubtful = False
        """Whether a request of ours found no Node, while the watch may go on and say nothing of it."""

    @property
    def wake_fd(self) -> int:
        """The descriptor to poll for news of the watch."""
        return self._mailbox.wake_fd

    @property
    def state(self) -> NodeState | None:
        """The members that we know of what was seen last."""
        return None if self.known is None else self.known.state

    @property
    def has_time(self) -> bool:
        """Whether the server has said the time yet: before that nothing can be claimed or delivered."""
        return self._clock.is_set

    def time(self, now: float) -> datetime:
        """Return the server's time at the monotonic instant `now`; `ValueError` before `has_time`."""
        return self._clock.read(now)

    def take_news(self, now: float) -> bool:
        """Take what the watch saw; true when there is a state to decide from. Never waits."""
        news = self._mailbox.take()
        if news is None:
            return False
        served = news.served
        if served is None:
            self.known, self.is_doubtful = None, False
            return False
        if served.served_at is None and self.known is not None and _is_older(served, self.known):
            return False
        if self.known is None:
            self._log.info("watching", "the Node is watched", node=served.state.name, uid=served.state.uid)
        self._see(served, now)
        return True

    def read(self, now: float) -> Served:
        """Read the Node anew."""
        return self._see(self._client.read_node(), now)

    def patch(self, fresh: Served, changes: list[Change], now: float) -> None:
        """Write, if the Node is still as it was decided from; `LostRace` otherwise."""
        self._see(self._client.patch_node(build_patch(fresh.state, changes)), now)

    def lose(self) -> None:
        """Take note that a request found no such Node: it is to be read again, for the watch need not say more."""
        self.known = None
        self.is_doubtful = True

    def _see(self, served: Served, now: float) -> Served:
        self._clock.see(served.served_at, now)
        self.known, self.is_doubtful = served, False
        return served


def _is_older(served: Served, known: Served) -> bool:
    """Compare two resourceVersions; they are ordered integers (KEP-5504), anything else counts as newer."""
    versions = served.resource_version, known.resource_version
    return all(version.isdigit() for version in versions) and int(versions[0]) < int(versions[1])
