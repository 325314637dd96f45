"""What a verdict means and what to do about it, as sentences with their numbers; nothing is decided here."""

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from gpureport.triage.causes import Cause, likely_cause, scheduled_condition
from gpureport.triage.evidence import (
    NodeEvidence,
    Stage,
    StageCount,
    count_stages,
    holders_on,
    rank_nodes,
    stage_masks,
)
from gpureport.triage.inventory import TERMINAL_PHASES, Holder
from gpureport.triage.labels import iterate_mask
from gpureport.triage.objects import Condition
from gpureport.triage.selectors import required_affinity
from gpureport.triage.taints import first_untolerated, format_taint
from gpureport.triage.verdict import Verdict, Word

NODES_SHOWN_MAX = 20
"""Nodes with evidence, and Pods that hold GPUs, in one explanation: a screen of them, the nearest first."""

NAMES_SHOWN_MAX = 5
"""Names, values and taints listed in one sentence."""


class Held(NamedTuple):
    """A Pod that holds what was asked for, and where."""

    node: str
    holder: Holder


class Explanation(NamedTuple):
    """A verdict with its proof; `cause` is a word only for `other`, `nodes` are the nearest of `nodes_total`."""

    word: Word
    cause: str
    message: str
    fix: str
    stages: tuple[StageCount, ...] = ()
    nodes: tuple[NodeEvidence, ...] = ()
    nodes_total: int = 0
    holders: tuple[Held, ...] = ()
    condition: Condition | None = None
    notes: tuple[str, ...] = ()


def explain(verdict: Verdict) -> Explanation:
    """Compute everything that proves a verdict and tells what to do; costs up to milliseconds per thousand Nodes."""
    if not verdict.demand or verdict.word is Word.OK:
        cause = _explain_by_pod(verdict)
        return Explanation(verdict.word, cause.word, cause.message, cause.fix, condition=scheduled_condition(verdict))
    cause = _SENTENCES[verdict.word](verdict)
    offering = stage_masks(verdict)[3][1]
    holders = (Held(*pair) for pair in holders_on(verdict, offering)) if verdict.word is Word.EXHAUSTED else ()
    return Explanation(
        verdict.word,
        cause.word,
        cause.message,
        cause.fix,
        count_stages(verdict),
        tuple(islice(rank_nodes(verdict), NODES_SHOWN_MAX)),
        len(verdict.index.inventory.nodes),
        tuple(islice(holders, NODES_SHOWN_MAX)),
        scheduled_condition(verdict),
        _notes(verdict),
    )


def _explain_by_pod(verdict: Verdict) -> Cause:
    spec, status = verdict.pod.spec, verdict.pod.status
    if verdict.word is Word.OTHER:
        return likely_cause(verdict)
    if verdict.word is Word.OK:
        if status.phase in TERMINAL_PHASES:
            why = f" ({status.reason}: {status.message})" if status.reason else ""
            return Cause(
                "", f"Placed on {spec.node_name}; its phase there is {status.phase}{why}.", "Look at the node."
            )
        phase = f", phase {status.phase}" if status.phase else ""
        return Cause("", f"Placed on {spec.node_name}{phase}: scheduling is not what keeps it.", "")
    asked = ", ".join(verdict.index.options.resource_names)
    runtime = f" (runtimeClassName {spec.runtime_class_name} is no request)" if spec.runtime_class_name else ""
    return Cause(
        "",
        f"No container asks for {asked}{runtime}.",
        f"Add a limit such as {verdict.index.options.resource_names[0].rstrip('*')}: 1 to the container that needs it, "
        "or name another resource with --resource.",
    )


def _say_label_mismatch(verdict: Verdict) -> Cause:
    index, spec = verdict.index, verdict.pod.spec
    absent = [(key, value) for key, value in spec.node_selector.items() if not index.labels.having(key, value)]
    if absent:
        key, value = absent[0]
        values = sorted(index.labels.values(key))
        have = f"nodes have {key} = {_some(values)}" if values else f"no node has the label {key}"
        message = f"No node has the label {key}={value}; {have}."
    elif spec.node_selector and required_affinity(spec) is None:
        pairs = _some([f"{key}={value}" for key, value in spec.node_selector.items()])
        message = f"No single node has all of the labels {pairs}."
    else:
        nearest = next(rank_nodes(verdict), None)
        missing = f"; nearest is {nearest.node}, which misses {nearest.detail}" if nearest else ""
        message = f"No node meets nodeSelector and required node affinity together{missing}."
    return Cause("", message, "Correct the nodeSelector or affinity, or label the node that is meant.")


def _say_taint(verdict: Verdict) -> Cause:
    index, spec = verdict.index, verdict.pod.spec
    matching = index.matching(spec)
    gpu_nodes = matching & index.supply(verdict.demand, verdict.pod).with_gpus
    subject = gpu_nodes or matching
    counts: dict[str, int] = {}
    for position in iterate_mask(subject):
        taint = first_untolerated(index.taints[position], spec.tolerations)
        if taint is not None:
            text = format_taint(taint)
            counts[text] = counts.get(text, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    taints = _some([f"{text} (on {count})" for text, count in ranked])
    kind = "matching GPU node" if gpu_nodes else "matching node"
    message = f"Every {kind} ({subject.bit_count()}) has a taint that the Pod does not tolerate: {taints}."
    return Cause("", message, "Add the toleration to the Pod if it may run there; uncordon or repair the node if not.")


def _say_no_gpu_node(verdict: Verdict) -> Cause:
    left = stage_masks(verdict)[1][1].bit_count()
    names = _some([name for name, _ in verdict.demand])
    asked = {name for name, _ in verdict.demand}
    sold = [name for name in _offered_names(verdict) if name not in asked]
    others = f" They offer {_some(sold)}." if sold else ""
    nodes = "The cluster has no node." if not verdict.index.everything else (
        f"Of the nodes that the Pod may use ({left}), none has {names}.{others}"
    )  # fmt: skip
    fix = "Check the device plugin on the node that is meant, add GPU nodes, or ask for the name that is offered."
    return Cause("", nodes, fix)


def _say_allocatable_zero(verdict: Verdict) -> Cause:
    broken = stage_masks(verdict)[2][1]
    nodes = [verdict.index.inventory.nodes[i].metadata.name for i in islice(iterate_mask(broken), NAMES_SHOWN_MAX + 1)]
    message = f"No GPU is allocatable on any matching GPU node ({broken.bit_count()}): {_some(nodes)}."
    return Cause("", message, "Look at the driver and the device plugin there; a bug report of the node helps.")


def _say_exhausted(verdict: Verdict) -> Cause:
    index, parts = verdict.index, []
    offering = stage_masks(verdict)[3][1]
    fix = "Wait for, or end, a Pod that holds them, or add nodes."
    for name, need in verdict.demand:
        allocatable = index.inventory.allocatable(name)
        largest = max((allocatable[i] for i in iterate_mask(offering)), default=0)
        free = [max(0, index.free(i, name, verdict.pod)) for i in iterate_mask(offering)]
        most, total = max(free, default=0), sum(free)
        if need > largest:
            parts.append(f"{need} x {name} asked for, and the largest matching node offers {largest}")
            fix = "Ask for at most what one node offers, or add larger nodes: waiting does not help."
        elif most < need <= total:
            parts.append(f"{need} x {name} asked for; {total} are free in all, at most {most} on one node")
        else:
            left = f"at most {most} free on one" if most else "none free on any"
            parts.append(f"{need} x {name} asked for, {left} of the nodes that offer it ({len(free)})")
    return Cause("", "; ".join(parts) + ".", fix)


_SENTENCES: dict[Word, Callable[[Verdict], Cause]] = {
    Word.LABEL_MISMATCH: _say_label_mismatch,
    Word.TAINT: _say_taint,
    Word.NO_GPU_NODE: _say_no_gpu_node,
    Word.ALLOCATABLE_ZERO: _say_allocatable_zero,
    Word.EXHAUSTED: _say_exhausted,
    Word.OTHER: likely_cause,
}


def _notes(verdict: Verdict) -> tuple[str, ...]:
    masks = dict(stage_masks(verdict))
    notes = []
    broken = masks[Stage.CAPACITY] & ~masks[Stage.ALLOCATABLE]
    if broken and verdict.word in (Word.EXHAUSTED, Word.OTHER):
        names = [verdict.index.inventory.nodes[i].metadata.name for i in islice(iterate_mask(broken), 6)]
        notes.append(f"Nodes with GPUs of which none is allocatable: {_some(names)}.")
    if verdict.pod.spec.resource_claims:
        notes.append("The Pod also has resource claims, which Nodes and Pods do not show.")
    return tuple(notes)


def _offered_names(verdict: Verdict) -> list[str]:
    """Return every name with a vendor's domain that a usable node offers: what the Pod could ask for instead."""
    names = set()
    for position in iterate_mask(stage_masks(verdict)[1][1]):
        for name, quantity in verdict.index.inventory.nodes[position].status.allocatable.items():
            if "/" in name and str(quantity) != "0":
                names.add(name)
    return sorted(names)


def _some(texts: list[str]) -> str:
    shown = ", ".join(texts[:NAMES_SHOWN_MAX])
    return f"{shown}, and {len(texts) - NAMES_SHOWN_MAX} more" if len(texts) > NAMES_SHOWN_MAX else shown
