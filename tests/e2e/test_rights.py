"""Are the rights in infra/kubernetes the ones that the pipeline needs? The audit log of all these tests says."""

import json
from pathlib import Path

import pytest

from infra.local.cluster_access import USER_AGENT
from infra.local.demo_objects import NAMESPACE, SICK_NODE, STUCK_POD
from tests.e2e.audit import AGENT, DECISION, REASON, Audit, Right, read_audit, read_granted, read_users
from tests.e2e.world import World

AGENT_ROLE = "gpu-report-agent"


def write_entry(user: str, verb: str, decision: str, agent: str = "gpureport-agent/0.1.0") -> str:
    reason = f'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "{AGENT_ROLE}" to ServiceAccount "agent"'
    entry = {
        "verb": verb,
        "user": {"username": user},
        "userAgent": agent,
        "objectRef": {"resource": "nodes", "subresource": "status", "apiVersion": "v1"},
        "annotations": {DECISION: decision, REASON: reason if decision == "allow" else ""},
    }
    return json.dumps(entry) + "\n"


def test_audit_tells_used_from_refused_and_the_pipeline_from_others(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    lines = [
        write_entry(AGENT, "patch", "allow"),
        write_entry(AGENT, "delete", "forbid"),
        write_entry(AGENT, "get", "allow", agent=USER_AGENT),
        write_entry("admin", "update", "allow"),
        write_entry(AGENT, "watch", "allow")[:-20],
    ]
    log.write_text("".join(lines))

    patch, delete = (Right(verb, "", "nodes/status") for verb in ("patch", "delete"))
    assert read_audit(log) == Audit({(AGENT_ROLE, patch)}, {(AGENT, delete)})


@pytest.mark.last
def test_every_right_is_used_and_no_other_is_asked_for(real_world: World) -> None:
    # Alone, this test is all that happens: a run, the desk's look at it.
    real_world.run_once(SICK_NODE)
    real_world.triage_word(NAMESPACE, STUCK_POD)

    admin = real_world.pipeline.admin
    granted = read_granted(admin)
    audit = read_audit(real_world.audit_log)

    assert granted
    assert sorted(granted - audit.used) == []
    assert sorted(audit.used - granted) == []
    # An apiserver that has just started refuses for a moment what it grants: it has not read the roles yet.
    allowed = {(user, right) for user, role in read_users(admin) for granted_to, right in granted if granted_to == role}
    assert sorted(audit.refused - allowed) == []
