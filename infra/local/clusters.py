"""What the pipeline asks of a cluster, and the two that take no making: the stand-in, and one that is there already.

The real one of our own stands in `real_cluster`.
"""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from infra.layout import REPOSITORY
from infra.local.certificates import ensure_certificates
from infra.local.cluster_access import read_kubeconfig, write_secret
from infra.local.demo_objects import NODES, create_objects, remove_objects
from infra.local.identities import FUNCTIONS, Identities, build_identities, format_token_file, make_tokens
from infra.local.part import HOST, READY_LINE, Definition

APISERVER = "apiserver"


class Cluster(Protocol):
    """A cluster for the local pipeline; each call may raise `ClusterError`."""

    identities: Identities

    def list_groups(self) -> Sequence[Sequence[Definition]]:
        """Return its parts, in the order of their start; those of one group start side by side."""

    def furnish(self) -> None:
        """Put there what the pipeline finds in its cluster, once the parts are ready."""

    def restore(self, revived: Collection[str]) -> None:
        """Put back what the parts of these names held in memory alone."""

    def find_new_token(self, node: str) -> str | None:
        """Return a token for a node's agent when it has none from here, or half the life of its last one is over."""

    def clear(self) -> None:
        """Remove what would stay after the pipeline's end."""


class StandInCluster:
    """Our stand-in for the apiserver: objects in memory, no rights, no controllers."""

    def __init__(self, work: Path, port: int) -> None:
        self._certificates = ensure_certificates(work / "certificates")
        self._agent_tokens = make_tokens(NODES)
        tokens = make_tokens()
        self._token_file = write_secret(work / "tokens.csv", format_token_file({**tokens, **self._agent_tokens}))
        self._port = port
        self.identities = build_identities(f"https://{HOST}:{port}", str(self._certificates.ca), tokens)

    def list_groups(self) -> Sequence[Sequence[Definition]]:
        """Define the one part."""
        command = [
            *(sys.executable, "-m", "infra.local.apiserver", "--port", str(self._port)),
            *("--tls-cert", str(self._certificates.cert), "--tls-key", str(self._certificates.key)),
            *("--tokens", str(self._token_file)),
        ]
        return [[Definition(APISERVER, command, ready=READY_LINE, folder=REPOSITORY)]]

    def furnish(self) -> None:
        """Create the demonstration's objects."""
        create_objects(self.identities.admin)

    def restore(self, revived: Collection[str]) -> None:
        """Create the objects again in a new apiserver."""
        if APISERVER in revived:
            self.furnish()

    def find_new_token(self, node: str) -> str | None:
        """Return the node's token at the first time: it never expires."""
        return self._agent_tokens.pop(node, None)

    def clear(self) -> None:
        """Nothing stays."""


class GivenCluster:
    """A cluster that somebody else runs, reached with one kubeconfig; everyone is that user."""

    def __init__(self, kubeconfig: Path) -> None:
        access = read_kubeconfig(kubeconfig)
        self.identities = Identities(access, access, dict.fromkeys(FUNCTIONS, access))
        self._agent_tokens = dict.fromkeys(NODES, access.token)
        self._created: list[str] = []

    def list_groups(self) -> Sequence[Sequence[Definition]]:
        """It runs already."""
        return []

    def furnish(self) -> None:
        """Create the demonstration's objects, and remember which were not there before."""
        self._created = create_objects(self.identities.admin)

    def restore(self, revived: Collection[str]) -> None:
        """It is not ours to restore."""

    def find_new_token(self, node: str) -> str | None:
        """Return the kubeconfig's token at the first time."""
        return self._agent_tokens.pop(node, None)

    def clear(self) -> None:
        """Remove the objects that were created."""
        remove_objects(self.identities.admin, self._created)
