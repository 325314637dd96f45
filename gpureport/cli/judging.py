"""Verdicts for some Pods of a snapshot, with no more read than they need."""

from collections.abc import Sequence

from gpureport.cli.snapshots import Snapshot
from gpureport.triage.index import Index, Options
from gpureport.triage.objects import Pod
from gpureport.triage.verdict import Verdict, classify, is_decided_by_nodes, is_decided_by_pod


def judge_pods(
    snapshot: Snapshot, options: Options, namespace: str, names: Sequence[str], *, needs_evidence: bool
) -> list[tuple[str, Verdict | None]]:
    """Return each name with its verdict, None for an absent Pod.

    Nodes are read when a Pod does not decide by itself; the Pods of all namespaces, by far most of the bytes, when the
    word or the evidence takes who holds what.
    """
    pods = [(name, snapshot.read_pod(namespace, name)) for name in names]
    present = [pod for _, pod in pods if pod is not None]
    index = _build_index(snapshot, options, present, needs_evidence)
    return [(name, None if pod is None else classify(index, pod)) for name, pod in pods]


def _build_index(snapshot: Snapshot, options: Options, pods: Sequence[Pod], needs_evidence: bool) -> Index:
    index = Index.build((), (), options)
    if all(is_decided_by_pod(classify(index, pod)) for pod in pods):
        return index
    index = Index.build(snapshot.read_nodes(), (), options)
    if needs_evidence or not all(is_decided_by_nodes(classify(index, pod)) for pod in pods):
        index.add_pods(snapshot.read_pods())
    return index
