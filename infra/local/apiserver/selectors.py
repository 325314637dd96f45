"""Whether an object matches a label selector or a field selector.

Parsing and matching only; which fields a resource lets one select by is in the resource table.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from infra.local.apiserver.failures import build_bad_request
from infra.local.apiserver.resources import Resource
from infra.local.apiserver.validation import list_key_problems, list_label_problems

_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_COMPARISON = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)")
_EXISTENCE = re.compile(r"(!?)\s*([^=!()\s]+)")


class Requirement(NamedTuple):
    """One clause: a key, one of `in notin exists absent`, and the values it speaks of."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, value: str | None) -> bool:
        """Tell whether the clause holds for the value of its key; None is an absent key."""
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
        return value is None


def parse_label_selector(text: str) -> list[Requirement]:
    """Parse `a=b,c!=d,e in (f,g),h,!i`; raises 400 when it is malformed."""
    requirements = []
    for clause in _COMMA_OUTSIDE_PARENTHESES.split(text) if text.strip() else []:
        requirement = _parse_label_clause(clause.strip())
        problems = list_key_problems(requirement.key)
        problems += [problem for value in requirement.values for problem in list_label_problems(value)]
        if problems:
            raise build_bad_request(f"unable to parse requirement: <nil>: Invalid value: {problems[0]}")
        requirements.append(requirement)
    return requirements


def _parse_label_clause(clause: str) -> Requirement:
    if found := _SET.fullmatch(clause):
        values = frozenset(value.strip() for value in found[3].split(","))
        return Requirement(found[1], found[2], values)
    if found := _COMPARISON.fullmatch(clause):
        return Requirement(found[1], "notin" if found[2] == "!=" else "in", frozenset({found[3]}))
    if found := _EXISTENCE.fullmatch(clause):
        return Requirement(found[2], "absent" if found[1] else "exists", frozenset())
    raise build_bad_request(f"unable to parse requirement: found '{clause}', expected: a label selector clause")


def parse_field_selector(text: str, resource: Resource) -> list[Requirement]:
    """Parse `a=b,c!=d`; raises 400 when it is malformed or names a field that cannot be selected by."""
    requirements = []
    for clause in text.split(",") if text else []:
        found = _COMPARISON.fullmatch(clause.strip())
        if found is None:
            raise build_bad_request(f"invalid selector: '{text}'; can't understand '{clause}'")
        if found[1] not in resource.fields:
            raise build_bad_request(f"field label not supported: {found[1]}")
        requirements.append(Requirement(found[1], "notin" if found[2] == "!=" else "in", frozenset({found[3]})))
    return requirements


def build_matcher(
    resource: Resource, namespace: str | None, labels: str, fields: str
) -> Callable[[dict[str, Any]], bool]:
    """Build the test of one LIST or WATCH: an object of the namespace, with these labels and these fields."""
    label_requirements = parse_label_selector(labels)
    field_requirements = parse_field_selector(fields, resource)

    def matches(stored: dict[str, Any]) -> bool:
        metadata = stored["metadata"]
        if namespace is not None and metadata.get("namespace") != namespace:
            return False
        found_labels = metadata.get("labels") or {}
        return all(clause.holds(found_labels.get(clause.key)) for clause in label_requirements) and all(
            clause.holds(_read_field(stored, clause.key)) for clause in field_requirements
        )

    return matches


def _read_field(stored: dict[str, Any], path: str) -> str:
    """Read a field as text; an absent one is the empty text, or false where the field is a yes or no."""
    path = path.replace("regarding.", "involvedObject.").replace("reportingController", "reportingComponent")
    value: object = stored
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if path == "source" and isinstance(value, dict):
        value = value.get("component")
    if path in ("spec.unschedulable", "spec.hostNetwork"):
        return "true" if value else "false"
    return "" if value is None else str(value)
