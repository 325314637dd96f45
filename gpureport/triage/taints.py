"""Which taints keep a Pod away from a Node: cordons count as the taint that stands for them."""

import re
from collections.abc import Iterable

from gpureport.triage.objects import NodeSpec, Taint, Toleration

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""What the scheduler sees in `spec.unschedulable`; a toleration of this taint passes the cordon."""

_INT64_MAX = 2**63 - 1
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def blocking_taints(spec: NodeSpec) -> tuple[Taint, ...]:
    """Return the taints that can keep a Pod away, a cordon among them; `PreferNoSchedule` never does."""
    taints = tuple(taint for taint in spec.taints if taint.effect in ("NoSchedule", "NoExecute"))
    if spec.unschedulable and CORDON not in taints:
        taints += (CORDON,)
    return taints


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether one toleration covers one taint.

    An empty effect covers all effects, an empty key all keys. `Gt` and `Lt` compare the taint's value with the
    toleration's as integers: the API takes them only where TaintTolerationComparisonOperators is on, so a stored one
    counts. An unknown operator covers nothing.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case "Gt" | "Lt":
            return _compares(toleration.operator, taint.value, toleration.value)
        case _:
            return False


def first_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that no toleration covers; None when all are covered."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def format_taint(taint: Taint) -> str:
    """Return a taint as kubectl writes it: `key=value:effect`, without `=` when it has no value."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _compares(operator: str, taint_value: str, toleration_value: str) -> bool:
    if not (_INTEGER.fullmatch(taint_value) and _INTEGER.fullmatch(toleration_value)):
        return False
    left, right = int(taint_value), int(toleration_value)
    if max(abs(left), abs(right)) > _INT64_MAX:
        return False
    return left > right if operator == "Gt" else left < right
