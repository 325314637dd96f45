"""`gpureport reasons`: every word has its sentence and its remedy on the terminal."""

import json

from gpureport.cli.main import main
from gpureport.contract.reasons import REASONS


def test_reasons_command_names_every_word_with_its_remedy(capsys) -> None:
    assert main(["reasons"]) == 0
    out = capsys.readouterr().out
    assert [word for word, reason in REASONS.items() if word not in out or reason.remedy not in out] == []


def test_reasons_command_gives_one_word_as_json(capsys) -> None:
    assert main(["reasons", "timeout", "-o", "json"]) == 0
    want = REASONS["timeout"]
    assert json.loads(capsys.readouterr().out) == [
        {"word": "timeout", "sentence": want.sentence, "remedy": want.remedy}
    ]


def test_reasons_command_names_the_words_when_one_is_wrong(capsys) -> None:
    assert main(["reasons", "tmeout"]) == 1
    assert "'tmeout' is no reason; there are disabled," in capsys.readouterr().err
