"""The cluster as sets of Nodes, built once: each stage of triage is one set, cheap to ask for again and again.

What the sets mean for a Pod, and in which order they are looked at, is `verdict`.
"""

from collections.abc import Callable, Iterable, Sequence
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


class Supply(NamedTuple):
    """The Nodes for one demand, as sets.

    `with_gpus`: every demanded resource is there, offered or not (capacity, or allocatable alone: the scheduler never
    reads capacity). `offering`: some of each is allocatable. `fitting`: enough of each is left after placed Pods and
    those nominated with equal or higher priority.
    """

    with_gpus: int
    offering: int
    fitting: int


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
        self._supplies: dict[tuple[Demand, int], Supply] = {}

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
        self._supplies.clear()

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
        mask = self._tolerated.get(spec.tolerations)
        if mask is not None:
            return mask
        return _remember(self._tolerated, spec.tolerations, lambda: self._tolerated_by(spec.tolerations))

    def supply(self, demand: Demand, pod: Pod) -> Supply:
        """Return the Nodes that have, offer, and have left what is demanded; see `Supply`."""
        priority = pod.spec.priority if self.inventory.nominated else 0
        supply = self._supplies.get((demand, priority))
        if supply is None:
            if len(self._supplies) >= ANSWERS_CACHED_MAX:
                self._supplies.clear()
            supply = self._supplies[demand, priority] = self._compute_supply(demand, priority)
        if pod.status.nominated_node_name and self.inventory.nominated:
            return supply._replace(fitting=self._without_own_nomination(supply.fitting, demand, pod))
        return supply

    def free(self, position: int, name: str, pod: Pod) -> int:
        """Return how much is left for a Pod on a Node; below 0 when allocatable fell under what is held."""
        promised = sum(_amount(holder, name) for holder in self.promised_before(position, pod))
        return self.inventory.allocatable(name)[position] - self.inventory.held(name)[position] - promised

    def promised_before(self, position: int, pod: Pod) -> list[Holder]:
        """Return the Pods nominated to a Node that come before a Pod: equal or higher priority, itself left out."""
        own = (pod.metadata.namespace, pod.metadata.name)
        nominated = self.inventory.nominated.get(position, ())
        return [h for h in nominated if h.priority >= pod.spec.priority and (h.namespace, h.name) != own]

    def _compute_supply(self, demand: Demand, priority: int) -> Supply:
        with_gpus = offering = fitting = self.labels.everything
        for name, need in demand:
            allocatable = self.inventory.allocatable(name)
            left = [offered - held for offered, held in zip(allocatable, self.inventory.held(name), strict=True)]
            for position, holders in self.inventory.nominated.items():
                left[position] -= sum(_amount(holder, name) for holder in holders if holder.priority >= priority)
            has = [max(pair) for pair in zip(self.inventory.capacity(name), allocatable, strict=True)]
            with_gpus &= _at_least(1, has)
            offering &= _at_least(1, allocatable)
            fitting &= _at_least(need, left)
        return Supply(with_gpus, offering, fitting)

    def _without_own_nomination(self, fitting: int, demand: Demand, pod: Pod) -> int:
        """Return the Nodes that fit when a Pod's own nomination holds nothing against it."""
        position = self.inventory.positions.get(pod.status.nominated_node_name)
        if position is None:
            return fitting
        fits = all(self.free(position, name, pod) >= need for name, need in demand)
        return fitting | 1 << position if fits else fitting & ~(1 << position)

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


def _at_least(floor: int, amounts: Sequence[int]) -> int:
    return build_mask((i for i, amount in enumerate(amounts) if amount >= floor), len(amounts))


def _remember(cache: dict[K, int], key: K, compute: Callable[[], int]) -> int:
    answer = cache.get(key)
    if answer is None:
        if len(cache) >= ANSWERS_CACHED_MAX:
            cache.clear()
        answer = cache[key] = compute()
    return answer
