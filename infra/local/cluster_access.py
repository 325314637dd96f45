"""How the local pipeline reaches a cluster: addresses, tokens, kubeconfig files, plain calls of the Kubernetes API."""

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

CALL_S_MAX = 10.0
"""Seconds one call may take."""

USER_AGENT = "gpu-report-local"
"""Tells our own preparations from the pipeline's calls in an audit log."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class ClusterError(Exception):
    """The cluster refused a call or did not answer; the text says which call and why."""


class ClusterAccess(NamedTuple):
    """One identity at one cluster; `ca_file` is empty for a cluster that the system's certificates cover."""

    server: str
    ca_file: str
    token: str

    def call(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Make one call and return status and answer; `ClusterError` when nobody answers."""
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": content_type,
                "User-Agent": USER_AGENT,
            },
        )
        context = ssl.create_default_context(cafile=self.ca_file or None) if self.server.startswith("https") else None
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), *([urllib.request.HTTPSHandler(context=context)] if context else [])
        )
        try:
            with opener.open(request, timeout=CALL_S_MAX) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, _read_status(error)
        except (OSError, ValueError) as error:
            raise ClusterError(f"{method} {self.server}{path}: {error}") from None

    def expect(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Make one call that has to succeed; `ClusterError` otherwise."""
        status, answer = self.call(method, path, body, content_type)
        if status >= 300:
            raise ClusterError(f"{method} {self.server}{path}: {status} {str(answer.get('message', ''))[:300]}")
        return answer


def _read_status(error: urllib.error.HTTPError) -> dict[str, Any]:
    try:
        answer = json.loads(error.read(65536))
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def write_secret(path: Path, text: str) -> Path:
    """Write a file that only its owner may read; who reads it meanwhile gets the old one or the new one as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)
    return path


def write_kubeconfig(path: Path, access: ClusterAccess) -> Path:
    """Write a kubeconfig for one identity: JSON, which is YAML too."""
    cluster: Mapping[str, str] = {"server": access.server, "certificate-authority": access.ca_file}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {name: value for name, value in cluster.items() if value}}],
        "users": [{"name": "local", "user": {"token": access.token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local"}}],
        "current-context": "local",
    }
    return write_secret(path, json.dumps(document, indent=2) + "\n")


def read_kubeconfig(path: Path) -> ClusterAccess:
    """Read the current context of a kubeconfig; `ClusterError` when it is unusable or its user has no token."""
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_kube_config

    yaml_error: type[Exception] = import_module("yaml").YAMLError
    configuration = Configuration()
    try:
        load_kube_config(str(path), client_configuration=configuration)
    # The loader raises whatever comes of reading a document that is not a kubeconfig.
    except (ConfigException, yaml_error, OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ClusterError(f"{path}: {str(error)[:300]}") from None
    token = str(configuration.get_api_key_with_prefix("BearerToken", alias="authorization") or "")
    token = token.removeprefix("Bearer ")
    if not token:
        raise ClusterError(f"{path}: its user has no token, which agents need; make one with `kubectl create token`")
    return ClusterAccess(configuration.host, configuration.ssl_ca_cert or "", token)
