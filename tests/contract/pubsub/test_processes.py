"""The two servers as processes: how they start, how they end, what they say when they can't."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from infra.local.pubsub.emulator import EmulatorMissing, find_command
from tests.contract.pubsub.push_sink import PushSink
from tests.contract.pubsub.servers import (
    BROKER,
    START_TIMEOUT_S,
    PubSub,
    Server,
    build_command,
    build_push,
    wait_until,
)


@contextmanager
def run(command: list[str], environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a command for the length of the block."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=10)


def list_children(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_broker_tells_its_address_in_both_places(tmp_path: Path) -> None:
    with run(build_command("broker", tmp_path)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        wait_until((tmp_path / "ready").exists, START_TIMEOUT_S)
        assert line == f"ready {(tmp_path / 'ready').read_text()}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_broker_ends_within_a_second(tmp_path: Path, number: signal.Signals) -> None:
    with run(build_command("broker", tmp_path)) as process:
        wait_until((tmp_path / "ready").exists, START_TIMEOUT_S)
        started_at = monotonic()
        process.send_signal(number)
        assert process.wait(5) == 0
        assert monotonic() - started_at < 1


def test_broker_ends_within_a_second_while_pushes_hang(tmp_path: Path, sink: PushSink) -> None:
    with run(build_command("broker", tmp_path)) as process:
        wait_until((tmp_path / "ready").exists, START_TIMEOUT_S)
        pubsub = PubSub(Server("broker", (tmp_path / "ready").read_text().strip(), BROKER))
        topic = pubsub.create_topic()
        pubsub.subscribe(topic, push_config=build_push(sink.url))
        sink.gate.clear()
        pubsub.publish_all(topic, [{"data": b"x"}] * 20)
        sink.wait_for(BROKER.pushes_in_flight)
        started_at = monotonic()
        process.terminate()
        assert process.wait(5) == 0
        assert monotonic() - started_at < 1


def test_broker_on_a_taken_port_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with run([*build_command("broker", tmp_path), "--port", str(port)]) as process:
            output, _ = process.communicate(timeout=START_TIMEOUT_S)
    assert process.returncode == 1
    assert f"can't listen on 127.0.0.1:{port}" in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_emulator_leaves_no_java_behind(tmp_path: Path, number: signal.Signals) -> None:
    with run(build_command("emulator", tmp_path)) as process:
        wait_until((tmp_path / "ready").exists, START_TIMEOUT_S)
        (java,) = list_children(process.pid)
        assert "java" in os.readlink(f"/proc/{java}/exe")
        process.send_signal(number)
        process.wait(10)
        wait_until(lambda: not is_alive(java), 5)


def test_emulator_on_a_taken_port_is_not_taken_for_ready(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with run(build_command("emulator", first)):
        wait_until((first / "ready").exists, START_TIMEOUT_S)
        port = (first / "ready").read_text().strip().rpartition(":")[2]
        with run([*build_command("emulator", second), "--port", port]) as process:
            log = second / "emulator.log"
            wait_until(lambda: log.exists() and b"Address already in use" in log.read_bytes(), START_TIMEOUT_S)
            assert not (second / "ready").exists()
            process.terminate()
            assert process.wait(10) == 0


def test_emulator_without_java_says_what_to_install(tmp_path: Path) -> None:
    with run(build_command("emulator", tmp_path), {**os.environ, "PATH": str(tmp_path)}) as process:
        _, errors = process.communicate(timeout=START_TIMEOUT_S)
    assert process.returncode == 1
    assert "no java on PATH" in errors


def test_emulator_without_a_jar_is_reported_with_the_folders_searched(tmp_path: Path) -> None:
    (tmp_path / "java").touch(0o755)
    with pytest.raises(EmulatorMissing, match=f"no Pub/Sub emulator under .*{tmp_path}"):
        find_command({"PATH": str(tmp_path), "CLOUDSDK_ROOT": str(tmp_path)}, default_root=tmp_path)


def test_emulator_of_the_newest_version_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "java").touch(0o755)
    jars = tmp_path / "platform" / "pubsub-emulator" / "lib"
    jars.mkdir(parents=True)
    for version in ("0.8.9", "0.8.20", "0.8.3"):
        (jars / f"cloud-pubsub-emulator-{version}-all.jar").touch()
    command = find_command({"PATH": str(tmp_path), "CLOUDSDK_ROOT": str(tmp_path)}, default_root=tmp_path)
    assert command[-1] == str(jars / "cloud-pubsub-emulator-0.8.20-all.jar")


def test_servers_print_their_usage() -> None:
    for module in ("infra.local.pubsub", "infra.local.pubsub.emulator"):
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"], capture_output=True, text=True, timeout=20, check=True
        )
        assert "--ready-file" in done.stdout
