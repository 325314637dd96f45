"""What Nodes offer and what Pods hold of it: one pass over each, then memory is bounded by Nodes and the GPUs in them.

Which Pod may use which Node is not decided here.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gpureport.triage.demand import Demand, ResourceNames, gpu_demand, other_demand
from gpureport.triage.objects import Node, Pod
from gpureport.triage.quantities import parse_count, parse_thousandths

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
"""Phases of a Pod that holds nothing any more. A terminating Pod holds until it is gone."""


class Holder(NamedTuple):
    """A Pod that holds GPUs on a Node, or to which the Node is promised (`nominated`)."""

    namespace: str
    name: str
    demand: Demand
    created: str
    """`creationTimestamp` as the API wrote it; empty when unknown."""
    terminating: bool
    nominated: bool
    priority: int


class Inventory:
    """Offers and holds by the Node's position in `nodes`."""

    def __init__(self, nodes: Iterable[Node], names: ResourceNames) -> None:
        self.nodes = tuple({node.metadata.name: node for node in nodes}.values())
        self.positions = {node.metadata.name: position for position, node in enumerate(self.nodes)}
        self.holders: dict[int, list[Holder]] = {}
        self.nominated: dict[int, list[Holder]] = {}
        self._names = names
        self._capacity: dict[str, list[int]] = {}
        self._allocatable: dict[str, list[int]] = {}
        self._held: dict[str, list[int]] = {}
        self._others: dict[int, dict[str, int]] = {}
        for position, node in enumerate(self.nodes):
            self._count_offer(position, node)

    def capacity(self, name: str) -> list[int]:
        """Return what each Node has of a resource."""
        return self._capacity.get(name) or [0] * len(self.nodes)

    def allocatable(self, name: str) -> list[int]:
        """Return what the scheduler may give away of a resource on each Node."""
        return self._allocatable.get(name) or [0] * len(self.nodes)

    def held(self, name: str) -> list[int]:
        """Return what placed Pods hold of a resource on each Node."""
        return self._held.get(name) or [0] * len(self.nodes)

    def resource_names(self) -> list[str]:
        """Return the GPU resource names that some Node offers or knows."""
        return sorted(self._capacity.keys() | self._allocatable.keys())

    def others_held(self, position: int) -> dict[str, int]:
        """Return what placed Pods hold of cpu, memory and storage (thousandths) and `pods`, on a Node with GPUs."""
        return self._others.get(position, {})

    def add_pod(self, pod: Pod) -> None:
        """Count what a Pod holds: nothing when it is terminal, or neither placed nor nominated."""
        spec = pod.spec
        node_name = spec.node_name or pod.status.nominated_node_name
        if not node_name or pod.status.phase in TERMINAL_PHASES:
            return
        position = self.positions.get(node_name)
        if position is None:
            return
        demand = gpu_demand(spec, self._names)
        if spec.node_name:
            self._count_held(position, pod, demand)
        elif demand:
            self.nominated.setdefault(position, []).append(_holder(pod, demand))

    def _count_held(self, position: int, pod: Pod, demand: Demand) -> None:
        for name, amount in demand:
            held = self._held.get(name)
            if held is None:
                held = self._held[name] = [0] * len(self.nodes)
            held[position] += amount
        if demand:
            self.holders.setdefault(position, []).append(_holder(pod, demand))
        others = self._others.get(position)
        if others is not None:
            others["pods"] = others.get("pods", 0) + 1
            for name, amount in other_demand(pod.spec).items():
                others[name] = others.get(name, 0) + amount

    def _count_offer(self, position: int, node: Node) -> None:
        for offered, table in (
            (node.status.capacity, self._capacity),
            (node.status.allocatable, self._allocatable),
        ):
            for name, quantity in offered.items():
                if not self._names.is_gpu(name):
                    continue
                table.setdefault(name, [0] * len(self.nodes))[position] = parse_count(quantity)
                self._others[position] = {}


def allocatable_other(node: Node, name: str) -> int | None:
    """Return what a Node may give of cpu, memory or storage (thousandths), or of `pods`; None when it does not say."""
    quantity = node.status.allocatable.get(name)
    if quantity is None:
        return None
    return parse_count(quantity) if name == "pods" else parse_thousandths(quantity)


def _holder(pod: Pod, demand: Demand) -> Holder:
    meta = pod.metadata
    nominated = not pod.spec.node_name
    created, terminating = meta.creation_timestamp, bool(meta.deletion_timestamp)
    return Holder(meta.namespace, meta.name, demand, created, terminating, nominated, pod.spec.priority)
