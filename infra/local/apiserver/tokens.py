"""Who the caller is: which user a bearer token stands for, and until when.

Tokens come from a file in the form of kube-apiserver's static token file, or are issued by TokenRequest.
"""

import csv
import secrets
import time
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from infra.local.apiserver.failures import build_unauthorized

ISSUED_TOKENS_MAX = 10_000
"""Tokens that TokenRequest keeps valid; the oldest go first."""

ADMIN = "kubernetes-admin"
"""The user of every request when no tokens are configured."""

ANONYMOUS = "system:anonymous"
"""The user of a request without a token when tokens are configured."""


class _Holder(NamedTuple):
    user: str
    expires_at: float


class Tokens:
    """The valid tokens. Without a token file every request is the administrator's."""

    def __init__(self, static: dict[str, str] | None) -> None:
        self._static = static
        self._issued: dict[str, _Holder] = {}
        self._lock = Lock()

    def identify(self, authorization: str) -> str:
        """Tell the user of an Authorization header; raises 401 for a token that is not valid."""
        if self._static is None:
            return ADMIN
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        if user := self._static.get(token.strip()):
            return user
        with self._lock:
            holder = self._issued.get(token.strip())
        if holder and time.time() < holder.expires_at:
            return holder.user
        raise build_unauthorized()

    def issue(self, user: str, lifetime_s: int) -> tuple[str, float]:
        """Issue a token, and tell the instant (seconds since the epoch) at which it expires."""
        token = secrets.token_urlsafe(32)
        expires_at = time.time() + lifetime_s
        with self._lock:
            self._issued[token] = _Holder(user, expires_at)
            if len(self._issued) > ISSUED_TOKENS_MAX:
                del self._issued[next(iter(self._issued))]
        return token, expires_at


def read_token_file(path: Path) -> dict[str, str]:
    """Read a static token file: lines of token,user and further columns that are left alone."""
    with path.open(newline="") as file:
        return {row[0].strip(): row[1].strip() for row in csv.reader(file) if len(row) >= 2}
