"""What the judge said of a file: its one line, read with care, for the child may have been killed."""

import json
from typing import Any, NamedTuple

from agent.collector.child import ChildEnd
from gpureport.contract.claims import OUTCOMES
from gpureport.contract.names import SHA256
from gpureport.contract.reasons import REASONS


class Verdict(NamedTuple):
    """What the judge said of a file."""

    outcome: str
    reason: str | None
    sha256: str | None
    size_bytes: int


def parse_verdict(end: ChildEnd) -> Verdict | None:
    """Read the judge's line; None when there is no verdict."""
    if end.exit_code != 0:
        return None
    try:
        document: Any = json.loads(end.stdout)
        verdict = Verdict(document["outcome"], document.get("reason"), document.get("sha256"), document["sizeBytes"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    is_known = verdict.outcome in OUTCOMES and (verdict.reason is None or verdict.reason in REASONS)
    is_hash = verdict.sha256 is None or (isinstance(verdict.sha256, str) and SHA256.fullmatch(verdict.sha256))
    is_size = isinstance(verdict.size_bytes, int) and verdict.size_bytes >= 0
    return verdict if is_known and is_hash and is_size else None
