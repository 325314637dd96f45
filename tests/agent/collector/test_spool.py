"""The reports folder: what is kept under which name, what goes, what is refused."""

import os
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.collector.spool import Spool, SpoolRefused, remove_tree

FOLDER = "/home/kubernetes/bin/nvidia-bug-reports"
AT = datetime(2026, 11, 30, 9, 15, 6, tzinfo=UTC)


@pytest.fixture
def spool(host_root):
    ready = Spool(str(host_root), FOLDER)
    ready.prepare()
    return ready


def write(spool, name, data=b"report"):
    path = Path(spool.local(spool.work_dir)) / name
    path.write_bytes(data)
    return str(path)


def keep(spool, path, at=AT, trigger="manual"):
    final = spool.find_free_name(at, trigger)
    spool.keep(path, final)
    return final


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_folders_are_private(spool):
    assert mode_of(spool.local(spool.reports_dir)) == 0o700
    assert mode_of(spool.local(spool.work_dir)) == 0o700


def test_preparing_again_empties_the_work_folder_and_keeps_reports(spool):
    kept = keep(spool, write(spool, "r.log.gz"))
    write(spool, "left-over")
    spool.prepare()
    assert os.listdir(spool.local(spool.work_dir)) == []
    assert Path(spool.local(kept)).exists()


def test_folder_readable_by_others_is_closed_to_them(host_root):
    local = Path(f"{host_root}{FOLDER}")
    local.mkdir(parents=True, mode=0o755)
    Spool(str(host_root), FOLDER).prepare()
    assert mode_of(local) == 0o700


def test_folder_writable_by_others_is_refused(host_root):
    local = Path(f"{host_root}{FOLDER}")
    local.mkdir(parents=True)
    local.chmod(0o777)
    with pytest.raises(SpoolRefused, match="0777"):
        Spool(str(host_root), FOLDER).prepare()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_something_else_in_the_folders_place_is_refused(kind, host_root, tmp_path):
    local = Path(f"{host_root}{FOLDER}")
    local.parent.mkdir(parents=True)
    if kind == "link":
        local.symlink_to(tmp_path)
    else:
        local.touch()
    with pytest.raises(SpoolRefused, match=r"is a link|is no folder"):
        Spool(str(host_root), FOLDER).prepare()


def test_kept_report_has_its_final_name_and_mode(spool):
    path = write(spool, "nvidia-bug-report.log.gz", b"bytes")
    kept = keep(spool, path)
    assert kept == f"{FOLDER}/nvidia-bug-report-20261130T091506Z-manual.log.gz"
    assert Path(spool.local(kept)).read_bytes() == b"bytes"
    assert mode_of(spool.local(kept)) == 0o600
    assert not os.path.exists(path)


def test_two_reports_of_one_second_never_collide(spool):
    first = keep(spool, write(spool, "a.log.gz", b"first"))
    second = keep(spool, write(spool, "b.log.gz", b"second"))
    assert second == f"{FOLDER}/nvidia-bug-report-20261130T091506Z-manual-2.log.gz"
    assert Path(spool.local(first)).read_bytes() == b"first"
    assert spool.rotate(1) == [first]


def test_link_in_the_reports_place_is_not_kept(spool, tmp_path):
    (tmp_path / "secret").write_text("secret")
    path = spool.local(spool.work_dir) + "/r.log.gz"
    os.symlink(tmp_path / "secret", path)
    with pytest.raises(OSError, match="symbolic links"):
        keep(spool, path)


def test_rotation_keeps_the_newest_and_those_not_to_be_touched(spool):
    kept = [keep(spool, write(spool, "r.log.gz"), AT.replace(minute=minute), "automatic") for minute in range(6)]
    other = Path(spool.local(FOLDER)) / "notes.txt"
    other.touch()
    assert spool.rotate(3, {kept[1]}) == [kept[0], kept[2]]
    left = {name for name in os.listdir(spool.local(FOLDER)) if name.endswith(".log.gz")}
    assert left == {os.path.basename(path) for path in [kept[1], *kept[3:]]}
    assert other.exists()


@pytest.mark.parametrize(
    ("names", "want"),
    [
        (["nvidia-bug-report.log", "nvidia-bug-report.log.gz", "x.log.gz"], "nvidia-bug-report.log.gz"),
        (["nvidia-bug-report.log", "x.log.gz"], "nvidia-bug-report.log"),
        (["a.log", "b.txt", "nvidia-bug-report.log.old.gz"], "a.log"),
        (["b.txt", "nvidia-bug-report.old.gz"], None),
        ([], None),
    ],
)
def test_output_is_found_by_name_then_by_what_fits(names, want, spool):
    for name in names:
        write(spool, name)
    found = spool.find_output()
    assert (found and os.path.basename(found)) == want


def test_newest_output_wins_among_those_that_fit(spool):
    for age_s, name in enumerate(["c.log.gz", "a.log.gz", "b.log.gz"]):
        os.utime(write(spool, name), (1000 - age_s, 1000 - age_s))
    assert os.path.basename(spool.find_output()) == "c.log.gz"


def test_output_that_is_no_regular_file_is_not_taken(spool, tmp_path):
    work = Path(spool.local(spool.work_dir))
    os.mkfifo(work / "nvidia-bug-report.log.gz")
    (work / "nvidia-bug-report.log").symlink_to(tmp_path)
    (work / "x.log.gz").mkdir()
    assert spool.find_output() is None


def test_output_is_none_when_the_script_removed_its_folder(spool):
    assert spool.tidy() is None
    assert spool.find_output() is None


def test_work_folder_is_cleared_whatever_lies_in_it(spool, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    work = Path(spool.local(spool.work_dir))
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/file").touch()
    (work / "link").symlink_to(outside)
    os.mkfifo(work / "fifo")
    assert spool.tidy() is None
    assert not work.exists()
    assert (outside / "precious").exists()


def test_link_in_the_work_folders_place_is_removed_and_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    remove_tree(str(tmp_path / "link"))
    assert (tmp_path / "precious").exists()


def test_output_of_a_script_that_put_a_file_in_its_folders_place_is_none(spool):
    work = Path(spool.local(spool.work_dir))
    work.rmdir()
    work.touch()
    assert spool.find_output() is None
    spool.prepare()
    assert work.is_dir()


def test_work_folder_that_cannot_be_removed_makes_way(spool):
    work = Path(spool.local(spool.work_dir))
    mount_like = work / "in-use"
    mount_like.mkdir()
    if os.geteuid() != 0:
        pytest.skip("a mount needs root: run the tests as root in a mount namespace (unshare --mount)")
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mount_like)], check=True)
    try:
        assert "in-use" in spool.tidy()
        spool.prepare()
        assert os.listdir(work) == []
    finally:
        subprocess.run(["umount", str(work.with_name(".work.left") / "in-use")], check=True)
    assert spool.tidy() is None
    assert not work.with_name(".work.left").exists()


def test_kept_report_is_found_by_its_name_alone(spool):
    kept = keep(spool, write(spool, "r.log.gz"))
    assert spool.find_kept(kept) == spool.local(kept)
    assert spool.find_kept(kept.replace("manual", "automatic")) is None
    assert spool.find_kept(f"{FOLDER}/../etc/{kept.rpartition('/')[2]}") is None
