"""A part that ends by itself is started again where it was, and what it held in memory is put back."""

import signal
from os import kill
from pathlib import Path

from infra.local.clusters import APISERVER
from infra.local.demo_objects import HEALTHY_NODE
from infra.local.pipeline import PUBSUB, STORAGE, Pipeline, Settings
from infra.local.story import follow_run, request_report


def test_servers_that_were_killed_serve_again_at_their_addresses(tmp_path: Path) -> None:
    said: list[str] = []
    with Pipeline(Settings(work=tmp_path, delivery_backoff_s=1), said.append) as pipeline:
        pipeline.start()
        addresses = pipeline.admin.server, pipeline.pubsub, pipeline.storage
        for name in (APISERVER, PUBSUB, STORAGE):
            part = pipeline.supervisor.part(name)
            kill(part.pid, signal.SIGKILL)
            part.wait()

        pipeline.revive()

        assert (pipeline.admin.server, pipeline.pubsub, pipeline.storage) == addresses
        request_report(pipeline, HEALTHY_NODE)
        assert follow_run(pipeline, said.append, HEALTHY_NODE).status == "completed"
    assert any("apiserver ended by itself (SIGKILL)" in line for line in said)
