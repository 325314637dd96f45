"""Values that the handshake's tests start from."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.handshake.runs import CLAIMED, Run, build_claim
from gpureport.contract.claims import MANUAL, Claim
from gpureport.contract.nodes import NodeState

UID = "6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f"
BOOT = "0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f"
RUN_ID = "7f3a9c1e5b2d4f608a9b0c1d2e3f4a5b"


class Values:
    """Builds Nodes, claims and runs that differ from the usual one in a few members."""

    uid = UID
    boot_id = BOOT
    run_id = RUN_ID
    other_id = "0" * 32

    def node(self, **members: Any) -> NodeState:
        return NodeState(**{"name": "n1", "uid": UID, "has_labels": True, "has_annotations": True, **members})

    def claim(self, **members: Any) -> Claim:
        at = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
        claim = build_claim(
            run_id=RUN_ID,
            trigger=MANUAL,
            node_uid=UID,
            boot_id=BOOT,
            started_at=at,
            deadline_at=at.replace(minute=47),
            agent_version="0.1.0",
            previous=None,
        )
        return claim._replace(**members)

    def run(self, phase: str = CLAIMED, claim: Claim | None = None, **members: Any) -> Run:
        return Run(phase, claim or self.claim(), **members)


@pytest.fixture
def values() -> Values:
    return Values()
