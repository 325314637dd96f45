"""What the agent can be told: its flags, their defaults from the environment, and what is wrong with them.

Nothing is built here, and nothing read but the command line and the environment that are passed in.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from agent.apiserver.connection import Endpoint, parse_endpoint
from agent.collector.host import SCRIPT_FOLDERS
from agent.telemetry.log import LogFormat
from gpureport.contract.deadlines import DEADLINE_S_MAX, SCRIPT_TIMEOUT_S, decide_deadline_s
from gpureport.contract.keys import DEFAULT_PREFIX, Keys, build_keys
from gpureport.contract.names import CLUSTER_NAME, NODE_NAME, REPORTS_FOLDER_BYTES_MAX

T = TypeVar("T")

ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where the kubelet mounts a Pod's token and the cluster's CA."""
REPORTS_FOLDER = "/home/kubernetes/bin/nvidia-bug-reports"
HELP_COLUMNS = 100
"""argparse asks the terminal otherwise, by a module that pulls in compression and hashing."""


class Settings(NamedTuple):
    """Everything `run` was told."""

    node_name: str
    cluster: str
    endpoint: Endpoint
    keys: Keys
    host_root: str
    reports_dir: str
    """The host's path."""
    script: str | None
    timeout_s: float
    max_reports: int
    finish_python: str
    finish_home: str
    project: str
    staging_bucket: str
    topic: str
    delivery_backoff_s: float
    watch_timeout_s: int
    log_format: LogFormat


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_COLUMNS)


def build_parser(environment: Mapping[str, str], home: str) -> argparse.ArgumentParser:
    """Build the parser of `run`; `home` is the folder that the agent was started from."""
    parser = argparse.ArgumentParser(
        prog="agent run",
        description="Serve the GPU report requests of one Node.",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    for flag, metavar, variable, default, meaning in _list_flags(environment, home):
        shown = "; ".join(
            [meaning, *([f"default: {default}"] if default else []), *([f"${variable}"] if variable else [])]
        )
        value = environment.get(variable, default) if variable else default
        parser.add_argument(flag, default=value, metavar=metavar, help=shown)
    return parser


def _list_flags(environment: Mapping[str, str], home: str) -> tuple[tuple[str, str, str, str, str], ...]:
    """List flag, metavar, variable of the environment, default and meaning; an empty one is none."""
    return (
        ("--node-name", "NAME", "NODE_NAME", "", "the Node to serve (required)"),
        ("--cluster", "NAME", "CLUSTER_NAME", "", "the cluster's key in the functions' map (required)"),
        (
            "--apiserver",
            "URL",
            "",
            _default_apiserver(environment),
            "https://HOST:PORT; by default the Pod's cluster",
        ),
        ("--ca-file", "FILE", "", f"{ACCOUNT_FOLDER}/ca.crt", "the cluster's CA (PEM)"),
        ("--token-file", "FILE", "", f"{ACCOUNT_FOLDER}/token", "the bearer token, read again before each request"),
        (
            "--key-prefix",
            "PREFIX",
            "KEY_PREFIX",
            DEFAULT_PREFIX,
            "before trigger-gpu-report and the other keys",
        ),
        ("--host-root", "DIR", "HOST_ROOT", "/root", "where the host's root is mounted"),
        ("--reports-dir", "DIR", "REPORTS_DIR", REPORTS_FOLDER, "the host's folder for reports and the agent's state"),
        ("--script", "PATH", "SCRIPT", "", f"on the host; by default nvidia-bug-report.sh in {_list_script_folders()}"),
        ("--timeout", "S", "TIMEOUT_SECONDS", f"{SCRIPT_TIMEOUT_S:g}", "seconds the script has"),
        ("--max-reports", "N", "MAX_REPORTS", "5", "reports kept on the node's disk"),
        (
            "--finish-python",
            "PATH",
            "FINISH_PYTHON",
            "/usr/bin/python3",
            "of the child that judges and stages",
        ),
        ("--finish-home", "DIR", "FINISH_HOME", f"{home}/../finish-home", "folder of that child's code"),
        ("--project", "ID", "GOOGLE_CLOUD_PROJECT", "", "the Google Cloud project of the topic (required)"),
        ("--staging-bucket", "NAME", "STAGING_BUCKET", "", "the bucket that reports are staged in (required)"),
        ("--topic", "NAME", "REPORTS_TOPIC", "reports", "the topic of agents' events"),
        ("--delivery-backoff", "S", "DELIVERY_BACKOFF_SECONDS", "30", "seconds before a delivery is repeated; doubles"),
        ("--watch-timeout", "S", "WATCH_TIMEOUT_SECONDS", "300", "seconds after which a watch is begun anew"),
        ("--log-format", "FORMAT", "LOG_FORMAT", LogFormat.JSON.value, "json or text"),
    )


def _list_script_folders() -> str:
    return ", ".join(folder for folder, _ in SCRIPT_FOLDERS)


def parse_settings(arguments: Sequence[str], environment: Mapping[str, str], home: str) -> Settings:
    """Read the command line; exits with code 2 and a message that names every fault."""
    parser = build_parser(environment, home)
    given = parser.parse_args(arguments)
    problems: list[str] = []
    if not NODE_NAME.fullmatch(given.node_name):
        problems.append("--node-name (NODE_NAME) is required: a DNS-1123 subdomain")
    if not CLUSTER_NAME.fullmatch(given.cluster):
        problems.append("--cluster (CLUSTER_NAME) is required: a DNS-1123 label")
    for flag, variable, value in (
        ("--project", "GOOGLE_CLOUD_PROJECT", given.project),
        ("--staging-bucket", "STAGING_BUCKET", given.staging_bucket),
    ):
        if not value:
            problems.append(f"{flag} ({variable}) is required")
    problems += _check_paths(given)
    endpoint = _try(problems, "--apiserver", lambda: _build_endpoint(given))
    keys = _try(problems, "--key-prefix", lambda: build_keys(given.key_prefix))
    log_format = _try(problems, "--log-format", lambda: LogFormat(given.log_format))
    timeout_s = _number(problems, "--timeout", given.timeout, 1, 24 * 3600)
    backoff_s = _number(problems, "--delivery-backoff", given.delivery_backoff, 0.1, 600)
    watch_s = _number(problems, "--watch-timeout", given.watch_timeout, 1, 3600)
    max_reports = _number(problems, "--max-reports", given.max_reports, 1, 1000)
    if decide_deadline_s(timeout_s) > DEADLINE_S_MAX:
        problems.append(
            f"--timeout {timeout_s:g}: a run could take {decide_deadline_s(timeout_s):.0f} s, "
            f"at most {DEADLINE_S_MAX} s are allowed"
        )
    if problems or endpoint is None or keys is None or log_format is None:
        parser.error("; ".join(problems))
    return Settings(
        node_name=given.node_name,
        cluster=given.cluster,
        endpoint=endpoint,
        keys=keys,
        host_root=given.host_root,
        reports_dir=given.reports_dir.rstrip("/"),
        script=given.script or None,
        timeout_s=timeout_s,
        max_reports=int(max_reports),
        finish_python=given.finish_python,
        finish_home=given.finish_home,
        project=given.project,
        staging_bucket=given.staging_bucket,
        topic=given.topic,
        delivery_backoff_s=backoff_s,
        watch_timeout_s=int(watch_s),
        log_format=log_format,
    )


def _default_apiserver(environment: Mapping[str, str]) -> str:
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://{f'[{host}]' if ':' in host else host}:{port}" if host else ""


def _build_endpoint(given: argparse.Namespace) -> Endpoint:
    if not given.apiserver:
        raise ValueError("is required outside a Pod")
    return parse_endpoint(given.apiserver, given.ca_file or None, given.token_file)


def _check_paths(given: argparse.Namespace) -> list[str]:
    problems = []
    for flag, path in (("--host-root", given.host_root), ("--reports-dir", given.reports_dir)):
        if not path.startswith("/") or path.endswith("/.") or "/../" in f"{path}/":
            problems.append(f"{flag} is not an absolute path")
    if given.script and not given.script.startswith("/"):
        problems.append("--script is not an absolute path")
    if len(given.reports_dir.encode()) > REPORTS_FOLDER_BYTES_MAX:
        problems.append(f"--reports-dir is longer than {REPORTS_FOLDER_BYTES_MAX} bytes")
    return problems


def _number(problems: list[str], flag: str, text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if least <= value <= most:
        return value
    problems.append(f"{flag} {text!r} is not a number from {least:g} to {most:g}")
    return least


def _try(problems: list[str], flag: str, build: Callable[[], T]) -> T | None:
    try:
        return build()
    except ValueError as error:
        problems.append(f"{flag}: {error}")
        return None
