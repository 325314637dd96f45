"""Which cluster does a name stand for, and how is it reached? One client per cluster, built when first asked for.

The map is the operator's; an event can only choose among its keys. What is read or written there is not decided here.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from functions.settings import CLUSTERS_BYTES_MAX, ConfigurationError
from gpureport.contract.fields import ContractError, FieldReader, load_object
from gpureport.contract.names import CLUSTER_NAME
from gpureport.ports import Nodes, Unavailable

TOKEN_SCOPES = ("https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/userinfo.email")
"""Without the second GKE knows the caller by a number instead of its address, and RBAC bindings miss."""
TOKEN_FILE_BYTES_MAX = 64 * 1024


class ClusterEntry(NamedTuple):
    """One entry of the map: exactly one of `kubeconfig`, `server` and `endpoint` is given, the rest may be empty.

    A server is asked with the token of its file, without one with the function's own Google token, as an endpoint is.
    """

    kubeconfig: str = ""
    context: str = ""
    server: str = ""
    ca_file: str = ""
    token_file: str = ""
    endpoint: str = ""
    """The DNS-based endpoint of a GKE cluster, a host name."""
    project: str = ""
    location: str = ""
    uid: str = ""
    """The uid of the Namespace kube-system."""


class Cluster(NamedTuple):
    """One cluster, ready to be asked."""

    name: str
    nodes: Nodes
    project: str = ""
    location: str = ""
    uid: str = ""


FindCluster = Callable[[str], Cluster | None]
Connect = Callable[[ClusterEntry], Nodes]


def parse_clusters(text: str) -> dict[str, ClusterEntry]:
    """Read the cluster map; `ConfigurationError` with every fault."""
    try:
        given = load_object("CLUSTERS", text, CLUSTERS_BYTES_MAX)
    except ContractError as error:
        raise ConfigurationError(str(error)) from None
    problems: list[str] = []
    entries: dict[str, ClusterEntry] = {}
    for name, members in given.items():
        if not CLUSTER_NAME.fullmatch(name):
            problems.append(f"{name!r}: not a cluster name like prod-1")
        try:
            entries[name] = _read_entry(name, members)
        except ContractError as error:
            problems.append(str(error))
    if not given:
        problems.append("no cluster is named")
    if problems:
        raise ConfigurationError(f"CLUSTERS: {'; '.join(problems)}")
    return entries


def _read_entry(name: str, members: object) -> ClusterEntry:
    what = f"cluster {name}"
    if not isinstance(members, dict):
        raise ContractError(what, ["not an object"])
    fields = FieldReader(what, members)
    entry = ClusterEntry(**{field: fields.find(field, _as_string) or "" for field in ClusterEntry._fields})
    if sum(1 for way in (entry.kubeconfig, entry.server, entry.endpoint) if way) != 1:
        fields.reject("kubeconfig, server, endpoint", "exactly one is needed")
    unknown = fields.finish()
    if unknown:
        raise ContractError(what, [f"{field}: unknown" for field in unknown])
    return entry


def _as_string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("not a string")


class Clusters:
    """The map with its clients; safe to use from several threads."""

    def __init__(self, entries: Mapping[str, ClusterEntry], connect: Connect) -> None:
        self._entries = entries
        self._connect = connect
        self._clusters: dict[str, Cluster] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Cluster | None:
        """Return the cluster of that name, connecting when it is asked for first; None for a name not in the map."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        with self._lock:
            if name not in self._clusters:
                nodes = self._connect(entry)
                self._clusters[name] = Cluster(name, nodes, entry.project, entry.location, entry.uid)
            return self._clusters[name]


def connect(entry: ClusterEntry) -> Nodes:
    """Build the client of one cluster; nothing is sent yet."""
    from gpureport.adapters.kubernetes_cluster import KubernetesCluster

    if entry.kubeconfig:
        return KubernetesCluster.from_kubeconfig(entry.kubeconfig, context=entry.context or None)
    if entry.server:
        read_token = TokenFile(entry.token_file).read if entry.token_file else GoogleToken().read
        return KubernetesCluster.from_endpoint(
            entry.server, read_token, ca_file=Path(entry.ca_file) if entry.ca_file else None
        )
    return KubernetesCluster.from_endpoint(f"https://{entry.endpoint}", GoogleToken().read)


class TokenFile:
    """A bearer token in a file that somebody else renews: read at each use."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> str:
        """Return the token; `Unavailable` when the file cannot be read now."""
        try:
            with self._path.open("rb") as file:
                return file.read(TOKEN_FILE_BYTES_MAX).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(f"cannot read the token file {self._path}: {type(error).__name__}") from None


class GoogleToken:
    """The function's own access token, renewed when it runs out; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credentials: Any = None

    def read(self) -> str:
        """Return a valid token; `Unavailable` when Google's metadata or token server does not give one."""
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request

        with self._lock:
            try:
                if self._credentials is None:
                    self._credentials, _ = google.auth.default(scopes=TOKEN_SCOPES)
                if not self._credentials.valid:
                    self._credentials.refresh(Request())
                return str(self._credentials.token)
            except GoogleAuthError as error:
                raise Unavailable(f"no access token: {type(error).__name__}") from None
