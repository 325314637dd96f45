"""The table of reasons: exactly the words of the contract, each with something to tell people."""

import pytest

from gpureport.contract.reasons import ANY_REASON, REASONS, Reason

WORDS = [
    *("disabled", "interrupted", "timeout", "script-not-found", "script-untrusted", "script-failed", "no-report"),
    *("incomplete", "corrupt", "too-large", "busy", "disk", "spool-full", "driver-not-ready", "upload-failed"),
    *("archive-failed", "crash-loop", "no-agent", "deadline-exceeded", "internal"),
]


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_reason_has_a_sentence_and_a_remedy(reason: Reason) -> None:
    for text in (reason.sentence, reason.remedy):
        assert text.endswith(".")
        assert text[0].isupper()
        assert text.isascii()
        assert len(text) <= 120
    assert reason.sentence != reason.remedy


@pytest.mark.parametrize("word", WORDS)
def test_reason_is_filed_under_its_word_and_can_be_read(word: str) -> None:
    assert REASONS[word].word == word
    assert ANY_REASON.fullmatch(word)


@pytest.mark.parametrize("text", ["", " ", " busy", "busy ", 'a"b', "a\\b", "a\nb", "a\x7f", "é", "x" * 73])
def test_reason_that_would_not_fit_a_status_is_not_read(text: str) -> None:
    assert not ANY_REASON.fullmatch(text)
