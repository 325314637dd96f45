"""The collected cases: each a small cluster that somebody met, with the word that is right and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpureport.triage.decoding import decode_nodes, decode_pod, decode_pods
from gpureport.triage.index import Index, Options
from gpureport.triage.verdict import classify

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))

OVERRULED = {
    "C-06": "other",  # a resource claim is a request in another form: it is named, and never called no-request
}


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def build(case: dict[str, Any]) -> Index:
    nodes = decode_nodes(json.dumps(case["nodes"]).encode())
    pods = decode_pods(json.dumps(case["pods"]).encode())
    assert not nodes.unreadable
    assert not pods.unreadable
    return Index.build(nodes.items, pods.items, Options(tuple(case["gpu_resource_names"])))


def test_cases_are_all_here() -> None:
    assert len(CASES) == 53


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_gets_its_word(path: Path) -> None:
    case = load(path)
    want = OVERRULED.get(case["id"], case["expected"])
    pod = decode_pod(json.dumps(case["pod"]).encode())
    assert classify(build(case), pod).word == want, case["why"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_gets_the_same_word_again_from_the_same_index(path: Path) -> None:
    case = load(path)
    index = build(case)
    pod = decode_pod(json.dumps(case["pod"]).encode())
    assert classify(index, pod).word == classify(index, pod).word
