"""The cluster as sets of Nodes, built once: each stage of triage is one set, cheap to ask for again and again.

What the sets mean for a Pod, and in which order they are looked at, is `verdict`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from gpureport.triage.demand import Demand, ResourceNames
from gpureport.triage.inventory import Holder, Inventory
from gpureport.triage.labels import Labels, build_mask
from gpureport.triage.objects import Node, NodeSelector, Pod, PodSpec, Taint, Toleration
from gpureport.triage.selectors import affinity_mask, required_affinity
from gpureport.triage.taints import blocking_taints, first_untolerated

K = TypeVar("K")

DEFAULT_RESOURCE_NAMES = ("nvidia.com/gpu",)

ANSWERS_CACHED_MAX = 4096
"""Answers remembered per stage; distinct tolerations, affinities and demands of a real cluster are hundreds at most."""


class Options(NamedTuple):
    """What the asker decides.

    `resource_names` are exact names, or prefixes that end in `*`. `strict_order` leaves out the amendment by which
    tainted GPU nodes beside untainted CPU nodes are `taint`. `dra_resource_names` are served by DeviceClasses of this
    cluster: for them the Nodes' own numbers decide nothing.
    """

    resource_names: tuple[str, ...] = DEFAULT_RESOURCE_NAMES
    strict_order: bool = False
    dra_resource_names: frozenset[str] = frozenset()


DEFAULT_OPTIONS = Options()


class Index:
    """One snapshot of a cluster. Not for use by several threads at once: it remembers answers."""

    def __init__(self, nodes: Iterable[Node], options: Options = DEFAULT_OPTIONS) -> None:
        self.options = options
        self.names = ResourceNames(options.resource_names)
        self.inventory = Inventory(nodes, self.names)
        found = self.inventory.nodes
        self.labels = Labels([n.metadata.name for n in found], [n.metadata.labels for n in found])
        self.taints = [blocking_taints(node.spec) for node in found]
        self._taint_classes = self._group_taints()
        self._tolerated: dict[tuple[Toleration, ...], int] = {}
        self._affine: dict[NodeSelector, int] = {}
        self._stages: dict[tuple[str, Demand, int], int] = {}

    @classmethod
    def build(cls, nodes: Iterable[Node], pods: Iterable[Pod], options: Options = DEFAULT_OPTIONS) -> "Index":
        """Build the index; `pods` may be a stream and is gone through once. Two Nodes of one name count once."""
        index = cls(nodes, options)
        index.add_pods(pods)
        return index

    def add_pods(self, pods: Iterable[Pod]) -> None:
        """Count what more Pods hold. No Pod may be added twice."""
        for pod in pods:
            self.inventory.add_pod(pod)
        self._stages.clear()

    @property
    def everything(self) -> int:
        """Return the set of all Nodes."""
        return self.labels.everything

    def matching(self, spec: PodSpec) -> int:
        """Return the Nodes that nodeSelector and required node affinity leave."""
        mask = self.labels.everything
        for key, value in spec.node_selector.items():
            mask &= self.labels.having(key, value)
        selector = required_affinity(spec)
        if selector is not None:
            mask &= _remember(self._affine, selector, lambda: affinity_mask(self.labels, selector))
        return mask

    def tolerated(self, spec: PodSpec) -> int:
        """Return the Nodes of which every blocking taint is tolerated."""
        return _remember(self._tolerated, spec.tolerations, lambda: self._tolerated_by(spec.tolerations))

    def with_gpus(self, demand: Demand) -> int:
        """Return the Nodes that have every demanded resource, offered or not: capacity, or allocatable without it.

        The scheduler never reads capacity, so that a Node with allocatable alone has GPUs.
        """

        def has(name: str, _: int) -> list[bool]:
            pairs = zip(self.inventory.capacity(name), self.inventory.allocatable(name), strict=True)
            return [capacity > 0 or allocatable > 0 for capacity, allocatable in pairs]

        return _remember(self._stages, ("has", demand, 0), lambda: self._all_of(demand, has))

    def offering(self, demand: Demand) -> int:
        """Return the Nodes on which some of every demanded resource is allocatable."""

        def offers(name: str, _: int) -> list[bool]:
            return [amount > 0 for amount in self.inventory.allocatable(name)]

        return _remember(self._stages, ("offers", demand, 0), lambda: self._all_of(demand, offers))

    def fitting(self, demand: Demand, pod: Pod) -> int:
        """Return the Nodes with enough left, after placed Pods and those nominated with equal or higher priority."""
        priority = pod.spec.priority if self.inventory.nominated else 0
        mask = _remember(self._stages, ("fits", demand, priority), lambda: self._fitting(demand, priority))
        own = self.inventory.positions.get(pod.status.nominated_node_name)
        if own is not None and own in self.inventory.nominated:
            # A Pod's own nomination holds nothing against itself.
            mask &= ~(1 << own)
            if all(self.free(own, name, pod) >= amount for name, amount in demand):
                mask |= 1 << own
        return mask

    def free(self, position: int, name: str, pod: Pod) -> int:
        """Return how much is left for a Pod on a Node; below 0 when allocatable fell under what is held."""
        promised = sum(_amount(holder, name) for holder in self.promised_before(position, pod))
        return self.inventory.allocatable(name)[position] - self.inventory.held(name)[position] - promised

    def promised_before(self, position: int, pod: Pod) -> list[Holder]:
        """Return the Pods nominated to a Node that come before a Pod: equal or higher priority, itself left out."""
        own = (pod.metadata.namespace, pod.metadata.name)
        nominated = self.inventory.nominated.get(position, ())
        return [h for h in nominated if h.priority >= pod.spec.priority and (h.namespace, h.name) != own]

    def _fitting(self, demand: Demand, priority: int) -> int:
        def fits(name: str, need: int) -> list[bool]:
            left = [a - h for a, h in zip(self.inventory.allocatable(name), self.inventory.held(name), strict=True)]
            for position, holders in self.inventory.nominated.items():
                left[position] -= sum(_amount(holder, name) for holder in holders if holder.priority >= priority)
            return [amount >= need for amount in left]

        return self._all_of(demand, fits)

    def _all_of(self, demand: Demand, test: Callable[[str, int], list[bool]]) -> int:
        mask = self.labels.everything
        for name, need in demand:
            passed = test(name, need)
            mask &= build_mask((i for i, is_passed in enumerate(passed) if is_passed), len(passed))
        return mask

    def _group_taints(self) -> list[tuple[tuple[Taint, ...], int]]:
        classes: dict[tuple[Taint, ...], list[int]] = {}
        for position, taints in enumerate(self.taints):
            classes.setdefault(taints, []).append(position)
        return [(taints, build_mask(positions, len(self.taints))) for taints, positions in classes.items()]

    def _tolerated_by(self, tolerations: tuple[Toleration, ...]) -> int:
        mask = 0
        for taints, members in self._taint_classes:
            if first_untolerated(taints, tolerations) is None:
                mask |= members
        return mask


def _amount(holder: Holder, name: str) -> int:
    return sum(amount for held, amount in holder.demand if held == name)


def _remember(cache: dict[K, int], key: K, compute: Callable[[], int]) -> int:
    answer = cache.get(key)
    if answer is None:
        if len(cache) >= ANSWERS_CACHED_MAX:
            cache.clear()
        answer = cache[key] = compute()
    return answer
