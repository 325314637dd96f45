"""Where the objects of a cluster come from: saved files, or the cluster itself. What they mean is not decided here."""

import codecs
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from gpureport.cli.edges import CommandError
from gpureport.contract.exit_codes import EXIT_UNAVAILABLE, EXIT_USAGE
from gpureport.ports import Refused
from gpureport.triage.decoding import (
    NotObjects,
    Objects,
    Unreadable,
    decode_nodes,
    decode_objects,
    decode_pod,
    decode_pods,
)
from gpureport.triage.objects import Node, Pod

PAGE_OBJECTS = 500
"""Objects in one page of a LIST: what kubectl asks for; one page of Pods is about 5 MB."""

OBJECTS_BYTES_MAX = 4 * 1024**3
"""Largest saved file that is read: the dump of 200,000 Pods."""

HOW_TO_SAVE = "save one with: kubectl get nodes,pods -A -o json > objects.json"

WHAT_IT_NEEDS = (
    "needed: a valid kubeconfig, with the verbs get and list on pods and list on nodes; --objects FILE works without"
)


class ClusterReader(Protocol):
    """Reads one cluster. Every method may raise `Unavailable` or `Refused`."""

    def list_pages(self, kind: str, limit: int = PAGE_OBJECTS) -> Iterator[bytes]:
        """Yield the pages of a LIST of `nodes` or of the `pods` of all namespaces, as JSON."""
        ...

    def read_pod(self, namespace: str, name: str) -> bytes | None:
        """Return one Pod as JSON; None when there is none."""
        ...


class Snapshot(Protocol):
    """The objects of a cluster; `warnings` says what had to be left out so far, or looks incomplete."""

    warnings: list[str]
    dra_resource_names: frozenset[str]

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        """Return one Pod; None when there is none."""
        ...

    def read_nodes(self) -> Iterator[Node]:
        """Yield all Nodes."""
        ...

    def read_pods(self) -> Iterator[Pod]:
        """Yield the Pods of all namespaces."""
        ...

    def namespaces_of(self, name: str) -> list[str]:
        """Return the namespaces known to hold a Pod of this name: for a hint, so possibly none."""
        ...


class LiveSnapshot:
    """The cluster as it is now, read in pages that are dropped once used."""

    dra_resource_names: frozenset[str] = frozenset()

    def __init__(self, cluster: ClusterReader) -> None:
        self._cluster = cluster
        self.warnings: list[str] = []

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        """Return one Pod; None when there is none."""
        try:
            data = self._cluster.read_pod(namespace, name)
            return None if data is None else decode_pod(data)
        except Refused as error:
            raise Refused(f"{error} ({WHAT_IT_NEEDS})") from error
        except NotObjects as error:
            raise CommandError(f"the cluster's answer for Pod {namespace}/{name}: {error}", EXIT_UNAVAILABLE) from error

    def read_nodes(self) -> Iterator[Node]:
        """Yield all Nodes."""
        for data in self._pages("nodes"):
            page = decode_nodes(data)
            self.warnings.extend(_name_unreadable(page.unreadable))
            yield from page.items

    def read_pods(self) -> Iterator[Pod]:
        """Yield the Pods of all namespaces."""
        for data in self._pages("pods"):
            page = decode_pods(data)
            self.warnings.extend(_name_unreadable(page.unreadable))
            yield from page.items

    def namespaces_of(self, name: str) -> list[str]:  # noqa: ARG002 - the signature is the protocol's
        """Return nothing: finding out would cost a LIST of all Pods."""
        return []

    def _pages(self, kind: str) -> Iterator[bytes]:
        try:
            yield from self._cluster.list_pages(kind, limit=PAGE_OBJECTS)
        except Refused as error:
            raise Refused(f"{error} ({WHAT_IT_NEEDS})") from error
        except NotObjects as error:
            raise CommandError(f"the cluster's answer to a LIST of {kind}: {error}", EXIT_UNAVAILABLE) from error


class SavedSnapshot:
    """Objects from files; an object that stands in several files counts once."""

    def __init__(self, files: Sequence[str]) -> None:
        self.warnings: list[str] = []
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], Pod] = {}
        names: set[str] = set()
        has_nodes = has_pods = False
        for file in files:
            found = _read_objects(file)
            has_nodes, has_pods = has_nodes or found.has_nodes, has_pods or found.has_pods
            self.warnings.extend(_name_unreadable(found.unreadable))
            self._nodes.update((node.metadata.name, node) for node in found.nodes)
            self._pods.update(((pod.metadata.namespace, pod.metadata.name), pod) for pod in found.pods)
            names.update(c.spec.extended_resource_name for c in found.device_classes if c.spec.extended_resource_name)
        self.dra_resource_names = frozenset(names)
        if not (has_nodes and has_pods):
            missing = "Pods" if has_nodes else "Nodes" if has_pods else "Nodes and no Pods"
            raise CommandError(f"{', '.join(files)}: there are no {missing} in it; {HOW_TO_SAVE}", EXIT_USAGE)
        if not self._nodes:
            self.warnings.append("there are no Nodes in the objects: judged as a cluster without any")

    def read_pod(self, namespace: str, name: str) -> Pod | None:
        """Return one Pod; None when there is none."""
        return self._pods.get((namespace, name))

    def read_nodes(self) -> Iterator[Node]:
        """Yield all Nodes."""
        yield from self._nodes.values()

    def read_pods(self) -> Iterator[Pod]:
        """Yield the Pods of all namespaces."""
        yield from self._pods.values()

    def namespaces_of(self, name: str) -> list[str]:
        """Return the namespaces that hold a Pod of this name."""
        return sorted(namespace for namespace, pod_name in self._pods if pod_name == name)


def _name_unreadable(unreadable: Iterable[Unreadable]) -> Iterator[str]:
    for item in unreadable:
        yield f"left out: {item.where}: {item.message}"


def _read_objects(file: str) -> Objects:
    label = "stdin" if file == "-" else file
    try:
        if file == "-":
            data = _read_bounded(sys.stdin.buffer, label)
        else:
            with Path(file).open("rb") as stream:
                data = _read_bounded(stream, label)
        return decode_objects(data.removeprefix(codecs.BOM_UTF8))
    except OSError as error:
        raise CommandError(f"{label}: {error.strerror or error}; {HOW_TO_SAVE}", EXIT_USAGE) from error
    except NotObjects as error:
        raise CommandError(f"{label}: {error}; {HOW_TO_SAVE}", EXIT_USAGE) from error


def _read_bounded(stream: BinaryIO, label: str) -> bytes:
    data = stream.read(OBJECTS_BYTES_MAX + 1)
    if len(data) > OBJECTS_BYTES_MAX:
        raise CommandError(f"{label}: larger than {OBJECTS_BYTES_MAX >> 30} GiB", EXIT_USAGE)
    return data
