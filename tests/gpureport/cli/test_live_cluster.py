"""`gpureport triage` through the real Kubernetes client, over a real socket, on the local apiserver."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpureport.cli import gpu_triage
from gpureport.cli.main import main

STOP_TIMEOUT_S = 10
ROOT = Path(__file__).parents[3]

Output = pytest.CaptureFixture[str]


def objects_of(case: dict[str, Any], folder: Path) -> Iterator[str]:
    for kind in ("nodes", "pods"):
        path = folder / f"{kind}.json"
        path.write_text(json.dumps(case[kind]))
        yield from ("--objects", str(path))


@pytest.fixture
def kubeconfig(case: Callable[[str], dict[str, Any]], tmp_path: Path) -> Iterator[str]:
    """Serve a collected case, and return a kubeconfig for it."""
    command = [sys.executable, "-m", "infra.local.apiserver", *objects_of(case("C-88"), tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().removeprefix("ready ").strip()
        path = tmp_path / "kubeconfig"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
        }  # fmt: skip
        path.write_text(json.dumps(config))
        yield str(path)
        server.terminate()
        server.wait(STOP_TIMEOUT_S)


def test_live_cluster_gives_the_word_and_the_evidence(kubeconfig: str, capsys: Output) -> None:
    assert main(["triage", "-n", "ml", "p", "--kubeconfig", kubeconfig, "--context", "c"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "exhausted"
    assert "other/h" in out


def test_live_cluster_without_the_pod_is_exit_code_1(kubeconfig: str, capsys: Output) -> None:
    assert gpu_triage.main(["ml", "nobody", "--kubeconfig", kubeconfig]) == 1
    assert capsys.readouterr() == ("", "gpu-triage: error: Pod ml/nobody not found\n")
