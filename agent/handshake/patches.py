"""Which keys of the Node each move changes, and which it only tests.

Pure. How a change becomes RFC 6902 stands in `gpureport.contract.nodes`.
"""

from agent.handshake.runs import Run
from gpureport.contract.claims import AUTOMATIC, Claim, find_claim, format_claim
from gpureport.contract.keys import Keys
from gpureport.contract.nodes import ANNOTATIONS, LABELS, Change, NodeState
from gpureport.contract.outputs import build_output, find_output, format_output
from gpureport.contract.statuses import IN_PROGRESS, failed, format_status

KEEPS_LABEL = ("interrupted", "busy")
"""Reasons after which a manual request stands: it is served by the next agent, or once the node is free."""


def build_claim_changes(node: NodeState, keys: Keys, claim: Claim) -> list[Change]:
    """Claim: the status becomes in-progress; tests what was decided from, the opt-out for an automatic request."""
    changes = [
        Change(ANNOTATIONS, keys.status, node.status, IN_PROGRESS),
        Change(ANNOTATIONS, keys.run, node.run, format_claim(claim)),
        Change(LABELS, keys.trigger, node.trigger, node.trigger),
    ]
    if claim.trigger == AUTOMATIC:
        changes.append(Change(LABELS, keys.disable, node.disable, node.disable))
    return changes


def build_evidence_changes(node: NodeState, keys: Keys, run: Run) -> list[Change]:
    """Evidence: the run annotation alone, whatever the status says now, and the served label if it stands still."""
    stated = find_claim(node.run)
    if stated is not None and stated.run_id != run.run_id:
        told = stated._replace(previous=run.claim._replace(previous=None))
    else:
        told = _keep_foreign_members(run.claim, stated)
    return [Change(ANNOTATIONS, keys.run, node.run, format_claim(told)), *build_label_changes(node, keys, run)]


def build_failure_changes(node: NodeState, keys: Keys, run: Run) -> list[Change]:
    """Failure: status, output, result and the served label in one patch, so that they never drift."""
    result = run.claim.result
    if result is None or result.reason is None:
        raise ValueError("a failed run has a result with a reason")
    ending = failed(result.reason)
    claim = _keep_foreign_members(run.claim, find_claim(node.run))
    output = build_output(claim, ending)
    last = find_output(node.output)
    if last is not None and claim.previous is not None and last.run_id == claim.previous.run_id:
        output = output._replace(previous=last._replace(previous=None))
    return [
        Change(ANNOTATIONS, keys.status, node.status, format_status(ending)),
        Change(ANNOTATIONS, keys.run, node.run, format_claim(claim)),
        Change(ANNOTATIONS, keys.output, node.output, format_output(output)),
        *build_label_changes(node, keys, run),
    ]


def build_refusal_changes(node: NodeState, keys: Keys, run: Run) -> list[Change]:
    """Refuse a request before any claim: a failure that also tests the two labels it was decided from."""
    changes = build_failure_changes(node, keys, run)
    written = {change.key for change in changes}
    labels = ((keys.trigger, node.trigger), (keys.disable, node.disable))
    return changes + [Change(LABELS, key, value, value) for key, value in labels if key not in written]


def build_label_changes(node: NodeState, keys: Keys, run: Run) -> list[Change]:
    """Take the served label away, unless its request stands or somebody changed it since."""
    result = run.claim.result
    if run.served_label is None or node.trigger != run.served_label or node.uid != run.claim.node_uid:
        return []
    if result is not None and result.reason in KEEPS_LABEL:
        return []
    return [Change(LABELS, keys.trigger, run.served_label, None)]


def _keep_foreign_members(claim: Claim, stated: Claim | None) -> Claim:
    """Keep what another writer added to our claim on the Node, and the previous run as it stands there."""
    if stated is None or stated.run_id != claim.run_id:
        return claim
    return claim._replace(previous=stated.previous, unknown=stated.unknown)
