"""Children that end well, hang, ignore signals, flood and leave others behind: real processes, real sessions."""

import os
import signal
import time

import pytest

from agent.collector.child import STDERR_BYTES_MAX
from agent.collector.processes import is_session_alive, kill_session, list_session


def living(session_id):
    return [process for process in list_session(session_id) if not process.has_ended]


def test_child_returns_its_exit_code_and_output(runner):
    end = runner.shell("echo out; echo err >&2; exit 7", stdout_bytes_max=100)
    assert (end.exit_code, end.stdout, end.stderr_tail) == (7, b"out\n", b"err\n")
    assert (end.timed_out, end.stopped, end.stuck) == (False, False, None)


def test_child_killed_by_a_signal_has_a_negative_exit_code(runner):
    assert runner.shell("kill -9 $$").exit_code == -signal.SIGKILL


def test_child_reads_what_it_is_given(runner):
    data = b"x" * 300_000
    end = runner.run("wc", "-c", stdin=data, stdout_bytes_max=100)
    assert end.stdout.split() == [b"300000"]


def test_child_without_input_reads_an_end(runner):
    assert runner.run("cat").exit_code == 0


def test_child_starts_in_the_folder_asked_for(runner, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    assert runner.run("pwd", cwd=str(folder), stdout_bytes_max=1000).stdout.decode().strip() == str(folder)


def test_child_sees_the_environment_given_and_no_other(runner):
    end = runner.run("env", env={"ONLY": "this"}, stdout_bytes_max=1000)
    assert end.stdout == b"ONLY=this\n"


def test_child_inherits_the_descriptors_named_and_no_other(runner, tmp_path):
    kept = os.open(tmp_path, os.O_RDONLY)
    other = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(other, True)
    try:
        end = runner.run("ls", "/proc/self/fd", pass_fds=[kept], stdout_bytes_max=1000)
    finally:
        os.close(kept)
        os.close(other)
    own_of_the_listing = {3}
    assert {int(fd) for fd in end.stdout.split()} - own_of_the_listing == {0, 1, 2, kept}


def test_child_starts_with_the_default_of_signals_that_python_ignores(runner):
    end = runner.shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", stdout_bytes_max=1000)
    blocked, ignored = (int(line.split()[1], 16) for line in end.stdout.splitlines())
    python_ignores = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    assert (blocked, ignored & python_ignores) == (0, 0)


def test_missing_program_is_an_error_of_the_start(runner):
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        runner.start("/nowhere/program")
    assert len(os.listdir("/proc/self/fd")) == before


def test_children_leave_no_descriptor_behind(runner):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        runner.shell("true")
    assert len(os.listdir("/proc/self/fd")) == before


def test_child_past_its_deadline_is_ended_by_term(runner):
    end = runner.run("sleep", "600", timeout_s=0.2)
    assert end.timed_out
    assert end.exit_code == -signal.SIGTERM
    assert 0.2 <= end.duration_s < 2


def test_child_that_ignores_term_is_killed_after_its_grace(runner):
    child = runner.start("/bin/sh", "-c", "trap '' TERM; while :; do sleep 600; done", timeout_s=0.3, grace_s=0.5)
    end = runner.finish(child)
    assert end.timed_out
    assert end.exit_code == -signal.SIGKILL
    assert 0.8 <= end.duration_s < 3
    assert living(child.session_id) == []


def test_child_may_clean_up_within_its_grace(runner):
    end = runner.shell(
        "trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.05; done", timeout_s=0.2, stdout_bytes_max=99
    )
    assert (end.exit_code, end.stdout, end.timed_out) == (3, b"cleaned\n", True)


def test_process_moved_to_another_group_is_ended_too(runner):
    child = runner.start("/bin/sh", "-c", "timeout 600 sleep 600", timeout_s=0.4, grace_s=1.0)
    runner.wait_for(lambda: len(living(child.session_id)) == 3)
    groups = {os.getpgid(process.pid) for process in living(child.session_id)}
    assert len(groups) == 2
    assert runner.finish(child).timed_out
    assert living(child.session_id) == []


def test_process_left_behind_does_not_outlive_a_normal_end(runner):
    child = runner.start("/bin/sh", "-c", "sleep 600 & timeout 600 sleep 600 & exit 0", stdout_bytes_max=10)
    end = runner.finish(child)
    assert (end.exit_code, end.timed_out) == (0, False)
    assert end.duration_s < 2
    assert living(child.session_id) == []


def test_many_children_are_all_ended(runner):
    child = runner.start("/bin/sh", "-c", "for i in $(seq 200); do sleep 600 & done; wait", timeout_s=1.5, grace_s=2.0)
    end = runner.finish(child)
    assert end.timed_out
    assert living(child.session_id) == []


def test_stopped_process_is_ended(runner):
    end = runner.shell("kill -STOP $$", timeout_s=0.2, grace_s=0.3)
    assert end.timed_out
    assert end.exit_code == -signal.SIGKILL


def test_stop_ends_a_child_before_its_deadline(runner):
    child = runner.start("sleep", "600")
    child.stop(time.monotonic())
    end = runner.finish(child)
    assert end.stopped
    assert not end.timed_out
    assert end.duration_s < 2


def test_flood_on_stderr_is_kept_to_its_end(runner):
    end = runner.shell("head -c 50000000 /dev/zero | tr '\\0' x >&2; printf last >&2")
    assert end.exit_code == 0
    assert len(end.stderr_tail) == STDERR_BYTES_MAX
    assert end.stderr_tail.endswith(b"xlast")


def test_flood_on_stdout_is_kept_to_its_head(runner):
    end = runner.shell("printf first; head -c 50000000 /dev/zero", stdout_bytes_max=100)
    assert end.exit_code == 0
    assert end.stdout == b"first" + bytes(95)


def test_daemon_that_holds_the_output_does_not_hold_the_run(runner):
    child = runner.start("/bin/sh", "-c", "setsid sleep 5 & sleep 0.3; exit 0", stdout_bytes_max=10)
    assert runner.finish(child).duration_s < 2


def test_living_session_is_recognised_by_number_and_start(runner):
    child = runner.start("sleep", "600")
    assert is_session_alive(child.session_id, child.start_ticks)
    assert not is_session_alive(child.session_id, child.start_ticks - 1)
    kill_session(child.session_id)
    runner.finish(child)
    assert not is_session_alive(child.session_id, child.start_ticks)


def test_session_whose_leader_is_gone_is_still_alive(runner):
    orphaned = runner.start("/bin/sh", "-c", "sleep 600 & sleep 0.1", timeout_s=600)
    runner.wait_for(lambda: len(living(orphaned.session_id)) == 1)
    os.waitpid(orphaned.pid, 0)
    assert is_session_alive(orphaned.session_id, orphaned.start_ticks)
    kill_session(orphaned.session_id)
    runner.wait_for(lambda: not is_session_alive(orphaned.session_id, orphaned.start_ticks))
