"""slipstream cases: lists what comes with the program, and copies it to where the user works."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from conftest import CASES, ROOT, Cli
from errors import is_error
from slipstream.cli import shipped


def test_cases_are_listed_with_their_descriptions(here: Cli) -> None:
    done = here("cases")
    assert done.returncode == 0
    names = [path.stem for path in CASES.glob("*.toml")]
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert len(names) > 20 and set(names) <= listed
    assert "Schaefer & Turek 2D-1" in done.stdout


def test_a_case_is_copied_with_its_mesh_and_can_be_checked(here: Cli, tmp_path: Path) -> None:
    assert here("cases", "car", "cavity").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["car.obj", "car.toml", "cavity.toml"]
    assert (tmp_path / "car.toml").read_bytes() == (CASES / "car.toml").read_bytes()
    assert here("check", "car.toml").returncode == 0


def test_every_mesh_of_a_case_is_found() -> None:
    for path in CASES.glob("*.toml"):
        bodies = tomllib.loads(path.read_text()).get("bodies", {}).values()
        assert [mesh.name for mesh in shipped.files(path.stem)[1:]] == [
            body["mesh"] for body in bodies if "mesh" in body
        ]


def test_a_wheel_has_all_files_of_the_cases_where_the_command_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = re.search(
        r"install\(DIRECTORY \S+/cases DESTINATION slipstream (.*)\)", (ROOT / "src/api/CMakeLists.txt").read_text()
    )
    assert rule
    patterns = re.findall(r'PATTERN "\*(\.\w+)"', rule[1])
    assert {path.suffix for case in CASES.glob("*.toml") for path in shipped.files(case.stem)} == set(patterns)
    package = tmp_path / "site-packages" / "slipstream"
    shutil.copytree(CASES, package / "cases")
    monkeypatch.setattr(shipped, "_PACKAGE", package)
    assert shipped.folder() == package / "cases"


def test_a_file_that_exists_is_not_overwritten(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "car.obj").write_text("mine")
    is_error(here("cases", "car"), "wrong_state", file="car.obj")
    assert (tmp_path / "car.obj").read_text() == "mine" and not (tmp_path / "car.toml").exists()


def test_a_name_that_no_case_has_is_told_the_nearest(here: Cli) -> None:
    is_error(here("cases", "cylindre"), "not_found", given="cylindre", nearest="cylinder")
