"""The keys on a Node: one prefix before five names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.contract.keys import Keys, build_keys, is_on
from tests.gpureport.contract.contract_values import nodes

QUALIFIED_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)([A-Za-z0-9][-A-Za-z0-9_.]{0,61}[A-Za-z0-9])")


def test_keys_by_default_are_those_of_google_cloud() -> None:
    assert build_keys() == Keys(
        trigger="cloud.google.com/trigger-gpu-report",
        disable="cloud.google.com/disable-gpu-report",
        status="cloud.google.com/gpu-report-status",
        run="cloud.google.com/gpu-report-run",
        output="cloud.google.com/gpu-report-output",
    )


@given(nodes)
def test_keys_of_any_dns_name_are_five_qualified_names(name: str) -> None:
    keys = build_keys(name + "/")

    assert len(set(keys)) == 5
    assert all(QUALIFIED_NAME.fullmatch(key) for key in keys)
    assert all(key.startswith(name + "/") for key in keys)


@given(nodes, nodes)
def test_keys_of_two_prefixes_have_nothing_in_common(one: str, other: str) -> None:
    if one != other:
        assert not set(build_keys(one + "/")) & set(build_keys(other + "/"))


@pytest.mark.parametrize(
    "prefix",
    ["", "/", "x", "x//", "X/", "-x/", "x-/", "x./", ".x/", "x..y/", "x_y/", "x y/", "x/\n", "é/", "a/b/"],
)
def test_prefix_that_is_no_dns_name_and_a_slash_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="key prefix"):
        build_keys(prefix)


def test_longest_prefix_is_accepted_and_one_character_more_refused() -> None:
    assert build_keys("x" * 253 + "/").run == "x" * 253 + "/gpu-report-run"
    with pytest.raises(ValueError, match="key prefix"):
        build_keys("x" * 254 + "/")


@pytest.mark.parametrize(
    ("value", "want"),
    [(None, False), ("false", False), ("", True), ("true", True), ("False", True), ("false ", True), ("0", True)],
)
def test_label_asks_unless_it_is_absent_or_exactly_false(value: str | None, want: bool) -> None:
    assert is_on(value) is want


@given(st.text().filter(lambda text: text != "false"))
def test_label_of_any_other_value_asks(value: str) -> None:
    assert is_on(value)
