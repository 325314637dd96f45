"""The effective request of a Pod, as the scheduler computes it."""

from typing import Any

import msgspec
import pytest

from gpureport.triage.demand import ResourceNames, gpu_demand, other_demand
from gpureport.triage.objects import PodSpec

GPU = "nvidia.com/gpu"


def container(gpus: int, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"limits": {GPU: str(gpus)}}, **more}


def demand(spec: dict[str, Any], *names: str) -> dict[str, int]:
    return dict(gpu_demand(msgspec.convert(spec, PodSpec), ResourceNames(names or (GPU,))))


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"containers": [container(1), container(2)]}, 3),
        ({"containers": [container(1)], "initContainers": [container(2)]}, 2),
        ({"containers": [container(1)], "initContainers": [container(1, **SIDECAR)]}, 2),
        ({"containers": [container(1)], "initContainers": [container(1, **SIDECAR), container(2)]}, 3),
        ({"containers": [container(1)], "initContainers": [container(2), container(1, **SIDECAR)]}, 2),
        ({"containers": [container(1)], "initContainers": [container(1, **SIDECAR), container(1, **SIDECAR)]}, 3),
        ({"containers": [container(1)], "overhead": {GPU: "1"}}, 2),
    ],
)
def test_demand_is_the_peak_over_the_life_of_the_pod(spec: dict[str, Any], want: int) -> None:
    assert demand(spec) == {GPU: want}


def test_demand_takes_the_limit_before_the_request() -> None:
    spec = {"containers": [{"resources": {"limits": {GPU: "2"}, "requests": {GPU: "1"}}}]}
    assert demand(spec) == {GPU: 2}


def test_demand_takes_the_request_where_there_is_no_limit() -> None:
    assert demand({"containers": [{"resources": {"requests": {GPU: "1"}}}]}) == {GPU: 1}


@pytest.mark.parametrize("amount", ["0", 0, "-1", "none"])
def test_demand_of_nothing_is_no_demand(amount: Any) -> None:
    assert demand({"containers": [{"resources": {"limits": {GPU: amount}}}]}) == {}


def test_demand_counts_only_names_that_were_asked_for() -> None:
    spec = {"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.10gb": "1", "amd.com/gpu": "2", "cpu": "4"}}}]}
    assert demand(spec) == {}
    assert demand(spec, "nvidia.com/*") == {"nvidia.com/mig-1g.10gb": 1}
    assert demand(spec, "nvidia.com/mig-*", "amd.com/gpu") == {"nvidia.com/mig-1g.10gb": 1, "amd.com/gpu": 2}


def test_demand_for_cpu_takes_the_request_before_the_limit() -> None:
    resources = {"limits": {"cpu": "2", "memory": "1k"}, "requests": {"cpu": "500m"}}
    spec = msgspec.convert({"containers": [{"resources": resources}], "overhead": {"cpu": "100m"}}, PodSpec)
    assert other_demand(spec) == {"cpu": 600, "memory": 1_000_000}


def test_demand_of_the_pod_as_a_whole_replaces_the_sum_of_its_containers() -> None:
    each = {"resources": {"requests": {"cpu": "1", "memory": "1"}}}
    spec = msgspec.convert({"containers": [each, each], "resources": {"requests": {"cpu": "1500m"}}}, PodSpec)
    assert other_demand(spec) == {"cpu": 1500, "memory": 2000}
