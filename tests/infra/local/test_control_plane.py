"""What a real control plane says when it cannot be had as it is wanted."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from infra.local.apiserver.server import ApiServer
from infra.local.apiserver.tokens import Tokens
from infra.local.certificates import ensure_certificates
from infra.local.cluster_access import ClusterAccess, ClusterError
from infra.local.control_plane import ControlPlane, Ports
from infra.local.identities import make_tokens
from infra.local.part import HOST, PartFailed, take_free_ports
from infra.local.real_cluster import RealCluster, check_version, clear_stale_data
from infra.local.supervisor import Supervisor
from infra.parts.catalogue import CONTROL_PLANE, require


def build(work: Path, ports: Ports) -> ControlPlane:
    certificates = ensure_certificates(work / "certificates")
    return ControlPlane(require(CONTROL_PLANE), work / "control-plane", ports, certificates, make_tokens())


def take_ports() -> Ports:
    return Ports(*take_free_ports(len(Ports._fields)))


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs") as supervisor:
        yield supervisor


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


def test_etcd_whose_port_is_taken_says_so(supervisor: Supervisor, tmp_path: Path, taken_port: int) -> None:
    plane = build(tmp_path, take_ports()._replace(etcd=taken_port))

    with pytest.raises(PartFailed, match=rf"etcd ended by itself .*(?s:.*){taken_port}: bind: address already in use"):
        supervisor.start(plane.etcd())


def test_apiserver_whose_port_is_taken_says_so(supervisor: Supervisor, tmp_path: Path, taken_port: int) -> None:
    plane = build(tmp_path, take_ports()._replace(apiserver=taken_port))
    supervisor.start(plane.etcd())

    with pytest.raises(PartFailed, match=rf"kube-apiserver ended by itself (?s:.*){taken_port}: bind: address already"):
        supervisor.start(plane.apiserver())


def test_data_of_an_earlier_control_plane_is_cleared_once_its_etcd_has_ended(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    etcd = supervisor.start(build(tmp_path, take_ports()).etcd())[0]

    with pytest.raises(ClusterError, match=f"the etcd of an earlier run still uses {tmp_path}/control-plane: end it"):
        RealCluster(tmp_path, take_ports())
    etcd.stop()
    RealCluster(tmp_path, take_ports())

    assert not (tmp_path / "control-plane" / "etcd").exists()


def test_folder_without_a_control_plane_needs_no_clearing(tmp_path: Path) -> None:
    clear_stale_data(tmp_path / "absent")


@pytest.fixture
def stand_in() -> Iterator[ApiServer]:
    server = ApiServer((HOST, 0), Tokens(None), 60.0, None)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("major", "minor"), [("1", "29+"), ("1", "20"), ("0", "31"), ("", "")])
def test_apiserver_that_is_too_old_is_told_what_it_lacks(stand_in: ApiServer, major: str, minor: str) -> None:
    stand_in.version = {**stand_in.version, "major": major, "minor": minor}

    with pytest.raises(ClusterError, match=r"infra/kubernetes needs 1\.30, for ValidatingAdmissionPolicy v1 and"):
        check_version(ClusterAccess(stand_in.url, "", "any"))


@pytest.mark.parametrize("minor", ["30", "30+", "36"])
def test_apiserver_that_is_new_enough_is_accepted(stand_in: ApiServer, minor: str) -> None:
    stand_in.version = {**stand_in.version, "minor": minor}

    assert check_version(ClusterAccess(stand_in.url, "", "any")) == stand_in.version["gitVersion"]
