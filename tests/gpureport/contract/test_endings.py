"""Which status a run ends in: every pair of outcomes with every pair of reasons, written out."""

import pytest

from gpureport.contract.claims import OUTCOMES, RunResult
from gpureport.contract.endings import Verdict, decide_ending, decide_outcome
from gpureport.contract.statuses import COMPLETED, Status, failed

COLUMNS = [
    (None, None),
    (None, "too-large"),
    ("timeout", None),
    ("timeout", "too-large"),
    ("gpu-on-fire", None),
    ("gpu-on-fire", "too-large"),
]
"""The agent's reason (the last one a newer agent's) and the judge's."""

TABLE = {
    ("complete", "complete"): "completed too-large timeout timeout internal too-large",
    ("complete", "partial"): "incomplete too-large incomplete too-large incomplete too-large",
    ("complete", "corrupt"): "corrupt corrupt corrupt corrupt corrupt corrupt",
    ("complete", "none"): "no-report too-large no-report too-large no-report too-large",
    ("partial", "complete"): "incomplete incomplete timeout timeout incomplete incomplete",
    ("partial", "partial"): "incomplete too-large timeout timeout incomplete too-large",
    ("partial", "corrupt"): "corrupt corrupt corrupt corrupt corrupt corrupt",
    ("partial", "none"): "no-report too-large no-report too-large no-report too-large",
    ("corrupt", "complete"): "corrupt corrupt corrupt corrupt corrupt corrupt",
    ("corrupt", "partial"): "corrupt corrupt corrupt corrupt corrupt corrupt",
    ("corrupt", "corrupt"): "corrupt corrupt corrupt corrupt corrupt corrupt",
    ("corrupt", "none"): "no-report too-large no-report too-large no-report too-large",
    ("none", "complete"): "no-report no-report timeout timeout no-report no-report",
    ("none", "partial"): "no-report no-report timeout timeout no-report no-report",
    ("none", "corrupt"): "no-report no-report timeout timeout no-report no-report",
    ("none", "none"): "no-report too-large timeout timeout no-report too-large",
}

CASES = [
    (RunResult(collected, 1, 1.0, agents_reason), Verdict(judged, judges_reason), word)
    for (collected, judged), words in TABLE.items()
    for (agents_reason, judges_reason), word in zip(COLUMNS, words.split(), strict=True)
]


@pytest.mark.parametrize(("result", "verdict", "word"), CASES)
def test_ending_is_the_worse_of_agent_and_archive(result: RunResult, verdict: Verdict, word: str) -> None:
    want = Status(COMPLETED) if word == "completed" else failed(word)

    assert decide_ending(result, verdict) == want


def test_ending_table_has_every_pair_of_outcomes() -> None:
    assert set(TABLE) == {(collected, judged) for collected in OUTCOMES for judged in OUTCOMES}


def test_ending_of_a_second_attempt_is_never_completed() -> None:
    assert decide_ending(RunResult("complete", 2, 1.0), Verdict("complete")) == failed("timeout")


WORSE = ["complete", "partial", "corrupt", "none"]


@pytest.mark.parametrize("collected", WORSE)
@pytest.mark.parametrize("judged", WORSE)
def test_outcome_is_the_worse_of_agent_and_archive(collected: str, judged: str) -> None:
    want = WORSE[max(WORSE.index(collected), WORSE.index(judged))]

    assert decide_outcome(RunResult(collected, 1, 1.0), Verdict(judged)) == want
