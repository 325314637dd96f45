"""`gpureport triage` and `gpu-triage`: what stands on stdout and stderr, and the exit code."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpureport.cli import gpu_triage
from gpureport.cli.main import main

Saved = Callable[[str], str]
Output = pytest.CaptureFixture[str]
TRIAGE_CASES = sorted((Path(__file__).parents[1] / "triage" / "cases").glob("*.json"))


def connect_to(cluster: Any) -> Callable[..., Any]:
    return lambda *_: cluster


def test_first_line_is_the_word_and_the_rest_explains(saved: Saved, capsys: Output) -> None:
    assert main(["triage", "--objects", saved("C-88"), "-n", "ml", "p"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "exhausted"
    assert out.splitlines()[1].startswith("ml/p: 1 x nvidia.com/gpu asked for")
    assert "other/h" in out
    assert "To do:" in out
    assert "\x1b" not in out
    assert err == ""


def test_stage_table_counts_nodes_and_nodes_with_gpus(saved: Saved, capsys: Output) -> None:
    main(["triage", "--objects", saved("C-88"), "-n", "ml", "p"])
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line}
    stages = ("nodes", "labels", "taints", "capacity", "allocatable", "free")
    assert {stage: rows[stage] for stage in stages} == {
        "nodes": ["3", "3"], "labels": ["2", "2"], "taints": ["1", "1"], "capacity": ["1", "1"],
        "allocatable": ["1", "1"], "free": ["0", "0"],
    }  # fmt: skip


@pytest.mark.parametrize("path", TRIAGE_CASES, ids=lambda path: path.stem[:4])
def test_word_alone_is_the_same_from_a_file_and_from_a_cluster(
    path: Path, saved: Saved, cluster: Callable[[str], Any], capsys: Output
) -> None:
    case_id = path.stem[:4]
    case = json.loads(path.read_text())
    names = [text for name in case["gpu_resource_names"] for text in ("--resource", name)]
    argv = ["triage", "--word", "-n", case["pod"]["metadata"]["namespace"], "p", *names]
    assert main([*argv, "--objects", saved(case_id)]) == 0
    from_file = capsys.readouterr().out
    assert main(argv, connect_to(cluster(case_id))) == 0
    assert capsys.readouterr().out == from_file
    assert len(from_file.split()) == 1


def test_gpu_triage_prints_one_word(saved: Saved, capsys: Output) -> None:
    assert gpu_triage.main(["ml", "p", "--objects", saved("C-88")]) == 0
    assert capsys.readouterr() == ("exhausted\n", "")


def test_absent_pod_is_a_message_and_exit_code_1(saved: Saved, capsys: Output) -> None:
    assert gpu_triage.main(["ml", "nobody", "--objects", saved("C-88")]) == 1
    assert capsys.readouterr() == ("", "gpu-triage: error: Pod ml/nobody not found\n")


def test_absent_pod_is_absent_in_a_cluster_too(cluster: Callable[[str], Any], capsys: Output) -> None:
    assert main(["triage", "nobody"], connect_to(cluster("C-88"))) == 1
    assert "Pod default/nobody not found" in capsys.readouterr().err


def test_pod_of_another_namespace_is_hinted_at(saved: Saved, capsys: Output) -> None:
    assert main(["triage", "--objects", saved("C-88"), "p"]) == 1
    assert "a Pod of that name is in: ml" in capsys.readouterr().err


def test_several_pods_are_lines_of_pod_and_word(saved: Saved, capsys: Output) -> None:
    assert main(["triage", "--objects", saved("C-88"), "-n", "ml", "p", "nobody", "pod/p"]) == 1
    out, err = capsys.readouterr()
    assert out == "p exhausted\np exhausted\n"
    assert "ml/nobody not found" in err


def test_json_has_the_word_the_evidence_and_no_null(saved: Saved, capsys: Output) -> None:
    assert main(["triage", "--objects", saved("C-88"), "-n", "ml", "p", "-o", "json"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    assert (found["word"], found["requested"]) == ("exhausted", {"nvidia.com/gpu": 1})
    assert found["nodes"][0] == {
        "node": "c", "lostAt": "free", "detail": "nvidia.com/gpu: 0 free of 1, 1 asked for",
        "amounts": [
            {"resource": "nvidia.com/gpu", "capacity": 1, "allocatable": 1, "allocated": 1, "requested": 1}
        ],
    }  # fmt: skip
    assert found["holders"][0]["pod"] == "h"
    assert "null" not in text


def test_json_of_several_pods_is_a_list(saved: Saved, capsys: Output) -> None:
    assert main(["triage", "--objects", saved("C-88"), "-n", "ml", "p", "p", "-o", "json"]) == 0
    assert [item["word"] for item in json.loads(capsys.readouterr().out)["items"]] == ["exhausted"] * 2


def test_nodes_and_pods_may_stand_in_two_files(case: Callable[[str], Any], tmp_path: Path, capsys: Output) -> None:
    files = []
    for kind in ("nodes", "pods"):
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps(case("C-66")[kind]))
        files += ["--objects", str(path)]
    assert main(["triage", *files, *files, "-n", "ml", "p", "--word"]) == 0
    assert capsys.readouterr().out == "exhausted\n"


def test_objects_are_read_from_stdin(saved: Saved, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(saved("C-88")).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["triage", "--objects", "-", "-n", "ml", "p", "--word"]) == 0
    assert capsys.readouterr().out == "exhausted\n"


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (None, "No such file"),
        ("", "not a whole JSON object"),
        ('{"kind":"List","items":[{"kind":"No', "not a whole JSON object"),
        ('{"kind":"List","items":[{"kind":"Secret"}]}', "neither Nodes nor Pods but Secret"),
        ('{"kind":"PodList","items":[]}', "no Nodes"),
        ('{"kind":"NodeList","items":[]}', "no Pods"),
        ('{"kind":"List","items":[]}', "no Nodes and no Pods"),
    ],
)
def test_file_that_does_not_serve_is_one_line_with_what_to_do(
    content: str | None, want: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "objects.json"
    if content is not None:
        path.write_text(content)
    assert main(["triage", "--objects", str(path), "p"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert want in err
    assert "kubectl get nodes,pods -A -o json" in err
    assert err.count("\n") == 1


def test_mixed_list_without_nodes_is_a_cluster_without_nodes_and_says_so(saved: Saved, capsys: Output) -> None:
    assert gpu_triage.main(["ml", "p", "--objects", saved("C-58")]) == 0
    out, err = capsys.readouterr()
    assert out == "no-gpu-node\n"
    assert "no Nodes in the objects" in err


def test_folder_instead_of_a_file_is_a_usage_error(tmp_path: Path, capsys: Output) -> None:
    assert main(["triage", "--objects", str(tmp_path), "p"]) == 2
    assert "directory" in capsys.readouterr().err


def test_object_that_cannot_be_read_is_named_and_left_out(
    case: Callable[[str], Any], tmp_path: Path, capsys: Output
) -> None:
    found = case("C-88")
    bad = {"kind": "Pod", "metadata": {"name": "odd", "namespace": "ml"}, "spec": {"containers": 7}}
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"kind": "List", "items": [*found["nodes"]["items"], *found["pods"]["items"], bad]}))
    assert main(["triage", "--objects", str(path), "-n", "ml", "p", "--word"]) == 0
    out, err = capsys.readouterr()
    assert out == "exhausted\n"
    assert "left out: Pod odd" in err


def test_cluster_that_does_not_answer_is_exit_code_5(cluster: Callable[[str], Any], capsys: Output) -> None:
    down = cluster("C-88")
    down.is_down = True
    assert main(["triage", "p"], connect_to(down)) == 5
    assert "connection refused" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["pod", "nodes", "pods"])
def test_cluster_that_refuses_is_exit_code_6_and_names_the_verbs(
    kind: str, cluster: Callable[[str], Any], capsys: Output
) -> None:
    strict = cluster("C-88")
    strict.refuses = {kind}
    assert main(["triage", "-n", "ml", "p"], connect_to(strict)) == 6
    out, err = capsys.readouterr()
    assert out == ""
    assert f"cannot list {kind}" in err
    assert "get and list on pods" in err


@pytest.mark.parametrize(
    ("case_id", "want"), [("C-01", []), ("C-08", []), ("C-30", ["nodes"]), ("C-88", ["nodes", "pods"])]
)
def test_word_costs_no_more_reads_than_it_needs(
    case_id: str, want: list[str], cluster: Callable[[str], Any], capsys: Output
) -> None:
    counted = cluster(case_id)
    assert gpu_triage.main(["ml", "p"], connect_to(counted)) == 0
    assert counted.listed == want


def test_large_cluster_is_read_in_pages(cluster: Callable[[str], Any], capsys: Output) -> None:
    large = cluster("C-88")
    one = large.objects["nodes"][0]
    for number in range(1200):
        large.objects["nodes"].append({**one, "metadata": {"name": f"x{number}", "labels": {}}})
    assert main(["triage", "-n", "ml", "p"], connect_to(large)) == 0
    out = capsys.readouterr().out
    assert "1203" in out
    assert "more nodes)" in out


def test_control_characters_in_names_do_not_reach_the_terminal(
    case: Callable[[str], Any], tmp_path: Path, capsys: Output
) -> None:
    found = case("C-18")
    found["nodes"]["items"][0]["metadata"]["name"] = "evil\x1b[2Jname\n"
    found["pods"]["items"][0]["spec"]["nodeSelector"] = {"a\x1b]0;x\x07": "b\r\nexhausted"}
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"kind": "List", "items": found["nodes"]["items"] + found["pods"]["items"]}))
    main(["triage", "--objects", str(path), "-n", "ml", "p"])
    out = capsys.readouterr().out
    assert not {char for char in out if not char.isprintable()} - {"\n"}


@pytest.mark.parametrize(
    "argv",
    [
        ["triage"], ["triage", ""], ["triage", "a/b"], ["triage", "p", "--word", "-o", "json"], [],
        ["triage", "p", "--objects", "x", "--context", "y"], ["triage", "p", "--kubeconfig", "/nowhere"], ["nope"],
        ["triage", "p" * 254], ["triage", "p", "--obj", "x"],
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(argv: list[str], capsys: Output) -> None:
    try:
        code = main(argv)
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("run", [lambda: main(["triage", "--help"]), lambda: gpu_triage.main(["--help"])])
def test_help_teaches_by_examples(run: Callable[[], int], capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    assert "examples:" in capsys.readouterr().out
