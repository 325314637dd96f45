"""Parts that are built from Go modules: the control plane, fake-gcs-server, kwok."""

import os
import subprocess
from pathlib import Path

from infra.layout import REPOSITORY
from infra.parts.cache import make_key
from infra.parts.commands import CannotBring, require_program, run_command

CONTROL_PLANE_SOURCES = REPOSITORY / "tests" / "controlplane"
KUBERNETES_VERSION = "1.36.3"
CONTROL_PLANE_COMMANDS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")

FAKE_GCS_SERVER = "github.com/fsouza/fake-gcs-server@v1.56.1"
KWOK = "sigs.k8s.io/kwok/cmd/kwok@v0.8.0"

BUILD_S_MAX = 45 * 60
"""The control plane was measured at 8 minutes on two cores, cold; a slower machine gets five times that."""

_VERSION_FLAGS = (
    f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES_VERSION}",
    *(
        f"-X k8s.io/component-base/version.git{part}={number}"
        for part, number in zip(("Major", "Minor"), KUBERNETES_VERSION.split("."), strict=False)
    ),
)


def control_plane_key() -> str:
    """Return what the control plane is made of."""
    return make_key(*((CONTROL_PLANE_SOURCES / name).read_bytes() for name in ("go.mod", "go.sum", "main.go")))


def build_control_plane(folder: Path) -> None:
    """Build etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl: one program under five names."""
    command = [
        *(_go(), "build", "-trimpath", "-ldflags", " ".join(("-s -w", *_VERSION_FLAGS))),
        *("-o", str(folder / "controlplane"), "."),
    ]
    run_command(command, CONTROL_PLANE_SOURCES, folder / "build.log", timeout_s=BUILD_S_MAX, environment=_environment())
    for name in CONTROL_PLANE_COMMANDS:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("controlplane")


def install_program(module: str, folder: Path) -> None:
    """Build one program by `go install module@version`."""
    environment = {**_environment(), "GOBIN": str(folder)}
    command = [_go(), "install", "-trimpath", "-ldflags=-s -w", module]
    run_command(command, folder, folder / "build.log", timeout_s=BUILD_S_MAX, environment=environment)


def _go() -> str:
    go = require_program("go", "install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder with the binaries")
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, timeout=30, check=False)
    numbers = answer.stdout.strip().removeprefix("go").split(".")
    if [int(number) if number.isdigit() else 0 for number in numbers[:2]] < [1, 26]:
        raise CannotBring(f"Go is {answer.stdout.strip() or 'broken'}: 1.26 or newer is needed")
    return go


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
