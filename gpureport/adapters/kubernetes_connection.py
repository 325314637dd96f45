"""How a cluster is reached and asked: kubeconfig or endpoint, credentials, time-outs, one request, one answer.

Of the official client only its transport and its configuration are used; the generated classes, which cost a third of
a second and forty megabytes, are never imported. What an answer means is the cluster's part.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from gpureport.adapters.first_use import LOADING
from gpureport.ports import Misconfigured, Refused, Unavailable

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 7.0
"""Longest silence of the server; with the connection, ten seconds for an answer that does not come."""

BODY_BYTES_MAX = 64 * 1024 * 1024
"""Largest answer read; a page of 500 Pods is about 10 MB."""

ERROR_TEXT_MAX = 300
"""Characters of foreign text in an error: a validation error of kube-apiserver may quote the whole object twice."""

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

TokenSource = Callable[[], str]
"""Returns a bearer token that is valid now; called before each request. What it raises is passed on."""


class Response(NamedTuple):
    """One answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Configuration(Protocol):
    host: str
    api_key: dict[str, str]
    api_key_prefix: dict[str, str]
    refresh_api_key_hook: Callable[[Any], None] | None
    retries: bool | None
    proxy: str | None


class _ApiClient(Protocol):
    """What we use of `kubernetes.client.ApiClient`."""

    configuration: _Configuration
    rest_client: Any

    def param_serialize(self, method: str, resource_path: str, **parameters: object) -> tuple[Any, ...]: ...

    def call_api(self, *request: object, _request_timeout: tuple[float, float]) -> Any: ...  # noqa: ANN401 a urllib3 response in a wrapper


class Connection:
    """The way to one cluster; nothing is read and nothing is connected before the first request."""

    def __init__(self, described: str, configure: Callable[[_Configuration], None]) -> None:
        self.server = described
        """The server's URL once it is known, until then where it is described."""
        self._configure = configure
        self._client: _ApiClient | None = None

    @classmethod
    def from_kubeconfig(cls, path: Path | str, context: str | None) -> "Connection":
        """Describe the server of a kubeconfig; `path` may be several, joined as in $KUBECONFIG."""
        return cls(f"kubeconfig {path}", lambda configuration: _load_kubeconfig(configuration, str(path), context))

    @classmethod
    def from_default(cls) -> "Connection":
        """Describe the server that kubectl would talk to: $KUBECONFIG, else ~/.kube/config, else that of this Pod."""
        listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        candidates = listed or [Path.home() / ".kube" / "config"]
        found = [path for path in candidates if path.is_file()]
        if not found and not listed and SERVICE_ACCOUNT_TOKEN.is_file():
            return cls("the cluster of this Pod", _load_in_cluster)
        return cls.from_kubeconfig(os.pathsep.join(str(path) for path in found or candidates), None)

    @classmethod
    def from_endpoint(cls, server: str, token_source: TokenSource, ca_file: Path | None) -> "Connection":
        """Describe a server by its URL; without a CA file the system's authorities are trusted."""

        def refresh(current: _Configuration) -> None:
            token = token_source()
            if not token:
                raise Refused(f"{server}: no token")
            current.api_key["authorization"] = token

        def configure(configuration: Any) -> None:  # noqa: ANN401 the CA's attribute is not ours to declare
            configuration.host = server.rstrip("/")
            configuration.ssl_ca_cert = str(ca_file) if ca_file else None
            configuration.api_key["authorization"] = ""
            configuration.api_key_prefix["authorization"] = "Bearer"
            configuration.refresh_api_key_hook = refresh

        return cls(server, configure)

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        patch: list[dict[str, Any]] | None = None,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> Response:
        """Send one request, with an RFC 6902 patch as its body or without one, once; any status is an answer.

        Raises `Unavailable` when no whole answer comes, `Refused` when the connection is described wrongly or the
        answer is over `BODY_BYTES_MAX`.
        """
        client = self._connect()
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json"}
        if patch is not None:
            headers["Content-Type"] = "application/json-patch+json"
        request = client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=patch,
            auth_settings=["BearerToken"],
        )
        try:
            answer = client.call_api(*request, _request_timeout=(CONNECT_TIMEOUT_S, read_timeout_s)).response
            try:
                content = answer.read(BODY_BYTES_MAX + 1, decode_content=True)
            finally:
                answer.release_conn()
        except (ApiException, HTTPError, OSError) as error:
            raise Unavailable(f"{self.server}: {method} {path}: {cut_text(str(error))}") from error
        except ValueError:
            # http.client quotes the header that it refuses, and with it the token: that text goes nowhere.
            raise Refused(f"{self.server}: {method} {path}: token or path hold a forbidden character") from None
        if len(content) > BODY_BYTES_MAX:
            answer.close()
            raise Refused(f"{self.server}: {method} {path}: an answer of more than {BODY_BYTES_MAX} bytes")
        return Response(answer.status, answer.headers, content)

    def close(self) -> None:
        """Close the connections kept; the next request opens new ones."""
        if self._client is not None:
            self._client.rest_client.close()

    def _connect(self) -> _ApiClient:
        """Build the client without the retries of its transport, which would repeat a write whose answer got lost."""
        with LOADING:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> _ApiClient:
        from kubernetes.client import ApiClient, Configuration

        configuration = cast("_Configuration", Configuration())
        self._configure(configuration)
        configuration.retries = False
        configuration.proxy = configuration.proxy  # settled: the loader's hook would ask the environment each time
        self.server = configuration.host
        return cast("Callable[[_Configuration], _ApiClient]", ApiClient)(configuration)


def cut_text(text: str) -> str:
    """Cut foreign text to `ERROR_TEXT_MAX` characters."""
    return text if len(text) <= ERROR_TEXT_MAX else f"{text[: ERROR_TEXT_MAX - 1]}…"


_MALFORMED = (AttributeError, LookupError, TypeError, ValueError)
"""What the official loader raises for a file of another shape than it expects."""


def _load_kubeconfig(configuration: _Configuration, path: str, context: str | None) -> None:
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.kube_config import load_kube_config

    yaml_error: type[Exception] = import_module("yaml").YAMLError
    load: Callable[..., None] = load_kube_config
    try:
        load(path, context=context, client_configuration=configuration, persist_config=False)
    except (ConfigException, yaml_error, OSError, *_MALFORMED) as error:
        raise Misconfigured(f"kubeconfig {path}: {cut_text(str(error))}") from error


def _load_in_cluster(configuration: _Configuration) -> None:
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.incluster_config import load_incluster_config

    load: Callable[..., None] = load_incluster_config
    try:
        load(client_configuration=configuration)
    except (ConfigException, OSError) as error:
        raise Misconfigured(f"the cluster of this Pod: {cut_text(str(error))}") from error
