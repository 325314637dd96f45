"""Which script is found, and what it really sees when it runs: in a chroot as root, where it lies without."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent.collector.host import build_command, build_environment, find_script

COS = "/home/kubernetes/bin/nvidia/bin"
WORK = "/var/reports/.work"
PRINT_WHAT_IT_SEES = '#!/bin/sh\necho "$0 $* "; pwd; echo "$PATH|$LD_LIBRARY_PATH|$TMPDIR|$LC_ALL"; ls -d /*\n'


def place(root, folder, text="#!/bin/sh\n"):
    path = Path(f"{root}{folder}/nvidia-bug-report.sh")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def put_program(root, name):
    """Copy a program of ours, and the libraries that it needs, under another root."""
    program = shutil.which(name)
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in listing.split() if word.startswith("/")]
    for path in [program, *libraries]:
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


@pytest.mark.parametrize(
    ("folders", "want"),
    [
        ([COS, "/opt/nvidia/bin", "/usr/bin"], COS),
        (["/opt/nvidia/bin", "/usr/bin"], "/opt/nvidia/bin"),
        (["/usr/bin"], "/usr/bin"),
    ],
)
def test_first_folder_that_has_the_script_wins(folders, want, host_root):
    for folder in folders:
        place(host_root, folder)
    script = find_script(str(host_root), None, is_root=True)
    assert script.path == f"{want}/nvidia-bug-report.sh"


def test_host_without_the_script_has_none(host_root):
    assert find_script(str(host_root), None) is None
    assert find_script(str(host_root), "/opt/tools/report.sh") is None


@pytest.mark.parametrize(
    ("folder", "want"),
    [(COS, "/home/kubernetes/bin/nvidia/lib64"), ("/opt/nvidia/bin", "/opt/nvidia/lib64"), ("/usr/bin", "")],
)
def test_paths_follow_from_the_folder(folder, want, host_root):
    place(host_root, folder)
    script = find_script(str(host_root), None, is_root=True)
    assert script.search_path.split(":")[0] == folder
    assert script.library_path == want
    assert ("LD_LIBRARY_PATH" in build_environment(script, WORK)) == bool(want)


def test_named_script_is_taken_instead_of_the_folders(host_root):
    place(host_root, COS)
    place(host_root, "/srv/tools/bin")
    script = find_script(str(host_root), "/srv/tools/bin/nvidia-bug-report.sh", is_root=True)
    assert script.path == "/srv/tools/bin/nvidia-bug-report.sh"
    assert script.library_path == "/srv/tools/lib64"


def test_script_behind_an_absolute_link_is_found_inside_the_root(host_root):
    place(host_root, "/etc/alternatives")
    (host_root / "usr/bin").mkdir(parents=True)
    os.symlink("/etc/alternatives/nvidia-bug-report.sh", host_root / "usr/bin/nvidia-bug-report.sh")
    confined = find_script(str(host_root), None, is_root=True)
    plain = find_script(str(host_root), None, is_root=False)
    assert confined.path == "/usr/bin/nvidia-bug-report.sh"
    assert plain.path == f"{host_root}/etc/alternatives/nvidia-bug-report.sh"


def test_safe_mode_is_asked_for_by_its_flag(host_root):
    place(host_root, COS)
    script = find_script(str(host_root), None)
    assert build_command(str(host_root), script, f"{WORK}/r.log", safe_mode=True)[-1] == "--safe-mode"
    assert "--safe-mode" not in build_command(str(host_root), script, f"{WORK}/r.log")


def test_script_without_root_runs_where_it_lies(host_root, runner):
    place(host_root, COS, PRINT_WHAT_IT_SEES)
    Path(f"{host_root}{WORK}").mkdir(parents=True)
    script = find_script(str(host_root), None, is_root=False)
    command = build_command(str(host_root), script, f"{WORK}/r.log")
    end = runner.run(*command, env=build_environment(script, WORK), stdout_bytes_max=10_000)
    seen, folder, variables, *_ = end.stdout.decode().splitlines()
    assert seen.split() == [f"{host_root}{COS}/nvidia-bug-report.sh", "--output-file", "r.log"]
    assert folder == f"{host_root}{WORK}"
    path, libraries, temporary, locale = variables.split("|")
    assert path.split(":")[0] == f"{host_root}{COS}"
    assert libraries == f"{host_root}/home/kubernetes/bin/nvidia/lib64"
    assert (temporary, locale) == (folder, "C")


@pytest.mark.skipif(os.geteuid() != 0, reason="enters a chroot: needs root")
def test_script_as_root_sees_the_host_alone(host_root, runner):
    for program in ("sh", "ls"):
        put_program(host_root, program)
    (host_root / "bin").mkdir(exist_ok=True)
    shutil.copy(shutil.which("sh"), host_root / "bin/sh")
    place(host_root, COS, PRINT_WHAT_IT_SEES)
    Path(f"{host_root}{WORK}").mkdir(parents=True)
    script = find_script(str(host_root), None)
    command = build_command(str(host_root), script, f"{WORK}/r.log")
    end = runner.run(*command, env=build_environment(script, WORK), stdout_bytes_max=10_000)
    seen, folder, variables, *listed = end.stdout.decode().splitlines()
    assert seen.split()[0] == f"{COS}/nvidia-bug-report.sh"
    assert folder == WORK
    assert variables.split("|")[1:] == ["/home/kubernetes/bin/nvidia/lib64", WORK, "C"]
    assert sorted(listed) == sorted(f"/{name}" for name in os.listdir(host_root))


def test_lost_work_folder_fails_the_script_before_it_runs(host_root, runner):
    place(host_root, COS, "#!/bin/sh\necho ran\n")
    script = find_script(str(host_root), None, is_root=False)
    command = build_command(str(host_root), script, f"{WORK}/r.log")
    end = runner.run(*command, env=build_environment(script, WORK), stdout_bytes_max=100)
    assert end.exit_code != 0
    assert end.stdout == b""
