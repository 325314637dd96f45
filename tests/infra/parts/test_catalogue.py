"""What a part that can't be had says, and what stands in for one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.parts.catalogue import CONTROL_PLANE, FAKE_GCS, PARTS, SCRIPT_535, bring, find, require
from infra.parts.commands import CannotBring

Install = Callable[[str, str], None]


@pytest.mark.parametrize("name", PARTS)
def test_part_that_is_not_here_names_the_command_that_brings_it(cache: Path, name: str) -> None:
    assert find(name) is None
    with pytest.raises(CannotBring, match=f"run `make parts PART={name}`"):
        require(name)


def test_machine_without_go_is_told_what_to_install(cache: Path, empty_path: None) -> None:
    with pytest.raises(
        CannotBring, match=r"no go on this machine: install Go 1\.26 or newer, or set KUBEBUILDER_ASSETS"
    ):
        bring(CONTROL_PLANE)
    assert find(CONTROL_PLANE) is None


def test_go_that_is_too_old_is_named(cache: Path, install: Install) -> None:
    install("go", "echo go1.21.4")
    with pytest.raises(CannotBring, match=r"Go is go1\.21\.4: 1\.26 or newer is needed"):
        bring(FAKE_GCS)


def test_failed_build_shows_the_end_of_its_log(cache: Path, install: Install) -> None:
    install("go", 'test "$1" = env && { echo go1.26.8; exit; }\necho "dial tcp: no route to host" >&2; exit 1')
    with pytest.raises(CannotBring, match=r"ended with 1; .*build\.log ends:\n.*no route to host"):
        bring(FAKE_GCS)
    assert find(FAKE_GCS) is None


def test_build_that_makes_nothing_is_no_part(cache: Path, install: Install) -> None:
    install("go", 'test "$1" = env && echo go1.26.8; exit 0')
    with pytest.raises(CannotBring, match="has no fake-gcs-server: remove it and run `make parts` again"):
        bring(FAKE_GCS)
    assert find(FAKE_GCS) is None


def test_machine_without_debian_packages_is_told(cache: Path, empty_path: None) -> None:
    with pytest.raises(CannotBring, match="no dpkg on this machine: these parts come as Debian packages"):
        bring(SCRIPT_535)


def test_machine_whose_apt_knows_no_mirror_is_told(cache: Path, install: Install) -> None:
    install("dpkg", "exit 0")
    install("apt-get", "exit 0")
    with pytest.raises(CannotBring, match="apt knows no Debian mirror on this machine"):
        bring(SCRIPT_535)


def test_folder_of_binaries_is_used_in_place_of_a_build(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    for file in PARTS[CONTROL_PLANE].files[:-1]:
        (assets / file).touch()
    with pytest.raises(CannotBring, match=f"{assets} has no kubectl: KUBEBUILDER_ASSETS is set to it"):
        bring(CONTROL_PLANE)

    (assets / "kubectl").touch()

    assert bring(CONTROL_PLANE) == assets
    assert require(CONTROL_PLANE) == assets
    assert not cache.exists()
