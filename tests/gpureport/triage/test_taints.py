"""Which taints keep a Pod away, and which tolerations let it pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.triage.objects import NodeSpec, Taint, Toleration
from gpureport.triage.taints import CORDON, blocking_taints, first_untolerated, format_taint, tolerates

TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        (Toleration("nvidia.com/gpu", "Exists", "", "NoSchedule"), True),
        (Toleration("nvidia.com/gpu", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("nvidia.com/gpu", "Equal", "present"), True),
        (Toleration("nvidia.com/gpu", "", "present", "NoSchedule"), True),
        (Toleration("nvidia.com/gpu", "Equal", "true"), False),
        (Toleration("gpu", "Exists"), False),
        (Toleration("nvidia.com/gpu", "exists"), False),
        (Toleration("nvidia.com/gpu", "Gt", "1"), False),
    ],
)
def test_toleration_covers_the_gpu_taint_or_does_not(toleration: Toleration, want: bool) -> None:
    assert tolerates(toleration, TAINT) is want


@pytest.mark.parametrize(
    ("operator", "taint_value", "toleration_value", "want"),
    [
        ("Gt", "950", "900", True), ("Gt", "900", "900", False), ("Lt", "1", "2", True), ("Lt", "-3", "-2", True),
        ("Gt", "high", "1", False), ("Gt", "0950", "900", False), ("Gt", "1.5", "1", False), ("Gt", "", "1", False),
        ("Gt", "9223372036854775808", "1", False), ("Lt", "1", "٢", False),
    ],
)  # fmt: skip
def test_toleration_compares_integers(operator: str, taint_value: str, toleration_value: str, want: bool) -> None:
    taint = Taint("sla", taint_value, "NoSchedule")
    assert tolerates(Toleration("sla", operator, toleration_value), taint) is want


def test_cordon_counts_as_its_taint_once() -> None:
    assert blocking_taints(NodeSpec(unschedulable=True)) == (CORDON,)
    assert blocking_taints(NodeSpec(taints=(CORDON,), unschedulable=True)) == (CORDON,)


@pytest.mark.parametrize("effect", ["PreferNoSchedule", "", "Unknown"])
def test_taint_of_another_effect_blocks_nobody(effect: str) -> None:
    assert blocking_taints(NodeSpec(taints=(Taint("k", "v", effect),))) == ()


def test_first_untolerated_taint_is_named_as_kubectl_names_it() -> None:
    taints = (Taint("a", "", "NoSchedule"), Taint("b", "x", "NoExecute"))
    found = first_untolerated(taints, (Toleration("a", "Exists"),))
    assert found is not None
    assert format_taint(found) == "b=x:NoExecute"
    assert format_taint(taints[0]) == "a:NoSchedule"


TEXT = st.sampled_from(["", "a", "b", "1", "NoSchedule", "NoExecute", "Exists", "Equal", "Gt", "?"])
TAINTS = st.builds(Taint, TEXT, TEXT, TEXT)
TOLERATIONS = st.lists(st.builds(Toleration, TEXT, TEXT, TEXT, TEXT), max_size=4)


@given(TAINTS, TOLERATIONS, TOLERATIONS)
def test_more_tolerations_never_tolerate_less(taint: Taint, some: list[Toleration], more: list[Toleration]) -> None:
    if first_untolerated([taint], some) is None:
        assert first_untolerated([taint], some + more) is None


@given(TAINTS)
def test_wildcard_tolerates_everything(taint: Taint) -> None:
    assert tolerates(Toleration("", "Exists"), taint)
