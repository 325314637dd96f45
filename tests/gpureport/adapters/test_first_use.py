"""A cold process whose threads all come at once: every adapter is imported whole, whoever is first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "127.0.0.1:9"
"""The discard port: nothing listens there."""

USE_ALL_AT_ONCE = """
import json, sys, threading
from gpureport.adapters.google_pubsub import GooglePublisher
from gpureport.adapters.google_storage import GoogleBucket
from gpureport.adapters.kubernetes_cluster import KubernetesCluster
from gpureport.contract.events import Event
from gpureport.ports import Refused, Unavailable

event = Event("t", "i", "s", {})
cluster = KubernetesCluster.from_kubeconfig(sys.argv[1])
bucket = GoogleBucket("b", project="p", retry_deadline_s=0.1)
publisher = GooglePublisher("p", timeout_s=0.2)
calls = [lambda: cluster.read_node("n"), lambda: bucket.stat("x"), lambda: publisher.publish("t", event)] * 3
faults, barrier = [], threading.Barrier(len(calls))

def use(call):
    barrier.wait()
    for _ in range(2):
        try:
            call()
        except (Refused, Unavailable):
            pass
        except Exception as fault:
            faults.append(repr(fault))

threads = [threading.Thread(target=use, args=(call,)) for call in calls]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(faults))
"""


def write_kubeconfig(folder: Path, token: str = "t") -> Path:
    path = folder / "kubeconfig"
    context = {"cluster": "l", "user": "l"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "l", "cluster": {"server": f"http://{NOBODY}"}}],
        "users": [{"name": "l", "user": {"token": token}}],
        "contexts": [{"name": "l", "context": context}],
        "current-context": "l",
    }
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("attempt", range(5))
def test_adapters_used_by_many_threads_at_once_are_imported_whole(attempt: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", USE_ALL_AT_ONCE, str(write_kubeconfig(tmp_path))],
        env={**os.environ, "STORAGE_EMULATOR_HOST": f"http://{NOBODY}", "PUBSUB_EMULATOR_HOST": NOBODY},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert json.loads(done.stdout) == []


def test_token_that_no_header_can_hold_is_refused_without_being_shown(tmp_path: Path) -> None:
    from gpureport.adapters.kubernetes_cluster import KubernetesCluster
    from gpureport.ports import Refused

    cluster = KubernetesCluster.from_kubeconfig(write_kubeconfig(tmp_path, "s3\ncr3t"))

    with pytest.raises(Refused) as refusal:
        cluster.read_node("n")
    assert "forbidden character" in str(refusal.value)
    assert "cr3t" not in str(refusal.value)
