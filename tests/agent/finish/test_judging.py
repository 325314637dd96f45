"""`finish judge`: one line of JSON about a file, whatever the file is."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CASES = REPOSITORY / "tests/gpureport/report/cases"


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("good-multi-member.log.gz", "complete", None),
        ("cut-at-member-boundary.log.gz", "partial", "incomplete"),
        ("crc-flipped.log.gz", "corrupt", "corrupt"),
        ("double-gz.log.gz", "none", "no-report"),
        ("zero-bomb-64MiB.log.gz", "none", "no-report"),
    ],
)
def test_report_is_judged_and_hashed(name, outcome, reason, run_finish, tmp_path):
    path = shutil.copy(CASES / name, tmp_path)
    data = Path(path).read_bytes()
    end = run_finish("judge", "--file", path)
    assert end.code == 0
    assert end.answer["outcome"] == outcome
    assert end.answer.get("reason") == reason
    assert end.answer["sha256"] == hashlib.sha256(data).hexdigest()
    assert end.answer["sizeBytes"] == len(data)
    assert Path(path).read_bytes() == data


def test_empty_file_has_no_hash(run_finish, tmp_path):
    (tmp_path / "r.log.gz").touch()
    end = run_finish("judge", "--file", str(tmp_path / "r.log.gz"))
    want = {"outcome": "none", "reason": "no-report", "sizeBytes": 0, "members": 0, "rawBytes": 0}
    assert (end.code, {**end.answer, "facts": None}) == (0, {**want, "facts": None})


@pytest.mark.parametrize(
    ("cut", "outcome", "reason"), [(None, "complete", None), (-30, "partial", "incomplete")], ids=["whole", "cut"]
)
def test_plain_report_is_compressed_in_its_place(cut, outcome, reason, run_finish, tmp_path):
    text = (CASES / "complete-plain.log").read_bytes()[:cut]
    path = tmp_path / "nvidia-bug-report.log"
    path.write_bytes(text)
    end = run_finish("judge", "--file", str(path))
    packed = path.read_bytes()
    assert (end.code, end.answer["outcome"], end.answer.get("reason")) == (0, outcome, reason)
    assert end.answer["compressed"] is True
    assert gzip.decompress(packed) == text
    assert end.answer["sha256"] == hashlib.sha256(packed).hexdigest()
    assert end.answer["sizeBytes"] == len(packed)
    assert os.listdir(tmp_path) == [path.name]


def test_plain_text_that_is_no_report_is_left_alone(run_finish, tmp_path):
    path = tmp_path / "r.log"
    path.write_bytes(b"an access log\n")
    end = run_finish("judge", "--file", str(path))
    assert (end.answer["outcome"], end.answer["reason"]) == ("none", "no-report")
    assert path.read_bytes() == b"an access log\n"


@pytest.mark.parametrize("name", ["missing.log.gz", "folder"])
def test_file_that_cannot_be_read_is_a_problem_and_no_traceback(name, run_finish, tmp_path):
    (tmp_path / "folder").mkdir()
    end = run_finish("judge", "--file", str(tmp_path / name))
    assert end.code == 70
    assert set(end.answer) == {"problem"}
    assert end.stderr == ""


def test_wrong_command_line_is_a_usage_error(run_finish):
    assert run_finish("judge").code == 2


def test_judging_loads_none_of_googles_libraries(finish_home, tmp_path):
    path = shutil.copy(CASES / "good-multi-member.log.gz", tmp_path)
    command = [sys.executable, "-I", "-X", "importtime", str(finish_home), "finish", "judge", "--file", path]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(process.stdout)["outcome"] == "complete"
    loaded = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "gpureport.report.judge" in loaded
    assert not [name for name in loaded if name.split(".")[0] in ("grpc", "requests", "asyncio", "kubernetes")]
    assert not [name for name in loaded if name.startswith(("google.cloud", "google.pubsub", "gpureport.adapters"))]
