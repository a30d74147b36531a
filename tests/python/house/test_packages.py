"""The lists of Python packages agree: set-up, pip, and the kit for GPU machines."""

import re
import subprocess
import tomllib

import pytest
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def listed(purpose: str) -> list[str]:
    lines = (ROOT / "tools" / "python-packages.txt").read_text().splitlines()
    split = [line.partition("#") for line in lines]
    return sorted(requirement.strip() for requirement, _, what in split if requirement and what.strip() == purpose)


def test_set_up_installs_what_the_package_runs_with() -> None:
    assert listed("run") == sorted(PROJECT["project"]["dependencies"])


def test_set_up_installs_what_the_tests_need() -> None:
    assert listed("test") == sorted(PROJECT["project"]["optional-dependencies"]["test"])


def test_set_up_installs_what_pictures_in_three_dimensions_need() -> None:
    assert listed("render") == sorted(PROJECT["project"]["optional-dependencies"]["render"])


def test_set_up_installs_what_the_build_needs() -> None:
    # scikit-build-core is not listed, because only pip needs it and fetches it itself.
    assert listed("build") == sorted(set(PROJECT["build-system"]["requires"]) - {"scikit-build-core>=0.10"})


def test_the_kit_of_the_gpu_machine_holds_what_that_machine_may_lack() -> None:
    packages = re.search(r"packages=\(([^)]*)\)", (ROOT / "tools" / "gpu_kit.sh").read_text())
    assert packages
    needed = {re.split("[<>=]", requirement)[0] for what in ("run", "build", "test") for requirement in listed(what)}
    there_already = {"numpy", "matplotlib", "pytest", "h5py"}
    assert needed - there_already <= set(packages[1].split())


def test_no_file_of_the_package_or_its_tests_is_ignored() -> None:
    # Wheels and ruff omit files that .gitignore matches.
    files = [str(path.relative_to(ROOT)) for top in ("python", "tests") for path in (ROOT / top).rglob("*.py")]
    found = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=ROOT,
        input="\n".join(files),
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == 128:
        pytest.skip("needs a git checkout")
    assert files and found.stdout == ""
    assert all(pattern.startswith("/") for pattern in PROJECT["tool"]["scikit-build"]["sdist"]["exclude"])


def test_citation_and_changes_have_the_version_of_the_build() -> None:
    version = re.search(r"project\(slipstream VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    cited = re.search(r"^version: (\S+)\ndate-released: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert version and cited and newest
    assert cited.groups() == newest.groups() and cited[1] == version[1]
