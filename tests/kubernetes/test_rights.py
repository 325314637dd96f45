"""Which verbs the manifests grant, to whom, on what: everything else is refused by the apiserver's own authorizer.

Asked by SubjectAccessReview without a group, so that the rights of the other tests here do not count.
"""

import itertools

import pytest

from infra.local.identities import ACCOUNTS, ARCHIVE_REPORT, WRITE_STATUS
from tests.kubernetes.cluster import NAMESPACE, RBAC, RealCluster, wait_until
from tests.kubernetes.conftest import Applied
from tests.kubernetes.mutants import AGENT_USER

DESK = "somebody@example.com"

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate")
PLACES = (
    *(("", resource, "") for resource in ("nodes", "nodes/status", "nodes/proxy", "namespaces")),
    *(("", resource, "default") for resource in ("pods", "pods/exec", "pods/eviction", "pods/binding", "events")),
    *(("", resource, NAMESPACE) for resource in ("secrets", "configmaps", "events", "serviceaccounts/token")),
    ("events.k8s.io", "events", "default"),
    ("apps", "daemonsets", NAMESPACE),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", ""),
)

GRANTED = {
    AGENT_USER: {("nodes", "get"), ("nodes", "watch"), ("nodes", "patch"), ("events default", "create")},
    ACCOUNTS[ARCHIVE_REPORT]: {("nodes", "get")},
    ACCOUNTS[WRITE_STATUS]: {("nodes", "get"), ("nodes", "patch")},
    DESK: {("nodes", "list"), ("pods default", "get"), ("pods default", "list")},
}


def is_granted(cluster: RealCluster, user: str, verb: str, place: tuple[str, str, str]) -> bool:
    group, resource, namespace = place
    kind, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": kind, "subresource": subresource, "namespace": namespace}
    review = {"spec": {"user": user, "resourceAttributes": attributes}}
    answer = cluster.expect("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


@pytest.fixture(scope="module", autouse=True)
def desk(applied: Applied) -> None:
    """Somebody who was given the desk's role, as the manifests leave to an administrator."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gpu-report-desk"}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": DESK}
    binding = {"metadata": {"name": "desk"}, "roleRef": role, "subjects": [user]}
    applied.cluster.ensure(f"{RBAC}/clusterrolebindings", binding)
    wait_until(lambda: is_granted(applied.cluster, DESK, "list", ("", "nodes", "")), "the desk's role")


@pytest.mark.parametrize("user", GRANTED)
def test_rights_are_exactly_these(user: str, cluster: RealCluster) -> None:
    found = {
        (" ".join(part for part in (place[1], place[2], place[0]) if part), verb)
        for place, verb in itertools.product(PLACES, VERBS)
        if is_granted(cluster, user, verb, place)
    }
    assert found == GRANTED[user]
