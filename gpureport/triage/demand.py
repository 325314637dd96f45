"""How much of each resource a Pod needs, computed as the scheduler does; nothing about Nodes belongs here."""

from collections.abc import Callable
from typing import NamedTuple

from gpureport.triage.objects import PodSpec, Quantity, Resources
from gpureport.triage.quantities import parse_count, parse_thousandths

Demand = tuple[tuple[str, int], ...]
"""Resource name and amount, sorted by name, amounts above 0 only: hashable, so that equal Pods share their answers."""

NAMES_CACHED_MAX = 10_000
"""Resource names remembered; a cluster has dozens, an attacker's Pods may name any number."""

OTHER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
"""What else can be short on a node with free GPUs; counted in thousandths, for cpu is fractional."""


class NamePattern(NamedTuple):
    """A resource name, or the beginning of one (`nvidia.com/*`, `nvidia.com/mig-*`)."""

    text: str
    is_prefix: bool


class ResourceNames:
    """Which resource names count as GPUs."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.known = _KnownNames([NamePattern(text.removesuffix("*"), text.endswith("*")) for text in patterns])

    def is_gpu(self, name: str) -> bool:
        """Say whether a resource name is one of ours."""
        return self.known[name]


class _KnownNames(dict[str, bool]):
    """Names already judged; a new one is judged when it is looked up."""

    def __init__(self, patterns: list[NamePattern]) -> None:
        super().__init__()
        self._patterns = patterns

    def __missing__(self, name: str) -> bool:
        if len(self) >= NAMES_CACHED_MAX:
            self.clear()
        found = any(name.startswith(p.text) if p.is_prefix else name == p.text for p in self._patterns)
        self[name] = found
        return found


def gpu_demand(spec: PodSpec, names: ResourceNames) -> Demand:
    """Return the GPUs that a Pod needs: limits first, requests where a container has no limit of that name.

    Extended resources can't be overcommitted, so the API keeps both equal; objects written by hand may hold one alone.
    """
    known = names.known
    total: dict[str, int] = {}
    if spec.init_containers or spec.overhead:
        overhead = {name: parse_count(amount) for name, amount in spec.overhead.items() if known[name]}
        total = _effective(spec, lambda resources: _pick_gpus(resources, known), overhead)
    else:
        # Nearly every Pod: this path is what a word costs.
        for container in spec.containers:
            if container.resources is not None:
                _add_gpus(total, container.resources, known)
    return tuple(sorted([item for item in total.items() if item[1] > 0])) if total else ()


def _add_gpus(total: dict[str, int], resources: Resources, known: _KnownNames) -> None:
    limits = resources.limits
    for name in limits:
        if known[name]:
            total[name] = total.get(name, 0) + parse_count(limits[name])
    for name, amount in resources.requests.items():
        if known[name] and name not in limits:
            total[name] = total.get(name, 0) + parse_count(amount)


def _pick_gpus(resources: Resources, known: _KnownNames) -> dict[str, int]:
    found: dict[str, int] = {}
    _add_gpus(found, resources, known)
    return found


def other_demand(spec: PodSpec) -> dict[str, int]:
    """Return cpu, memory and ephemeral storage in thousandths: requests first, limits where there is no request."""
    total = _effective(spec, _pick_others, {})
    if spec.resources is not None:
        total.update(_pick_others(spec.resources))  # resources of the Pod as a whole replace the containers' sum
    _add(total, _thousandths(spec.overhead))
    return total


def _pick_others(resources: Resources) -> dict[str, int]:
    return _thousandths({**resources.limits, **resources.requests})


def _effective(spec: PodSpec, pick: Callable[[Resources], dict[str, int]], overhead: dict[str, int]) -> dict[str, int]:
    """Return max(apps + sidecars, the peak while init containers run) + overhead.

    An init container runs beside the sidecars that were started before it.
    """
    total: dict[str, int] = {}
    for container in spec.containers:
        if container.resources is not None:
            _add(total, pick(container.resources))
    if spec.init_containers:
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container in spec.init_containers:
            own = pick(container.resources) if container.resources is not None else {}
            if container.restart_policy == "Always":
                _add(sidecars, own)
                _raise_to(peak, sidecars)
            else:
                _add(own, sidecars)
                _raise_to(peak, own)
        _add(total, sidecars)
        _raise_to(total, peak)
    _add(total, overhead)
    return total


def _add(total: dict[str, int], part: dict[str, int]) -> None:
    for name, amount in part.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], floor: dict[str, int]) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, 0), amount)


def _thousandths(amounts: dict[str, Quantity]) -> dict[str, int]:
    return {name: parse_thousandths(amount) for name, amount in amounts.items() if name in OTHER_RESOURCES}
