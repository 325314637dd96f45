"""`make run KUBECONFIG_FILE=…`: a cluster that somebody else runs, and what is said of one that can't be used."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.layout import REPOSITORY
from infra.local.certificates import CertificatePaths, ensure_certificates
from infra.local.cluster_access import ClusterAccess, write_kubeconfig
from infra.local.clusters import APISERVER
from infra.local.identities import ADMIN, format_token_file
from infra.local.part import READY_LINE, Definition
from infra.local.supervisor import Supervisor

RUN_S_MAX = 90.0


@pytest.fixture
def certificates(tmp_path: Path) -> CertificatePaths:
    return ensure_certificates(tmp_path / "certificates")


@pytest.fixture
def cluster(tmp_path: Path, certificates: CertificatePaths) -> Iterator[ClusterAccess]:
    """A cluster that knows one token."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(format_token_file({ADMIN: "good"}))
    tls = ("--tls-cert", str(certificates.cert), "--tls-key", str(certificates.key))
    command = [sys.executable, "-m", "infra.local.apiserver", *tls, "--tokens", str(tokens)]
    with Supervisor(tmp_path / "logs") as supervisor:
        part = supervisor.start(Definition(APISERVER, command, ready=READY_LINE, folder=REPOSITORY))[0]
        yield ClusterAccess(part.address, str(certificates.ca), "good")


def run(tmp_path: Path, access: ClusterAccess) -> "subprocess.CompletedProcess[str]":
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", access)
    command = [sys.executable, "-m", "infra.local", "run", "--kubeconfig", kubeconfig, "--work", tmp_path / "work"]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)


def test_run_on_a_given_cluster_completes_and_removes_what_it_put_there(tmp_path: Path, cluster: ClusterAccess) -> None:
    cluster.expect("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "training"}})

    done = run(tmp_path, cluster)

    assert done.returncode == 0, done.stderr
    assert "The archived bytes have the SHA-256 that stands on the Node." in done.stdout
    assert cluster.expect("GET", "/api/v1/nodes")["items"] == []
    assert cluster.call("GET", "/api/v1/namespaces/training")[0] == 200


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(lambda access: access._replace(token="bad"), "401 Unauthorized", id="token"),
        pytest.param(lambda access: access._replace(ca_file=""), "certificate verify failed", id="no ca"),
        pytest.param(lambda access: access._replace(server="https://127.0.0.1:9"), "127.0.0.1:9/", id="nobody there"),
        pytest.param(lambda access: access._replace(token=""), "its user has no token", id="no token"),
        pytest.param(lambda access: access._replace(ca_file="/absent"), "File does not exist: /absent", id="ca file"),
    ],
)
def test_kubeconfig_that_does_not_fit_is_named_with_what_is_wrong(
    tmp_path: Path, cluster: ClusterAccess, change: Callable[[ClusterAccess], ClusterAccess], want: str
) -> None:
    done = run(tmp_path, change(cluster))

    assert done.returncode == 1
    assert want in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
