"""Lines of /proc as the kernel writes them."""

import pytest

from agent.collector.processes import Process, describe_stuck, parse_stat

REST = b" S 11 12 13 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 8192 1 18446744073709551615"


@pytest.mark.parametrize("command", ["sh", "a b", "a) S 1 (b", "((", ""])
def test_stat_is_read_whatever_the_command_is_called(command):
    want = Process(10, command, "S", 11, 13, 98765)
    assert parse_stat(f"10 ({command})".encode() + REST) == want


def test_stuck_processes_are_named_and_counted():
    process = parse_stat(b"4194303 (nvidia-smi)" + REST.replace(b" S ", b" D ", 1))
    text = describe_stuck(1, [process, process])
    assert text.startswith("pid 4194303 (nvidia-smi) in state D, wait channel ")
    assert text.endswith(" and 1 more")


@pytest.mark.parametrize(("state", "want"), [("S", False), ("D", False), ("T", False), ("Z", True), ("X", True)])
def test_process_has_ended_when_only_its_status_is_left(state, want):
    assert Process(1, "x", state, 1, 1, 1).has_ended is want
