"""How the apiserver is reached: address, CA, token, time-outs on every step. What is asked stands in `client`.

No proxy is ever used: the variables of the environment are not looked at.
"""

import http.client
import ipaddress
import socket
import ssl
from typing import NamedTuple

from agent.apiserver.errors import Unauthorized

CONNECT_TIMEOUT_S = 5.0
TOKEN_BYTES_MAX = 64 * 1024
KEEPALIVE_IDLE_S = 30
KEEPALIVE_INTERVAL_S = 10
KEEPALIVE_PROBES = 3
"""A dead peer of a silent watch is noticed within a minute."""
UNACKNOWLEDGED_MS_MAX = 60_000


class Endpoint(NamedTuple):
    """One apiserver; `ca_file` and TLS go together, without TLS it is a loopback address."""

    host: str
    port: int
    is_tls: bool
    ca_file: str | None
    token_file: str


def parse_endpoint(url: str, ca_file: str | None, token_file: str) -> Endpoint:
    """Read `https://HOST:PORT`; `ValueError` for anything else, and for plain HTTP to another machine."""
    scheme, separator, rest = url.partition("://")
    host, _, port = rest.rstrip("/").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or scheme not in ("http", "https") or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{url!r} is not like https://HOST:PORT")
    if scheme == "http" and not _is_loopback(host):
        raise ValueError(f"{url!r}: without TLS only a loopback address is allowed")
    return Endpoint(host, int(port), scheme == "https", ca_file, token_file)


def build_tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Build the one TLS context of the process: the cluster's CA and no other. `OSError` when it cannot be read."""
    if not endpoint.is_tls:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if endpoint.ca_file is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(endpoint.ca_file)
    return context


def open_connection(endpoint: Endpoint, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    """Connect within `CONNECT_TIMEOUT_S`; `OSError`."""
    if tls is None:
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=CONNECT_TIMEOUT_S)
    else:
        connection = http.client.HTTPSConnection(endpoint.host, endpoint.port, timeout=CONNECT_TIMEOUT_S, context=tls)
    try:
        connection.connect()
    except OSError:
        connection.close()
        raise
    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS_MAX),
    ):
        connection.sock.setsockopt(level, option, value)
    return connection


def read_token(endpoint: Endpoint) -> str:
    """Read the token as it is now: the kubelet replaces it before it expires. `Unauthorized` when it is no token."""
    try:
        with open(endpoint.token_file, "rb") as file:
            token = file.read(TOKEN_BYTES_MAX).strip().decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise Unauthorized(0, f"the token file cannot be read: {error}") from None
    if not token or any(character.isspace() for character in token):
        raise Unauthorized(0, f"the token file {endpoint.token_file} holds no token")
    return token


def _is_loopback(host: str) -> bool:
    return host == "localhost" or _parse_address(host)


def _parse_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
