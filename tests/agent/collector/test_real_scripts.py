"""NVIDIA's own scripts, as root through the launcher: the judge finds their reports whole, and knows their facts."""

import os

import pytest

from agent.collector.host import build_command, build_environment, find_script
from gpureport.contract.endings import Verdict
from gpureport.report.judge import Judge
from infra.parts.catalogue import SCRIPT_535, SCRIPT_550, require

MEMBERS_MIN = 100
SCRIPT_S_MAX = 60.0


@pytest.mark.parametrize("part", [SCRIPT_535, SCRIPT_550])
@pytest.mark.parametrize("safe_mode", [False, True], ids=["normal", "safe-mode"])
def test_report_of_nvidias_script_is_whole(part: str, safe_mode: bool, runner, tmp_path) -> None:
    if os.geteuid() != 0:
        pytest.skip("NVIDIA's script refuses to run without root: run the tests as root")
    script = find_script("/", str(require(part) / "nvidia-bug-report.sh"))
    assert script is not None
    output = tmp_path / "report.log"

    end = runner.run(
        *build_command("/", script, str(output), safe_mode=safe_mode),
        env=build_environment(script, str(tmp_path)),
        timeout_s=SCRIPT_S_MAX,
    )

    assert end.exit_code == 0
    judge = Judge()
    judge.feed(output.with_suffix(".log.gz").read_bytes())
    judgement = judge.finish()
    assert judgement.verdict == Verdict("complete")
    assert judgement.members >= MEMBERS_MIN
    assert judgement.facts["scriptVersion"].isdigit()
    assert ("--safe-mode" in judgement.facts["flags"]) is safe_mode
