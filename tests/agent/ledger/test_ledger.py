"""What the ledger writes it reads back; what is damaged or newer is set aside or left alone."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.handshake.runs import CLAIMED, COLLECTED, DONE, RUNNING, Run, ScriptProcess, build_claim
from agent.ledger.ledger import Ledger
from agent.ledger.lock import RunLock
from agent.ledger.records import NewerRecord, Parcel
from gpureport.contract.claims import Claim
from tests.agent.agent_faults import fill

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)


def claim(run_id: str = "7" * 32) -> Claim:
    return build_claim(
        run_id=run_id,
        trigger="manual",
        node_uid="6c1f0b1e-2f0f-4f5a-9a55-0d1c2b3a4e5f",
        boot_id="0f0f6b52-71c6-4f7c-8f52-8f2a3c4d5e6f",
        started_at=AT,
        deadline_at=AT,
        agent_version="0.1.0",
        previous=None,
    )


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def ledger(tmp_path: Path, said: list[str]) -> Ledger:
    (tmp_path / "reports").mkdir(mode=0o700)
    ledger = Ledger(str(tmp_path / "reports"), said.append)
    ledger.prepare()
    return ledger


def test_ledger_folders_are_their_owners_alone(ledger: Ledger, tmp_path: Path) -> None:
    ledger.write_run(Run(RUNNING, claim()))
    for path, want in (
        (tmp_path / "reports", 0o700),
        (Path(ledger.folder), 0o700),
        (Path(ledger.folder) / "run.json", 0o600),
    ):
        assert path.stat().st_mode & 0o777 == want


def test_run_record_is_read_back(ledger: Ledger) -> None:
    run = Run(RUNNING, claim(), "", 1, ScriptProcess(4242, 99), 12.5, 77.5, "/reports/a.log.gz")
    ledger.write_run(run)
    assert ledger.read_run() == run


def test_run_record_is_replaced_as_a_whole(ledger: Ledger) -> None:
    ledger.write_run(Run(RUNNING, claim()))
    ledger.write_run(Run(DONE, claim("8" * 32)))
    assert sorted(os.listdir(ledger.folder)) == ["outbox", "reserve", "run.json"]
    run = ledger.read_run()
    assert run is not None
    assert run.phase == DONE


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema":1}', '{"schema":1,"phase":"asleep","deaths":0,"claim":{}}', "x" * 70000]
)
def test_damaged_run_record_is_set_aside(ledger: Ledger, said: list[str], text: str) -> None:
    path = Path(ledger.folder) / "run.json"
    path.write_text(text)
    assert ledger.read_run() is None
    assert not path.exists()
    assert path.with_name("run.json.bad").read_text() == text
    assert len(said) == 1


def test_newer_run_record_is_left_alone_until_it_is_done(ledger: Ledger) -> None:
    path = Path(ledger.folder) / "run.json"
    path.write_text('{"schema":2,"phase":"running"}')
    with pytest.raises(NewerRecord):
        ledger.read_run()
    assert path.exists()
    path.write_text('{"schema":2,"phase":"done"}')
    assert ledger.read_run() is None


def test_outbox_parcels_are_read_back_until_they_are_dropped(ledger: Ledger) -> None:
    first, second = Parcel(claim("1" * 32), "/reports/a.log.gz", AT), Parcel(claim("2" * 32), None, AT)
    ledger.put_parcel(second)
    ledger.put_parcel(first)
    assert list(ledger.read_outbox()) == [first, second]
    ledger.drop_parcel(first.run_id)
    ledger.drop_parcel(first.run_id)
    assert list(ledger.read_outbox()) == [second]


def test_damaged_parcel_does_not_hide_the_others(ledger: Ledger, said: list[str]) -> None:
    outbox = Path(ledger.folder) / "outbox"
    ledger.put_parcel(Parcel(claim("2" * 32), None, AT))
    (outbox / f"{'1' * 32}.json").write_text("{")
    (outbox / f"{'3' * 32}.json").write_text('{"schema":2}')
    (outbox / "stranger.txt").write_text("")
    assert [parcel.run_id for parcel in ledger.read_outbox()] == ["2" * 32]
    assert sorted(os.listdir(outbox)) == [
        f"{'1' * 32}.json.bad",
        f"{'2' * 32}.json",
        f"{'3' * 32}.json",
        "stranger.txt",
    ]
    assert len(said) == 2


def put_folder(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


@pytest.mark.parametrize("put", [lambda path: path.symlink_to("/nowhere"), put_folder, os.mkfifo])
def test_record_that_is_no_file_is_set_aside_each_time(
    ledger: Ledger, said: list[str], put: Callable[[Path], None]
) -> None:
    for name in ("run.json", f"outbox/{'1' * 32}.json"):
        for _ in range(2):
            put(Path(ledger.folder) / name)
            assert ledger.read_run() is None
            assert list(ledger.read_outbox()) == []
            assert not os.path.lexists(Path(ledger.folder) / name)
        assert os.path.lexists(Path(ledger.folder) / f"{name}.bad")
    assert len(said) == 4


def test_state_that_is_no_folder_is_set_aside(ledger: Ledger, said: list[str]) -> None:
    folder = Path(ledger.folder)
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("")
    ledger.prepare()
    ledger.write_run(Run(RUNNING, claim()))
    assert ledger.read_run() is not None
    assert folder.with_name(".state.bad").is_file()
    assert len(said) == 1


def test_lock_that_is_no_file_is_set_aside(ledger: Ledger) -> None:
    (Path(ledger.folder) / "lock").mkdir()
    lock = RunLock(ledger.folder)
    assert lock.acquire()
    lock.release()
    assert (Path(ledger.folder) / "lock.bad").is_dir()


def test_delivered_parcel_is_remembered(ledger: Ledger) -> None:
    parcel = Parcel(claim("1" * 32), None, AT, is_delivered=True)
    ledger.put_parcel(parcel)
    assert list(ledger.read_outbox()) == [parcel]


def test_full_disk_still_takes_the_records_of_a_run(small_disk: Callable[..., Path], said: list[str]) -> None:
    disk = small_disk("256k")
    ledger = Ledger(str(disk), said.append)
    ledger.prepare()
    fill(disk)
    run = Run(RUNNING, claim())
    for phase in (CLAIMED, RUNNING, COLLECTED, DONE):
        ledger.write_run(run._replace(phase=phase))
    ledger.put_parcel(Parcel(claim(), None, AT))
    assert ledger.read_run() == run._replace(phase=DONE)
    assert len(list(ledger.read_outbox())) == 1
