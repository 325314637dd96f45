"""A part that ends by itself is started again where it was, and what it held in memory is put back."""

import signal
from os import kill
from pathlib import Path

import pytest

from infra.local import clusters, control_plane
from infra.local.demo_objects import HEALTHY_NODE
from infra.local.pipeline import PUBSUB, REAL, STAND_IN, STORAGE, Pipeline, Settings
from infra.local.story import follow_run, request_report


@pytest.mark.parametrize(
    ("cluster", "parts"),
    [
        pytest.param(STAND_IN, (clusters.APISERVER,), id=STAND_IN),
        pytest.param(REAL, (control_plane.ETCD, control_plane.APISERVER, control_plane.SCHEDULER), id=REAL),
    ],
)
def test_servers_that_were_killed_serve_again_at_their_addresses(
    tmp_path: Path, cluster: str, parts: tuple[str, ...]
) -> None:
    said: list[str] = []
    with Pipeline(Settings(work=tmp_path, cluster=cluster, delivery_backoff_s=1), said.append) as pipeline:
        pipeline.start()
        addresses = pipeline.admin.server, pipeline.pubsub, pipeline.storage
        for name in (*parts, PUBSUB, STORAGE):
            part = pipeline.supervisor.part(name)
            kill(part.pid, signal.SIGKILL)
            part.wait()

        pipeline.revive()

        assert (pipeline.admin.server, pipeline.pubsub, pipeline.storage) == addresses
        request_report(pipeline, HEALTHY_NODE)
        assert follow_run(pipeline, said.append, HEALTHY_NODE).status == "completed"
    for name in parts:
        assert any(f"{name} ended by itself (SIGKILL)" in line for line in said)
