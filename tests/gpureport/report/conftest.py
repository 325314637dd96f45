"""Reports to judge: small ones built here, and the fixtures that stand in `cases/`."""

import gzip
from functools import partial
from pathlib import Path

import pytest
from isal import isal_zlib

from functions.judging import new_isal_inflater
from gpureport.report.judge import Judge

RULE = b"_" * 44 + b"\n\n"
HEAD = RULE + (
    b"Start of NVIDIA bug report log file.  Please include this file.\n\n"
    b"nvidia-bug-report.sh Version: 37062940\n\n"
    b"Date: Mon Nov 30 09:15:00 UTC 2026\nuname: Linux n1 6.6.72\ncommand line flags: --safe-mode\n\n"
)
FOOTER = RULE + b"End of NVIDIA bug report log file.\n"


def judge_bytes(data, step=1 << 20, **options):
    judge = Judge(**options)
    for start in range(0, len(data), step):
        judge.feed(data[start : start + step])
    return judge.finish()


INFLATERS = {
    "zlib": {},
    "isal": {"new_inflater": new_isal_inflater, "damage": isal_zlib.error},
}


@pytest.fixture(name="judge_bytes", scope="session", params=INFLATERS)
def judge_bytes_in_steps(request):
    """Judge bytes, fed in steps of some size, by each inflater."""
    return partial(judge_bytes, **INFLATERS[request.param])


@pytest.fixture(scope="session")
def pack():
    """Compress texts to one gzip member each."""
    return lambda *texts: b"".join(gzip.compress(text, mtime=0) for text in texts)


@pytest.fixture(scope="session")
def head():
    return HEAD


@pytest.fixture(scope="session")
def footer():
    return FOOTER


@pytest.fixture(scope="session")
def good_report(pack):
    """A whole report of eight members, two of them empty."""
    sections = [RULE + b"*** /proc/driver/nvidia/version\n" + bytes(f"line {n}\n" * 40, "ascii") for n in range(4)]
    return pack(HEAD, b"", *sections, b"", FOOTER)


@pytest.fixture(scope="session")
def cases():
    """The folder of fixtures."""
    return Path(__file__).parent / "cases"
