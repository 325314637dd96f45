"""The options that `gpureport triage` and `gpu-triage` share, and how they choose where the objects come from."""

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

from gpureport.cli.edges import CommandError
from gpureport.cli.snapshots import ClusterReader, LiveSnapshot, SavedSnapshot, Snapshot
from gpureport.contract.exit_codes import EXIT_USAGE
from gpureport.triage.index import DEFAULT_RESOURCE_NAMES, Options

Connect = Callable[[Path | None, str | None], ClusterReader]
"""Describes the cluster of a kubeconfig and a context; None and None: the one that kubectl would talk to."""

NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
POD_NAME_CHARS_MAX = 253
"""Longest name of a Pod (a DNS subdomain)."""


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about the objects and how they are judged."""
    source = parser.add_argument_group("where the objects come from")
    source.add_argument(
        "--objects", metavar="FILE", action="append", default=[],
        help="read a saved `kubectl get nodes,pods -A -o json` instead of a cluster; - is stdin; may be repeated",
    )  # fmt: skip
    source.add_argument("--kubeconfig", metavar="FILE", type=Path, help="default: $KUBECONFIG, then ~/.kube/config")
    source.add_argument("--context", metavar="NAME", help="context of the kubeconfig; default: the current one")
    judging = parser.add_argument_group("how the Pod is judged")
    judging.add_argument(
        "--resource", metavar="NAME", action="append",
        help="resource name that counts as a GPU, such as amd.com/gpu or 'nvidia.com/mig-*'; may be repeated; "
        f"default: {', '.join(DEFAULT_RESOURCE_NAMES)}",
    )  # fmt: skip
    judging.add_argument(
        "--strict-order", action="store_true",
        help="keep to the literal order: tainted GPU nodes beside open nodes without GPUs are no-gpu-node, not taint",
    )  # fmt: skip


def read_options(args: argparse.Namespace, snapshot: Snapshot) -> Options:
    """Return how Pods are judged."""
    names = tuple(args.resource or DEFAULT_RESOURCE_NAMES)
    return Options(names, args.strict_order, snapshot.dra_resource_names)


def open_snapshot(args: argparse.Namespace, connect: Connect) -> Snapshot:
    """Return the saved objects or the live cluster, whichever was asked for."""
    if args.objects:
        if args.kubeconfig or args.context:
            raise CommandError("--objects reads files: leave out --kubeconfig and --context", EXIT_USAGE)
        return SavedSnapshot(args.objects)
    return LiveSnapshot(connect(args.kubeconfig, args.context))


def connect_cluster(kubeconfig: Path | None, context: str | None) -> ClusterReader:
    """Describe a cluster; it is reached at the first request."""
    from gpureport.adapters.kubernetes_cluster import KubernetesCluster

    if kubeconfig is not None and not kubeconfig.is_file():
        raise CommandError(f"{kubeconfig}: no such kubeconfig; --objects FILE works without a cluster", EXIT_USAGE)
    if kubeconfig is not None or context is not None:
        return KubernetesCluster.from_kubeconfig(kubeconfig or _default_kubeconfig(), context)
    return KubernetesCluster.from_default()


def parse_pod_name(text: str) -> str:
    """Return a Pod's name from `NAME` or `pod/NAME`."""
    name = text.removeprefix("pods/").removeprefix("pod/")
    if not name or "/" in name or len(name) > POD_NAME_CHARS_MAX or not name.isprintable():
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not the name of a Pod")
    return name


def parse_namespace(text: str) -> str:
    """Return a Namespace's name, which is a DNS-1123 label."""
    if not NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not the name of a Namespace")
    return text


def _default_kubeconfig() -> Path:
    listed = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    path = Path(listed[0]) if listed else Path.home() / ".kube" / "config"
    if not path.is_file():
        raise CommandError(f"{path}: no such kubeconfig; name one with --kubeconfig", EXIT_USAGE)
    return path
