"""The official Kubernetes client with a watch of one Node open: what its users write, and nothing else.

  python -m bench.references.kubernetes_watch KUBECONFIG NODE

Prints `watching` once the first state has arrived, then waits for the next.
"""

import sys

from kubernetes import client, config, watch


def main(kubeconfig: str, node: str) -> None:
    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    for _ in watch.Watch().stream(core.list_node, field_selector=f"metadata.name={node}"):
        print("watching", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
