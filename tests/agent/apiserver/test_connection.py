"""Which addresses and tokens are accepted."""

from pathlib import Path

import pytest

from agent.apiserver.connection import Endpoint, parse_endpoint, read_token
from agent.apiserver.errors import Unauthorized


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("https://10.0.0.1:443", ("10.0.0.1", 443, True)),
        ("https://[fd00::1]:6443/", ("fd00::1", 6443, True)),
        ("http://127.0.0.1:8080", ("127.0.0.1", 8080, False)),
        ("http://[::1]:8080", ("::1", 8080, False)),
    ],
)
def test_endpoint_is_read(url: str, want: tuple[str, int, bool]) -> None:
    endpoint = parse_endpoint(url, "/ca.crt", "/token")
    assert (endpoint.host, endpoint.port, endpoint.is_tls) == want


@pytest.mark.parametrize(
    "url", ["", "10.0.0.1:443", "ftp://h:1", "https://h", "https://h:0", "https://h:99999", "http://10.0.0.1:80"]
)
def test_endpoint_without_tls_or_port_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"https://HOST:PORT|loopback"):
        parse_endpoint(url, None, "/token")


def test_token_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    endpoint = Endpoint("127.0.0.1", 1, False, None, str(file))
    file.write_text("first\n")
    assert read_token(endpoint) == "first"
    file.write_text("second\n")
    assert read_token(endpoint) == "second"


@pytest.mark.parametrize("data", [b"", b"two words", b"a\r\nX-Injected: 1", "ünicode".encode()])
def test_token_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(data)
    with pytest.raises(Unauthorized):
        read_token(Endpoint("127.0.0.1", 1, False, None, str(file)))


def test_missing_token_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(Unauthorized, match="No such file"):
        read_token(Endpoint("127.0.0.1", 1, False, None, str(tmp_path / "absent")))
