"""At which stage each Node was lost, and to what: the proof of a verdict, computed when it is asked for.

The order of the stages is that of `verdict`; sentences for people are `explanation`.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from gpureport.triage.inventory import Holder
from gpureport.triage.labels import iterate_mask
from gpureport.triage.selectors import required_affinity, term_mask, term_requirements
from gpureport.triage.taints import first_untolerated, format_taint
from gpureport.triage.verdict import Verdict


class Stage(StrEnum):
    """The stages in their order."""

    LABELS = "labels"
    TAINTS = "taints"
    CAPACITY = "capacity"
    ALLOCATABLE = "allocatable"
    FREE = "free"


class StageCount(NamedTuple):
    """How many Nodes are left after a stage, and how many of them have the GPUs asked for."""

    stage: str
    nodes: int
    gpu_nodes: int


class Amounts(NamedTuple):
    """One resource on one Node; `allocated` counts placed Pods and Pods nominated before this one."""

    resource: str
    capacity: int
    allocatable: int
    allocated: int
    requested: int


class NodeEvidence(NamedTuple):
    """One Node: the stage that it was lost at (None: it passes all), and the label, taint or number that lost it."""

    node: str
    lost_at: Stage | None
    detail: str
    amounts: tuple[Amounts, ...]


def stage_masks(verdict: Verdict) -> list[tuple[Stage, int]]:
    """Return the Nodes left after each stage."""
    index, pod, demand = verdict.index, verdict.pod, verdict.demand
    supply, mask = index.supply(demand, pod), index.everything
    left = []
    for stage, passing in (
        (Stage.LABELS, index.matching(pod.spec)),
        (Stage.TAINTS, index.tolerated(pod.spec)),
        (Stage.CAPACITY, supply.with_gpus),
        (Stage.ALLOCATABLE, supply.offering),
        (Stage.FREE, supply.fitting),
    ):
        mask &= passing
        left.append((stage, mask))
    return left


def count_stages(verdict: Verdict) -> tuple[StageCount, ...]:
    """Count the Nodes left after each stage, all Nodes first."""
    gpus = verdict.index.supply(verdict.demand, verdict.pod).with_gpus
    masks = [("nodes", verdict.index.everything), *((stage.value, mask) for stage, mask in stage_masks(verdict))]
    return tuple(StageCount(stage, mask.bit_count(), (mask & gpus).bit_count()) for stage, mask in masks)


def rank_nodes(verdict: Verdict) -> Iterator[NodeEvidence]:
    """Yield every Node, the nearest miss first: those with GPUs, of these the furthest stage, there the least lack.

    A GPU node behind one taint is nearer than an open node that has no GPU and never will.
    """
    index = verdict.index
    gpus = index.supply(verdict.demand, verdict.pod).with_gpus
    left = [(None, index.everything), *stage_masks(verdict)]
    groups: list[tuple[Stage | None, int]] = [(None, left[-1][1])]
    for (_, before), (stage, after) in zip(reversed(left[:-1]), reversed(left[1:]), strict=True):
        groups.append((stage, before & ~after))
    for kind in (gpus, index.everything & ~gpus):
        for stage, mask in groups:
            for position in sorted(iterate_mask(mask & kind), key=lambda i: (_lack(verdict, i), i)):
                yield describe_node(verdict, position, stage)


def describe_node(verdict: Verdict, position: int, lost_at: Stage | None) -> NodeEvidence:
    """Return one Node's evidence."""
    name = verdict.index.inventory.nodes[position].metadata.name
    amounts = tuple(_amounts(verdict, position))
    return NodeEvidence(name, lost_at, _detail(verdict, position, lost_at, amounts), amounts)


def holders_on(verdict: Verdict, mask: int) -> Iterator[tuple[str, Holder]]:
    """Yield the Pods that hold what this Pod asks for on a set of Nodes, with the Node's name."""
    inventory = verdict.index.inventory
    asked = {name for name, _ in verdict.demand}
    for position in iterate_mask(mask):
        placed = inventory.holders.get(position, [])
        for holder in placed + verdict.index.promised_before(position, verdict.pod):
            if any(name in asked for name, _ in holder.demand):
                yield inventory.nodes[position].metadata.name, holder


def unmet_requirements(verdict: Verdict, position: int) -> list[str]:
    """Return what of nodeSelector and required affinity a Node does not meet; of several terms, of the nearest one."""
    index, spec = verdict.index, verdict.pod.spec
    labels = index.inventory.nodes[position].metadata.labels
    unmet = []
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            has = f"has {labels[key]}" if key in labels else "has no such label"
            unmet.append(f"{key}={value} ({has})")
    selector, bit = required_affinity(spec), 1 << position
    if selector is not None and not any(term_mask(index.labels, term) & bit for term in selector.node_selector_terms):
        misses: list[list[str]] = [
            [text for text, met in term_requirements(index.labels, term) if not met & bit]
            for term in selector.node_selector_terms
        ]
        nearest = min(misses, key=len) if misses else []
        unmet.extend(nearest or ["node affinity without any requirement"])
    return unmet


def _lack(verdict: Verdict, position: int) -> int:
    return sum(max(0, a.requested - (a.allocatable - a.allocated)) for a in _amounts(verdict, position))


def _amounts(verdict: Verdict, position: int) -> Iterator[Amounts]:
    index = verdict.index
    for name, need in verdict.demand:
        allocatable = index.inventory.allocatable(name)[position]
        free = index.free(position, name, verdict.pod)
        yield Amounts(name, index.inventory.capacity(name)[position], allocatable, allocatable - free, need)


def _detail(verdict: Verdict, position: int, lost_at: Stage | None, amounts: tuple[Amounts, ...]) -> str:
    match lost_at:
        case Stage.LABELS:
            return ", ".join(unmet_requirements(verdict, position))
        case Stage.TAINTS:
            taint = first_untolerated(verdict.index.taints[position], verdict.pod.spec.tolerations)
            return format_taint(taint) if taint else ""
        case Stage.CAPACITY:
            return ", ".join(f"no {a.resource}" for a in amounts if a.capacity <= 0 and a.allocatable <= 0)
        case Stage.ALLOCATABLE:
            return ", ".join(
                f"{a.resource}: capacity {a.capacity}, allocatable 0" for a in amounts if a.allocatable <= 0
            )
        case Stage.FREE:
            return ", ".join(
                f"{a.resource}: {max(0, a.allocatable - a.allocated)} free of {a.allocatable}, {a.requested} asked for"
                for a in amounts
                if a.allocatable - a.allocated < a.requested
            )
        case None:
            return "fits"
