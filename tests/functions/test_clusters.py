"""Which cluster a name stands for, how its entry is checked, and when its client is built."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from functions.clusters import Cluster, ClusterEntry, Clusters, TokenFile, connect, parse_clusters
from functions.settings import ConfigurationError
from gpureport.adapters.kubernetes_cluster import KubernetesCluster
from gpureport.ports import Unavailable
from tests.fakes.nodes import MemoryNodes

KUBECONFIG = {"kubeconfig": "/etc/kubeconfig", "context": "prod"}
SERVER = {"server": "https://10.0.0.1", "ca_file": "/etc/ca.pem", "token_file": "/etc/token"}
ENDPOINT = {"endpoint": "gke-1.europe-west4.gke.goog", "project": "p", "location": "europe-west4", "uid": "u"}


def test_map_with_each_way_to_a_cluster_is_read():
    entries = parse_clusters(json.dumps({"a": KUBECONFIG, "b": SERVER, "c": ENDPOINT}))

    assert entries == {"a": ClusterEntry(**KUBECONFIG), "b": ClusterEntry(**SERVER), "c": ClusterEntry(**ENDPOINT)}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "not JSON"),
        ("[]", "not an object"),
        ("{}", "no cluster"),
        ('{"a": 5}', "cluster a: not an object"),
        ('{"a": {}}', "exactly one"),
        (json.dumps({"a": KUBECONFIG | SERVER}), "exactly one"),
        (json.dumps({"a": {"kubeconfig": 5}}), "not a string"),
        (json.dumps({"a": KUBECONFIG | {"user": "x"}}), "user: unknown"),
        (json.dumps({"A_B": KUBECONFIG}), "'A_B': not a cluster name"),
    ],
)
def test_wrong_map_is_refused_with_what_is_wrong(text, want):
    with pytest.raises(ConfigurationError, match=want):
        parse_clusters(text)


def test_every_fault_of_a_map_is_named_at_once():
    with pytest.raises(ConfigurationError) as caught:
        parse_clusters(json.dumps({"A_B": KUBECONFIG, "b": {}, "c": 5}))

    assert all(name in str(caught.value) for name in ("A_B", "cluster b", "cluster c"))


def test_client_is_built_once_and_only_when_asked_for():
    built = []

    def build(entry):
        built.append(entry)
        return MemoryNodes()

    clusters = Clusters({"a": ClusterEntry(**ENDPOINT), "b": ClusterEntry(**SERVER)}, build)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(clusters.find, ["a"] * 8))

    assert built == [ClusterEntry(**ENDPOINT)]
    assert len({id(cluster.nodes) for cluster in found}) == 1
    assert found[0] == Cluster("a", found[0].nodes, "p", "europe-west4", "u")


def test_unknown_name_is_no_cluster():
    assert Clusters({}, connect).find("a") is None


@pytest.mark.parametrize("members", [KUBECONFIG, SERVER, ENDPOINT, {"server": "https://10.0.0.1"}])
def test_connecting_sends_nothing(members):
    assert isinstance(connect(ClusterEntry(**members)), KubernetesCluster)


def test_token_file_is_read_at_each_use(tmp_path):
    path = tmp_path / "token"
    token = TokenFile(str(path))
    path.write_text("first\n")
    first = token.read()
    path.write_text("second")

    assert (first, token.read()) == ("first", "second")


def test_token_file_that_is_gone_is_for_later(tmp_path):
    with pytest.raises(Unavailable, match="token file"):
        TokenFile(str(tmp_path / "token")).read()
