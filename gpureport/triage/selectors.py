"""Which Nodes a Pod's nodeSelector and required node affinity leave: set algebra over `labels`.

Preferences never filter and are not looked at. A requirement that the API would refuse matches no Node.
"""

import re
from collections.abc import Iterator

from gpureport.triage.labels import Labels
from gpureport.triage.objects import NodeSelector, PodSpec, Requirement, SelectorTerm

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT64_MAX = 2**63 - 1


def required_affinity(spec: PodSpec) -> NodeSelector | None:
    """Return the node affinity that must hold; None when there is none."""
    affinity = spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required


def affinity_mask(labels: Labels, selector: NodeSelector) -> int:
    """Return the Nodes that meet at least one term; no terms at all are met by no Node."""
    mask = 0
    for term in selector.node_selector_terms:
        mask |= term_mask(labels, term)
    return mask


def term_mask(labels: Labels, term: SelectorTerm) -> int:
    """Return the Nodes that meet every expression and field of a term; an empty term is met by no Node."""
    requirements = list(term_requirements(labels, term))
    mask = labels.everything if requirements else 0
    for _, met in requirements:
        mask &= met
    return mask


def term_requirements(labels: Labels, term: SelectorTerm) -> Iterator[tuple[str, int]]:
    """Yield each requirement of a term as text, with the Nodes that meet it."""
    for requirement in term.match_expressions:
        yield format_requirement(requirement), _expression_mask(labels, requirement)
    for requirement in term.match_fields:
        yield "field " + format_requirement(requirement), _field_mask(labels, requirement)


def format_requirement(requirement: Requirement) -> str:
    """Return a requirement as a person would say it: `zone In [a, b]`."""
    values = f" [{', '.join(requirement.values)}]" if requirement.values else ""
    return f"{requirement.key} {requirement.operator}{values}"


def _expression_mask(labels: Labels, requirement: Requirement) -> int:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In" if values:
            return _any_of(labels, key, values)
        case "NotIn" if values:
            return labels.everything & ~_any_of(labels, key, values)
        case "Exists" if not values:
            return labels.having_key(key)
        case "DoesNotExist" if not values:
            return labels.everything & ~labels.having_key(key)
        case "Gt" | "Lt" if len(values) == 1:
            return _compared(labels, requirement)
        case _:
            return 0


def _any_of(labels: Labels, key: str, values: tuple[str, ...]) -> int:
    mask = 0
    for value in values:
        mask |= labels.having(key, value)
    return mask


def _compared(labels: Labels, requirement: Requirement) -> int:
    bound = _integer(requirement.values[0])
    if bound is None:
        return 0
    mask = 0
    for value in labels.values(requirement.key):
        number = _integer(value)
        if number is not None and (number > bound if requirement.operator == "Gt" else number < bound):
            mask |= labels.having(requirement.key, value)
    return mask


def _field_mask(labels: Labels, requirement: Requirement) -> int:
    """Return the Nodes by a field: the API knows `metadata.name` alone, with exactly one value."""
    if requirement.key != "metadata.name" or len(requirement.values) != 1:
        return 0
    named = labels.named(requirement.values[0])
    match requirement.operator:
        case "In":
            return named
        case "NotIn":
            return labels.everything & ~named
        case _:
            return 0


def _integer(text: str) -> int | None:
    """Return a label's value as the integer it is; None when it is none, or does not fit 64 bits."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64_MAX - 1 <= number <= _INT64_MAX else None
