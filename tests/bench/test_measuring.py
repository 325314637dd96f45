"""What `python -m bench` does with measurements that work and that fail; nothing is timed here."""

import subprocess
import sys

from bench.__main__ import measure_all
from bench.catalogue import MEASUREMENTS, Measurement
from bench.host_script import HostScript
from bench.rows import Failure, NotMeasured, Row
from bench.stage import Stage
from infra.layout import REPOSITORY


def yield_one(stage):
    yield Row("one", "s", [1.0])


def fail_after_one(stage):
    yield Row("two", "s", [2.0])
    raise NotMeasured("no clock")


def miss_a_file(stage):
    yield Row("three", "s", [float((stage.work / "absent").read_text())])


def test_failed_measurement_is_named_and_the_next_is_made(tmp_path):
    said: list[str] = []
    chosen = [Measurement(one.__name__, "?", one) for one in (fail_after_one, miss_a_file, yield_one)]

    with Stage(said.append, tmp_path / "work") as stage:
        rows, failures = measure_all(chosen, stage)

    assert [row.what for row in rows] == ["two", "one"]
    assert failures[0] == Failure("fail_after_one", "NotMeasured: no clock")
    assert failures[1].what == "miss_a_file"
    assert any("no clock" in text for text in said)
    assert not (tmp_path / "work").exists()


def test_unknown_measurement_is_wrong_use():
    command = [sys.executable, "-m", "bench", "--only", "nonsense"]

    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert all(one.name in done.stderr for one in MEASUREMENTS)


def test_script_notes_when_it_starts_and_ends(tmp_path):
    script = HostScript(tmp_path / "host")
    script.configure(64)

    subprocess.run([script.path, "--output-file", "report.log"], cwd=tmp_path, check=True, timeout=60)

    stamps = script.read_stamps()
    assert stamps.started_s < stamps.ended_s
    assert (tmp_path / "report.log.gz").stat().st_size > 100_000
