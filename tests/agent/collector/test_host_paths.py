"""Links of the host are followed inside the host's root alone."""

import os

import pytest

from agent.collector.host_paths import is_file_on_host, resolve_on_host, to_local


@pytest.fixture
def tree(host_root):
    (host_root / "usr/bin").mkdir(parents=True)
    (host_root / "etc").mkdir()
    (host_root / "usr/bin/tool").write_text("#!/bin/sh\n")
    links = {
        "bin": "usr/bin",
        "etc/absolute": "/usr/bin/tool",
        "etc/relative": "../usr/bin/tool",
        "etc/above": "../../../../usr/bin/tool",
        "etc/chain": "/etc/absolute",
        "etc/circle": "circle",
        "etc/nowhere": "/no/such",
    }
    for name, target in links.items():
        os.symlink(target, host_root / name)
    return str(host_root)


@pytest.mark.parametrize(
    "path",
    ["/usr/bin/tool", "/bin/tool", "/etc/absolute", "/etc/relative", "/etc/above", "/etc/chain", "/usr/./bin//tool"],
)
def test_path_leads_to_the_file_inside_the_root(path, tree):
    assert resolve_on_host(tree, path) == "/usr/bin/tool"
    assert is_file_on_host(tree, path)


@pytest.mark.parametrize("path", ["/etc/circle", "/etc/nowhere", "/no/such", "/usr/bin/tool/below"])
def test_path_that_leads_nowhere_is_none(path, tree):
    assert resolve_on_host(tree, path) is None


def test_folder_is_no_file(tree):
    assert not is_file_on_host(tree, "/usr/bin")


@pytest.mark.parametrize(
    ("root", "want"), [("/root", "/root/a/b"), ("/root/", "/root/a/b"), ("/", "/a/b"), ("", "/a/b")]
)
def test_local_path_stands_below_the_root(root, want):
    assert to_local(root, "/a/b") == want


def test_relative_path_of_the_host_is_refused():
    with pytest.raises(ValueError, match="absolute"):
        to_local("/root", "a/b")
