"""What one row of the tables says: who sends what to which Node, and what becomes of it."""

from enum import StrEnum
from typing import NamedTuple

from tests.kubernetes.requests import Build, Start, start


class Who(StrEnum):
    """Who sends; `OTHER_AGENT` is the agent of another node, `STALE_AGENT` has a token older than its Node."""

    AGENT = "agent"
    OTHER_AGENT = "agent of another node"
    NODE_BOUND = "agent, token bound to the Node"
    UNBOUND = "agent, unbound token"
    STALE_AGENT = "agent, token older than the Node"
    RENEWED_AGENT = "agent, token renewed on the recreated Node"
    WRITE_STATUS = "write_status"
    ADMIN = "admin"
    KUBELET = "kubelet"


class Row(NamedTuple):
    """One request and its answer: `want` is the status code, `says` a part of the refusal's message."""

    who: Who
    title: str
    build: Build
    want: int
    says: str
    start: Start

    def __str__(self) -> str:
        return f"{self.who}: {self.title}"


REQUESTED = start("collect", label="now")
"""What the Node says where a row does not say it."""

Case = tuple[str, Build] | tuple[str, Build, Start]


def allowed(who: Who, *cases: Case, want: int = 200) -> tuple[Row, ...]:
    """Build the rows of what somebody must be able to do: title, request, what the Node says before."""
    return tuple(Row(who, case[0], case[1], want, "", case[2] if len(case) > 2 else REQUESTED) for case in cases)


def refused(who: Who, says: str, *cases: Case) -> tuple[Row, ...]:
    """Build the rows of what one rule refuses somebody: title, request, what the Node says before."""
    return tuple(Row(who, case[0], case[1], 403, says, case[2] if len(case) > 2 else REQUESTED) for case in cases)
