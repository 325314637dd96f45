"""Which Nodes a selector leaves, by every operator; the sets themselves."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.triage.labels import Labels, build_mask, iterate_mask
from gpureport.triage.objects import NodeSelector
from gpureport.triage.selectors import affinity_mask

NODES = {
    "a": {"zone": "z1", "memory": "16384"},
    "b": {"zone": "z2", "memory": "81920"},
    "c": {"memory": "80Gi", "empty": ""},
}


def met(*terms: dict[str, Any]) -> set[str]:
    labels = Labels(list(NODES), list(NODES.values()))
    mask = affinity_mask(labels, msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector))
    return {list(NODES)[position] for position in iterate_mask(mask)}


def term(*expressions: tuple[str, str, list[str]], field: str = "matchExpressions") -> dict[str, Any]:
    return {field: [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]}


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        (("zone", "In", ["z1", "z9"]), {"a"}),
        (("zone", "NotIn", ["z1"]), {"b", "c"}),
        (("zone", "Exists", []), {"a", "b"}),
        (("empty", "Exists", []), {"c"}),
        (("empty", "In", [""]), {"c"}),
        (("zone", "DoesNotExist", []), {"c"}),
        (("memory", "Gt", ["40000"]), {"b"}),
        (("memory", "Lt", ["40000"]), {"a"}),
        (("memory", "Gt", ["80Gi"]), set()),
        (("memory", "Gt", ["1", "2"]), set()),
        (("memory", "Gt", []), set()),
        (("zone", "In", []), set()),
        (("zone", "NotIn", []), set()),
        (("zone", "Exists", ["z1"]), set()),
        (("zone", "Like", ["z1"]), set()),
    ],
)
def test_expression_leaves_the_nodes_that_meet_it(expression: tuple[str, str, list[str]], want: set[str]) -> None:
    assert met(term(expression)) == want


def test_expressions_of_one_term_are_all_needed() -> None:
    assert met(term(("zone", "In", ["z1"]), ("memory", "Gt", ["40000"]))) == set()


def test_terms_are_alternatives() -> None:
    assert met(term(("zone", "In", ["z1"])), term(("memory", "Gt", ["40000"]))) == {"a", "b"}


@pytest.mark.parametrize("terms", [[], [{}], [{"matchExpressions": [], "matchFields": []}]])
def test_empty_selector_or_term_is_met_by_no_node(terms: list[dict[str, Any]]) -> None:
    assert met(*terms) == set()


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        (("metadata.name", "In", ["a"]), {"a"}),
        (("metadata.name", "NotIn", ["a"]), {"b", "c"}),
        (("metadata.name", "In", ["a", "b"]), set()),
        (("metadata.name", "Exists", []), set()),
        (("metadata.name", "Gt", ["a"]), set()),
        (("spec.unschedulable", "In", ["a"]), set()),
    ],
)
def test_field_leaves_the_nodes_that_meet_it(expression: tuple[str, str, list[str]], want: set[str]) -> None:
    assert met(term(expression, field="matchFields")) == want


def test_fields_and_expressions_of_one_term_are_both_needed() -> None:
    both = {**term(("zone", "Exists", [])), **term(("metadata.name", "NotIn", ["a"]), field="matchFields")}
    assert met(both) == {"b"}


@given(st.sets(st.integers(0, 299)))
def test_mask_gives_back_the_positions_it_was_built_from(positions: set[int]) -> None:
    assert list(iterate_mask(build_mask(positions, 300))) == sorted(positions)
