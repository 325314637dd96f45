"""What the agent's command line accepts, and that it says everything that is wrong at once."""

import subprocess
from pathlib import Path

import pytest

from agent.settings import parse_settings
from tests.agent.agent_world import BARE_PYTHON

ENOUGH = {
    "NODE_NAME": "n1",
    "CLUSTER_NAME": "prod",
    "GOOGLE_CLOUD_PROJECT": "p",
    "STAGING_BUCKET": "s",
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
}


def test_environment_of_a_pod_is_enough() -> None:
    settings = parse_settings([], ENOUGH, "/agent")
    assert (settings.node_name, settings.cluster) == ("n1", "prod")
    assert (settings.endpoint.host, settings.endpoint.port, settings.endpoint.is_tls) == ("10.0.0.1", 443, True)
    assert settings.reports_dir == "/home/kubernetes/bin/nvidia-bug-reports"
    assert settings.timeout_s == 60
    assert settings.script is None


def test_flag_wins_over_the_environment() -> None:
    assert parse_settings(["--node-name", "n2"], ENOUGH, "/agent").node_name == "n2"


def test_apiserver_of_an_ipv6_pod_is_read() -> None:
    settings = parse_settings([], {**ENOUGH, "KUBERNETES_SERVICE_HOST": "fd00::1"}, "/agent")
    assert settings.endpoint.host == "fd00::1"


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--node-name", "Not A Name"], "--node-name"),
        (["--cluster", ""], "--cluster"),
        (["--timeout", "900"], "at most 3600 s"),
        (["--timeout", "nan"], "--timeout"),
        (["--timeout", "0"], "--timeout"),
        (["--apiserver", "http://10.0.0.1:80"], "loopback"),
        (["--key-prefix", "no slash"], "--key-prefix"),
        (["--reports-dir", "relative"], "--reports-dir"),
        (["--reports-dir", "/a/../b"], "--reports-dir"),
        (["--reports-dir", "/" + "x" * 256], "longer than 256"),
        (["--script", "relative.sh"], "--script"),
        (["--log-format", "xml"], "--log-format"),
        (["--unheard-of"], "unrecognized"),
    ],
)
def test_wrong_setting_ends_with_its_name_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], want: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_settings(arguments, ENOUGH, "/agent")
    assert ended.value.code == 2
    assert want in capsys.readouterr().err


def test_every_missing_setting_is_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_settings([], {}, "/agent")
    said = capsys.readouterr().err
    for name in ("NODE_NAME", "CLUSTER_NAME", "--project", "--staging-bucket", "--apiserver"):
        assert name in said


def test_agent_without_settings_exits_with_code_2(agent_home: Path) -> None:
    command = [BARE_PYTHON, "-I", "-S", str(agent_home), "run"]
    done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert "NODE_NAME" in done.stderr


@pytest.mark.parametrize(("arguments", "want"), [([], 2), (["unheard-of"], 2), (["--help"], 0), (["run", "--help"], 0)])
def test_command_line_says_how_it_is_used(agent_home: Path, arguments: list[str], want: int) -> None:
    command = [BARE_PYTHON, "-I", "-S", str(agent_home), *arguments]
    done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == want
    assert "usage: agent" in done.stdout + done.stderr
