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
        self._patterns = [NamePattern(text.removesuffix("*"), text.endswith("*")) for text in patterns]
        self._known: dict[str, bool] = {}

    def is_gpu(self, name: str) -> bool:
        """Say whether a resource name is one of ours."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= NAMES_CACHED_MAX:
                self._known.clear()
            known = any(name.startswith(p.text) if p.is_prefix else name == p.text for p in self._patterns)
            self._known[name] = known
        return known


def gpu_demand(spec: PodSpec, names: ResourceNames) -> Demand:
    """Return the GPUs that a Pod needs: limits first, requests where a container has no limit of that name.

    Extended resources can't be overcommitted, so the API keeps both equal; objects written by hand may hold one alone.
    """
    is_gpu = names.is_gpu

    def pick(resources: Resources | None) -> dict[str, int]:
        if resources is None:
            return {}
        found = {name: parse_count(amount) for name, amount in resources.limits.items() if is_gpu(name)}
        for name, amount in resources.requests.items():
            if is_gpu(name) and name not in found:
                found[name] = parse_count(amount)
        return found

    overhead = {name: parse_count(amount) for name, amount in spec.overhead.items() if is_gpu(name)}
    total = _effective(spec, pick, overhead)
    return tuple(sorted((name, amount) for name, amount in total.items() if amount > 0)) if total else ()


def other_demand(spec: PodSpec) -> dict[str, int]:
    """Return cpu, memory and ephemeral storage in thousandths: requests first, limits where there is no request."""

    def pick(resources: Resources | None) -> dict[str, int]:
        if resources is None:
            return {}
        return _thousandths({**resources.limits, **resources.requests})

    total = _effective(spec, pick, {})
    total.update(pick(spec.resources))  # resources of the Pod as a whole replace the containers' sum
    _add(total, _thousandths(spec.overhead))
    return total


def _effective(
    spec: PodSpec, pick: Callable[[Resources | None], dict[str, int]], overhead: dict[str, int]
) -> dict[str, int]:
    """Return max(apps + sidecars, the peak while init containers run) + overhead.

    An init container runs beside the sidecars that were started before it.
    """
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, pick(container.resources))
    if spec.init_containers:
        sidecars: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container in spec.init_containers:
            own = pick(container.resources)
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
