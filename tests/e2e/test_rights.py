"""Are the rights in infra/kubernetes the ones that the pipeline needs? The audit log of all these tests says."""

import pytest

from infra.local.demo_objects import NAMESPACE, SICK_NODE, STUCK_POD
from tests.e2e.audit import read_audit, read_granted
from tests.e2e.world import World


@pytest.mark.last
def test_every_right_is_used_and_no_other_is_asked_for(real_world: World) -> None:
    # Alone, this test is all that happens: a run, the desk's look at it.
    real_world.run_once(SICK_NODE)
    real_world.triage_word(NAMESPACE, STUCK_POD)

    granted = read_granted(real_world.pipeline.admin)
    audit = read_audit(real_world.audit_log)

    assert granted
    assert sorted(granted - audit.used) == []
    assert sorted(audit.used - granted) == []
    # An apiserver that has just started refuses for a moment what it grants: it has not read the roles yet.
    rights = {right for _role, right in granted}
    assert sorted(refusal for refusal in audit.refused if refusal[1] not in rights) == []
