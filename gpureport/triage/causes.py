"""What probably keeps a Pod that no GPU stage blocks: a table of causes in order; the first that applies is named.

A likely cause is a pointer for a person, not a verdict: volumes, affinity to Pods and spread are not computed here.
To add one: a function below and its row in the table.
"""

from collections.abc import Callable
from typing import NamedTuple

from gpureport.triage.demand import other_demand
from gpureport.triage.evidence import stage_masks
from gpureport.triage.inventory import allocatable_other
from gpureport.triage.labels import iterate_mask
from gpureport.triage.objects import Condition, PodSpec
from gpureport.triage.verdict import Verdict, is_served_by_dra


class Cause(NamedTuple):
    """A likely cause: the machine's word, a sentence, the next step."""

    word: str
    message: str
    fix: str


def likely_cause(verdict: Verdict) -> Cause:
    """Return the first cause that applies to an unplaced Pod with the word `other`."""
    for find in _TABLE:
        cause = find(verdict)
        if cause is not None:
            return cause
    return Cause(
        "not-blocked",
        "Nothing in these objects blocks the Pod: it fits a Node as things stand.",
        "Look again in a minute: the scheduler may not have tried since the room appeared.",
    )


def scheduled_condition(verdict: Verdict) -> Condition | None:
    """Return the scheduler's own condition on the Pod, as evidence beside the verdict."""
    return next((c for c in verdict.pod.status.conditions if c.type == "PodScheduled"), None)


def _find_gate(verdict: Verdict) -> Cause | None:
    gates = [gate.name for gate in verdict.pod.spec.scheduling_gates]
    if not gates:
        return None
    names = ", ".join(gates)
    return Cause("gated", f"Scheduling gates hold the Pod back: {names}.", "Wait for, or ask, whoever set the gate.")


def _find_claim(verdict: Verdict) -> Cause | None:
    claims = [claim.name for claim in verdict.pod.spec.resource_claims]
    if not claims:
        return None
    names = ", ".join(claims)
    return Cause(
        "resource-claim",
        f"The Pod asks for devices by resource claim ({names}); Nodes and Pods do not show whether it can be met.",
        "Look at the ResourceClaims of the namespace: kubectl get resourceclaims, and at the ResourceSlices.",
    )


def _find_dra(verdict: Verdict) -> Cause | None:
    if not is_served_by_dra(verdict.index, verdict.demand):
        return None
    names = ", ".join(name for name, _ in verdict.demand)
    return Cause(
        "served-by-dra",
        f"A DeviceClass serves {names}, so that the Nodes' numbers do not decide: undecidable from these objects.",
        "Look at the ResourceSlices and ResourceClaims: kubectl get resourceslices,resourceclaims -A.",
    )


def _find_nomination(verdict: Verdict) -> Cause | None:
    node = verdict.pod.status.nominated_node_name
    if not node:
        return None
    return Cause(
        "nominated",
        f"The Pod is nominated to {node} and is not bound yet: victims are ending, or a volume is being made.",
        f"Look at the Pods that are terminating on {node}, and at the Pod's volumes.",
    )


def _find_scheduler(verdict: Verdict) -> Cause | None:
    name = verdict.pod.spec.scheduler_name
    if name == "default-scheduler" or scheduled_condition(verdict) is not None:
        return None
    return Cause(
        "unknown-scheduler",
        f"The Pod waits for the scheduler {name}, which has left no word on it.",
        f"Check that {name} runs and serves this namespace, or correct spec.schedulerName.",
    )


def _find_shortage(verdict: Verdict) -> Cause | None:
    """Find what the Nodes with free GPUs are short of, where every one of them is short of something."""
    needed = {**other_demand(verdict.pod.spec), "pods": 1}
    short: dict[str, int] = {}
    fitting = stage_masks(verdict)[-1][1]
    for position in iterate_mask(fitting):
        lacking = _lacking(verdict, position, needed)
        if not lacking:
            return None
        for name in lacking:
            short[name] = short.get(name, 0) + 1
    if not short:
        return None
    text = ", ".join(f"{name} (on {count})" for name, count in sorted(short.items()))
    return Cause(
        "resource-short",
        f"Each node with enough free GPUs ({fitting.bit_count()}) is short of something else: {text}.",
        "Ask for less of it, or move Pods without GPUs off the GPU nodes.",
    )


def _lacking(verdict: Verdict, position: int, needed: dict[str, int]) -> list[str]:
    inventory = verdict.index.inventory
    held = inventory.others_held(position)
    lacking = []
    for name, amount in needed.items():
        offered = allocatable_other(inventory.nodes[position], name)
        if offered is not None and amount > 0 and offered - held.get(name, 0) < amount:
            lacking.append(name)
    return lacking


def _find_pod_affinity(verdict: Verdict) -> Cause | None:
    affinity = verdict.pod.spec.affinity
    if affinity is None:
        return None
    kinds = [
        text
        for text, part in (("affinity", affinity.pod_affinity), ("anti-affinity", affinity.pod_anti_affinity))
        if part is not None and part.required
    ]
    if not kinds:
        return None
    return Cause(
        "pod-affinity",
        f"The Pod has required Pod {' and '.join(kinds)}; the Nodes with free GPUs may not satisfy it.",
        "Compare the rule with the Pods on the Nodes that have free GPUs; a preference instead of a rule avoids it.",
    )


def _find_spread(verdict: Verdict) -> Cause | None:
    # The API's default, and an empty value, is DoNotSchedule.
    if all(spread.when_unsatisfiable == "ScheduleAnyway" for spread in verdict.pod.spec.topology_spread_constraints):
        return None
    return Cause(
        "topology-spread",
        "The Pod has a topology spread constraint that forbids placement; the Nodes with free GPUs may break it.",
        "Loosen maxSkew, or use whenUnsatisfiable: ScheduleAnyway.",
    )


def _find_volume(verdict: Verdict) -> Cause | None:
    if not _has_claimed_volume(verdict.pod.spec):
        return None
    return Cause(
        "volume",
        "The Pod mounts a PersistentVolumeClaim; it may be unbound, or bound in a zone without free GPUs.",
        "Look at the claims: kubectl get pvc, and at the zone of their volumes.",
    )


def _has_claimed_volume(spec: PodSpec) -> bool:
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes)


_TABLE: tuple[Callable[[Verdict], Cause | None], ...] = (
    _find_gate,
    _find_claim,
    _find_dra,
    _find_nomination,
    _find_scheduler,
    _find_shortage,
    _find_pod_affinity,
    _find_spread,
    _find_volume,
)
"""Certain causes first, then those that only might be."""
