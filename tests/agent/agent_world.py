"""A node's world for tests of the whole agent: an apiserver, a script, a fake finish child, agent processes."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

from gpureport.contract.claims import Claim, find_claim
from gpureport.contract.keys import build_keys

ROOT = Path(__file__).resolve().parents[2]
NODE = "gpu-n1"
AGENT = "agent"
TOKEN = "agent-token"
ADMIN_TOKEN = "admin-token"
KEYS = build_keys()
WAIT_S_MAX = 30.0
BARE_PYTHON = f"{sys.base_prefix}/bin/python3"

WHOLE = 'printf "WHOLE" > "$out.gz"'


def wait_until(look: Callable[[], Any], what: str, timeout_s: float = WAIT_S_MAX) -> Any:
    """Look again and again until there is something; the one place where a test polls."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {timeout_s} s: {what}")


class Apiserver:
    """The stand-in, with TLS, as another process."""

    def __init__(self, folder: Path, certificates: Any) -> None:
        self.ca = certificates.ca
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},{AGENT},1\n{ADMIN_TOKEN},admin,2,"system:masters"\n')
        command = [
            *(sys.executable, "-m", "infra.local.apiserver", "--port", "0"),
            *("--tls-cert", str(certificates.cert), "--tls-key", str(certificates.key), "--tokens", str(tokens)),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().removeprefix("ready ").strip()
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)

    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        context = ssl.create_default_context(cafile=self.ca)
        with closing(HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)) as connection:
            raw = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": content_type, "Authorization": f"Bearer {ADMIN_TOKEN}"}
            connection.request(method, path, raw, headers)
            response = connection.getresponse()
            data = response.read()
            assert response.status < 300, (response.status, data[:500])
            return json.loads(data) if data else None

    def create_node(self, **metadata: Any) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, **metadata}}
        self.ask("POST", "/api/v1/nodes", node)

    def delete_node(self) -> None:
        self.ask("DELETE", f"/api/v1/nodes/{NODE}")

    def merge(self, *, labels: dict[str, str | None] | None = None, annotations: Any = None) -> None:
        metadata = {"labels": labels or {}, "annotations": annotations or {}}
        path = f"/api/v1/nodes/{NODE}"
        self.ask("PATCH", path, {"metadata": metadata}, "application/merge-patch+json")

    def request(self, value: str = "true") -> None:
        self.merge(labels={KEYS.trigger: value})

    def request_by_put(self) -> None:
        """Ask by the label on a Node without annotations, not by a patch: tests make patches fail."""
        metadata = {"name": NODE, "labels": {KEYS.trigger: "true"}}
        self.ask("PUT", f"/api/v1/nodes/{NODE}", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    def collect(self) -> None:
        self.merge(annotations={KEYS.status: "collect"})

    def archive(self, run_id: str, status: str = "completed", **members: Any) -> None:
        """Do what write_status does at the end of a run."""
        output = {
            "status": status,
            "trigger": "manual",
            "complete": status == "completed",
            "runId": run_id,
            "archivedAt": "2026-11-30T09:15:09Z",
            **members,
        }
        self.merge(annotations={KEYS.status: status, KEYS.output: json.dumps(output)})

    def fail(self, match: str, status: int, **order: Any) -> None:
        self.ask("POST", "/_local/fail", {"match": match, "status": status, **order})

    def hook(self, name: str) -> None:
        self.ask("POST", f"/_local/{name}")

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.ask("GET", f"/api/v1/nodes/{NODE}")["metadata"]
        return metadata

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.get("annotations") or {}

    @property
    def status(self) -> str | None:
        return self.annotations.get(KEYS.status)

    @property
    def claim(self) -> Claim | None:
        return find_claim(self.annotations.get(KEYS.run))

    @property
    def output(self) -> Any:
        text = self.annotations.get(KEYS.output)
        return None if text is None else json.loads(text)

    def evidence(self) -> Claim | None:
        """Return the claim once its evidence is there."""
        claim = self.claim
        return claim if claim is not None and claim.report is not None else None

    def requests(self, method: str) -> list[Any]:
        """Return the agents' requests so far."""
        journal = self.ask("GET", "/_local/requests")
        return [entry for entry in journal if entry["method"] == method and entry["user"] == AGENT]


class AgentWorld:
    """One node: its disk, its script, its finish child, and the agents that are started on it."""

    def __init__(self, folder: Path, home: Path, apiserver: Apiserver) -> None:
        self.folder = folder
        self.home = home
        self.apiserver = apiserver
        self.reports = folder / "reports"
        self.script = folder / "driver" / "nvidia-bug-report.sh"
        self.runs = folder / "runs"
        self.finish = folder / "finish-home"
        self.token = folder / "token"
        self.token.write_text(TOKEN)
        shutil.copytree(Path(__file__).with_name("fake_finish"), self.finish)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: list[Path] = []

    def write_script(self, body: str) -> None:
        """Write a script that counts its runs; `$out` is the path it was told to write to."""
        self.script.parent.mkdir(exist_ok=True)
        self.script.write_text(
            "#!/bin/sh\n"
            "while [ $# -gt 0 ]; do case $1 in --output-file) out=$2; shift;; esac; shift; done\n"
            f"echo $$ >> {self.runs}\n{body}\n"
        )
        self.script.chmod(0o755)

    @property
    def run_count(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    @property
    def script_pid(self) -> int:
        return int(self.runs.read_text().splitlines()[-1])

    def command(self, **changes: str | None) -> list[str]:
        options: dict[str, str | None] = {
            "node-name": NODE,
            "cluster": "prod",
            "apiserver": self.apiserver.url,
            "ca-file": str(self.apiserver.ca),
            "token-file": str(self.token),
            "host-root": "/",
            "reports-dir": str(self.reports),
            "script": str(self.script),
            "timeout": "20",
            "finish-python": sys.executable,
            "finish-home": str(self.finish),
            "project": "project",
            "staging-bucket": "staging",
            "delivery-backoff": "0.2",
            **{name.replace("_", "-"): value for name, value in changes.items()},
        }
        words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
        return [BARE_PYTHON, "-I", "-S", str(self.home), "run", *words]

    def start(self, **changes: str | None) -> subprocess.Popen[bytes]:
        """Start an agent and wait until it watches its Node."""
        process = self.launch(**changes)
        wait_until(lambda: self.events("watching", len(self.logs) - 1), "the agent watches the Node")
        return process

    def launch(self, **changes: str | None) -> subprocess.Popen[bytes]:
        path = self.folder / f"agent-{len(self.logs)}.log"
        self.logs.append(path)
        with path.open("wb") as log:
            process = subprocess.Popen(self.command(**changes), stderr=log, stdout=log)
        self.processes.append(process)
        return process

    def log(self, index: int = -1) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.logs[index].read_text().splitlines() if line.endswith("}")]

    def events(self, name: str, index: int = -1) -> list[dict[str, Any]]:
        return [line for line in self.log(index) if line["event"] == name]

    @property
    def orders(self) -> list[Any]:
        path = self.finish / "orders"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def outbox(self) -> list[str]:
        """The parcels; what an atomic write begins with is none yet."""
        return sorted(name for name in os.listdir(self.reports / ".state" / "outbox") if name.endswith(".json"))

    @property
    def record(self) -> Any:
        path = self.reports / ".state" / "run.json"
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def report_files(self) -> list[str]:
        return sorted(name for name in os.listdir(self.reports) if not name.startswith("."))

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            process.wait(timeout=25)
        if self.runs.exists():
            for line in self.runs.read_text().splitlines():
                kill_if_there(int(line))


def kill_if_there(session_id: int) -> None:
    """End what a script of ours left: its session is its own process group as well."""
    try:
        if os.getsid(session_id) == session_id:
            os.killpg(session_id, signal.SIGKILL)
    except ProcessLookupError:
        pass
