"""Why a Pod does not run, in one word: the order of the questions. What proves the word is `evidence`.

Judged from objects alone, never from the scheduler's text: three different faults carry the same sentence there.
"""

from enum import StrEnum

import msgspec

from gpureport.triage.demand import Demand, gpu_demand
from gpureport.triage.index import Index
from gpureport.triage.objects import Pod
from gpureport.triage.selectors import required_affinity


class Word(StrEnum):
    """The seven causes, and `other` for a Pod that no GPU stage blocks."""

    NO_REQUEST = "no-request"
    OK = "ok"
    LABEL_MISMATCH = "label-mismatch"
    TAINT = "taint"
    NO_GPU_NODE = "no-gpu-node"
    ALLOCATABLE_ZERO = "allocatable-zero"
    EXHAUSTED = "exhausted"
    OTHER = "other"


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The word, and what it was decided from: `evidence` and `explanation` compute the rest when it is asked for."""

    word: Word
    demand: Demand
    pod: Pod
    index: Index


def classify(index: Index, pod: Pod) -> Verdict:
    """Decide the word for one Pod; the Pod itself may be among those that the index was built from.

    A stage fails when no Node that passed the stages before passes it. Where GPU nodes are among the matching ones and
    taints keep the Pod from all of them, the word is `taint` even if Nodes without GPUs are open (`strict_order` leaves
    that out).
    """
    demand = gpu_demand(pod.spec, index.names)
    return Verdict(_decide_word(index, pod, demand), demand, pod, index)


def is_decided_by_pod(verdict: Verdict) -> bool:
    """Say whether the Pod alone decided the word, so that neither Nodes nor other Pods need to be read."""
    return not verdict.demand or verdict.word is Word.OK


def is_decided_by_nodes(verdict: Verdict) -> bool:
    """Say whether the word can't change by what other Pods hold."""
    return verdict.word not in (Word.EXHAUSTED, Word.OTHER) or not verdict.demand


def is_served_by_dra(index: Index, demand: Demand) -> bool:
    """Say whether DeviceClasses serve a demanded resource, so that the Nodes' own numbers decide nothing."""
    served = index.options.dra_resource_names
    return bool(served) and any(name in served for name, _ in demand)


def _decide_word(index: Index, pod: Pod, demand: Demand) -> Word:
    spec = pod.spec
    if not demand:
        # A resource claim is a request in another form: calling it none would send people to the wrong place.
        return Word.OTHER if spec.resource_claims and not spec.node_name else Word.NO_REQUEST
    if spec.node_name:
        return Word.OK
    mask = index.matching(spec)
    if not mask:
        # Without any wish there is nothing to mismatch: the cluster has no Node at all.
        is_picky = bool(spec.node_selector) or required_affinity(spec) is not None
        return Word.LABEL_MISMATCH if is_picky else Word.NO_GPU_NODE
    return _decide_on_nodes(index, pod, demand, mask)


def _decide_on_nodes(index: Index, pod: Pod, demand: Demand, mask: int) -> Word:
    tolerated = mask & index.tolerated(pod.spec)
    if not tolerated:
        return Word.TAINT
    if is_served_by_dra(index, demand):
        return Word.OTHER
    supply = index.supply(demand, pod)
    with_gpus = mask & supply.with_gpus
    mask = tolerated & with_gpus
    if not mask:
        is_lost_to_taints = with_gpus and not index.options.strict_order
        return Word.TAINT if is_lost_to_taints else Word.NO_GPU_NODE
    mask &= supply.offering
    if not mask:
        return Word.ALLOCATABLE_ZERO
    return Word.OTHER if mask & supply.fitting else Word.EXHAUSTED
