"""The client calls of archiving one report, in a loop with no logic: Google's clients and Kubernetes's as documented,
with the settings that they come with.

  python -m bench.references.client_calls KUBECONFIG PROJECT

Reads one order a line from stdin, a JSON object, and prints the CPU seconds that its calls took.
"""

import json
import os
import sys
import time

os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")

from google.cloud import storage
from google.pubsub_v1 import PublisherClient
from kubernetes import client, config

MANIFEST = json.dumps({"filler": "x" * 1300}).encode()
"""As long as a manifest."""
DATA = json.dumps({"filler": "x" * 600}).encode()
"""As long as the data of `report.archived`, which has as many attributes too."""
ATTRIBUTES = {"content-type": "application/json", **{f"ce-attribute{number}": "x" * 16 for number in range(9)}}


class Calls:
    """The clients, built once as a function does."""

    def __init__(self, kubeconfig: str, project: str) -> None:
        config.load_kube_config(kubeconfig)
        self._core = client.CoreV1Api()
        self._storage = storage.Client(project=project)
        self._publisher = PublisherClient()

    def make(self, order: dict[str, str]) -> None:
        """Make the calls of one event in their order."""
        self._core.read_node(order["node"], _preload_content=False).json()
        staging, archive = self._storage.bucket(order["staging"]), self._storage.bucket(order["archive"])
        manifest, report = f"{order['folder']}/manifest.json", f"{order['folder']}/report.log.gz"
        archive.get_blob(manifest)
        staged = staging.get_blob(order["staged"])
        staged.download_as_bytes(raw_download=True)
        archive.blob(report).rewrite(staged, if_generation_match=0, if_source_generation_match=staged.generation)
        archive.blob(manifest).upload_from_string(MANIFEST, "application/json", if_generation_match=0)
        message = {"data": DATA, "attributes": ATTRIBUTES}
        self._publisher.publish(request={"topic": order["topic"], "messages": [message]})
        staged.delete(if_generation_match=staged.generation)


def main(kubeconfig: str, project: str) -> None:
    calls = Calls(kubeconfig, project)
    for line in sys.stdin:
        began_s = time.process_time()
        calls.make(json.loads(line))
        print(time.process_time() - began_s, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
