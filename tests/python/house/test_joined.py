"""cmake/joined.cmake joins sources into fewer units of compilation."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake on the path")


def joined(tree: Path, call: str) -> list[str]:
    """Value of the list RESULT after a CMake call, with paths relative to the tree."""
    script = tree / "script.cmake"
    script.write_text(
        f"""set(PROJECT_SOURCE_DIR {tree})
set(CMAKE_CURRENT_SOURCE_DIR {tree})
set(SLIPSTREAM_JOINED_FOLDER {tree}/joined)
include({ROOT}/cmake/joined.cmake)
{call}
file(WRITE {tree}/result "${{RESULT}}")
"""
    )
    subprocess.run(["cmake", "-P", script], check=True, cwd=tree)
    return [os.path.relpath(tree / path, tree) for path in (tree / "result").read_text().split(";")]


def included(file: Path) -> list[str]:
    return [line.split('"')[1] for line in file.read_text().splitlines()]


def test_sources_are_included_by_paths_from_their_folder(tmp_path: Path) -> None:
    call = f"slipstream_join(RESULT grid/all src/grid/box.cpp {tmp_path}/tests/unit/grid/box_test.cpp)"
    assert joined(tmp_path, call) == ["joined/grid/all.cpp"]
    assert included(tmp_path / "joined/grid/all.cpp") == ["grid/box.cpp", "unit/grid/box_test.cpp"]


def test_source_alone_is_its_own_file(tmp_path: Path) -> None:
    assert joined(tmp_path, "slipstream_join(RESULT grid src/grid/box.cpp)") == ["src/grid/box.cpp"]
    assert not (tmp_path / "joined").exists()


def test_file_of_the_same_sources_is_left_as_it_is(tmp_path: Path) -> None:
    written = tmp_path / "joined/grid.cpp"
    joined(tmp_path, "slipstream_join(RESULT grid src/a.cpp src/b.cpp)")
    os.utime(written, (1, 1))
    joined(tmp_path, "slipstream_join(RESULT grid src/a.cpp src/b.cpp)")
    assert written.stat().st_mtime == 1
    joined(tmp_path, "slipstream_join(RESULT grid src/a.cpp src/c.cpp)")
    assert included(written) == ["a.cpp", "c.cpp"]


def test_rooms_are_joined_in_even_parts_with_kernels_apart(tmp_path: Path) -> None:
    plain = [f"tests/unit/grid/{letter}.cpp" for letter in "abcde"]
    others = ["tests/unit/grid/a_kernels.cpp", "tests/unit/grid/b_kernels.cpp", "tests/unit/grid/halo/a.cpp"]
    assert joined(tmp_path, f"slipstream_join_rooms(RESULT 3 {' '.join(plain + others)})") == [
        "joined/unit/grid_1.cpp",
        "joined/unit/grid_2.cpp",
        "joined/unit/grid_1_kernels.cpp",
        "tests/unit/grid/halo/a.cpp",
    ]
    parts = [included(tmp_path / f"joined/unit/grid_{n}.cpp") for n in (1, 2)]
    assert parts == [["unit/grid/a.cpp", "unit/grid/b.cpp"], ["unit/grid/c.cpp", "unit/grid/d.cpp", "unit/grid/e.cpp"]]
