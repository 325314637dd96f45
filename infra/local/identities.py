"""Who asks the cluster: the operator, the desk, each function, each with a token and rights of its own.

Agents are not here: on a real cluster their tokens are bound to their Pods. How a cluster is reached stands elsewhere.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from infra.local.cluster_access import ClusterAccess

ARCHIVE_REPORT = "archive_report"
WRITE_STATUS = "write_status"
FUNCTIONS = (ARCHIVE_REPORT, WRITE_STATUS)

ADMIN = "admin"
DESK = "desk"

ACCOUNTS = {
    ARCHIVE_REPORT: "archive-report@project.iam.gserviceaccount.com",
    WRITE_STATUS: "write-status@project.iam.gserviceaccount.com",
}
"""The user that a function is to the cluster; the names that stand in infra/kubernetes/functions."""

USERS = (ADMIN, DESK, *ACCOUNTS.values())

_GROUPS = {ADMIN: "system:masters"}


class Identities(NamedTuple):
    """The accesses of one cluster; `functions` by the name of the function."""

    admin: ClusterAccess
    desk: ClusterAccess
    functions: Mapping[str, ClusterAccess]


def make_tokens(users: Iterable[str] = USERS) -> dict[str, str]:
    """Make a token for each user."""
    return {user: secrets.token_hex(16) for user in users}


def format_token_file(tokens: Mapping[str, str]) -> str:
    """Write a static token file: token, user name, user id, groups (kube-apiserver --token-auth-file)."""
    return "".join(f'{token},{user},{user},"{_GROUPS.get(user, "")}"\n' for user, token in tokens.items())


def build_identities(server: str, ca_file: str, tokens: Mapping[str, str]) -> Identities:
    """Build the accesses of a server that knows these tokens."""
    users = {user: ClusterAccess(server, ca_file, token) for user, token in tokens.items()}
    return Identities(users[ADMIN], users[DESK], {name: users[account] for name, account in ACCOUNTS.items()})
