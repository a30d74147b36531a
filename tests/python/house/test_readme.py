"""The README describes existing files and options."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_page_is_the_file_in_cases():
    page = re.search(r"<!-- cases/cavity.py -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    assert page == (ROOT / "cases" / "cavity.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "cells, until, ranks",
    [("8", "until=1", 1), ("8", "until=1", 2), pytest.param("64", "until=10", 1, marks=pytest.mark.thorough)],
)
def test_python_page_runs_by_the_command_below_it(tmp_path: Path, cells: str, until: str, ranks: int) -> None:
    page, rest = re.search(r"<!-- cases/cavity.py -->\n```python\n(.*?)```(.*)", README, re.DOTALL).groups()
    assert "`bin/python cases/cavity.py`" in rest.partition("\n## ")[0]
    program = tmp_path / "cavity.py"
    program.write_text(page.replace("64", cells).replace("until=10", until), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHON": sys.executable}
    launcher = f"mpiexec --oversubscribe --bind-to none -n {ranks}".split() if ranks > 1 else []
    done = subprocess.run(
        [*launcher, ROOT / "bin" / "python", program],
        env=environment | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500 if cells == "64" else 60,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^fastest cell: 0\.\d+ cells a step$", done.stdout, re.MULTILINE)
    assert re.search(r"^largest distance from Albensoeder & Kuhlmann: \d+\.", done.stdout, re.MULTILINE)


def test_python_page_has_at_most_15_lines():
    assert len((ROOT / "cases" / "cavity.py").read_text(encoding="utf-8").splitlines()) <= 15


@pytest.mark.parametrize("name", ["own_arrays.cu", "own_arrays.cpp", "gather_scatter.cpp", "transpose.cpp"])
def test_what_a_cpp_program_writes_for_an_exchange_has_at_most_20_lines(name: str) -> None:
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    parts = re.findall(
        r"// The code for Slipstream begins here.\n(.*?)// The code for Slipstream ends here.\n", text, re.DOTALL
    )
    lines = [line.strip() for part in parts for line in part.splitlines()]
    code = [line for line in lines if line and not line.startswith("//")]
    assert 10 < len(code) <= 20
    outside = re.sub(
        r"// The code for Slipstream begins here.\n.*?// The code for Slipstream ends here.\n",
        "",
        text,
        flags=re.DOTALL,
    )
    assert "slip::" not in outside and "slipstream/" not in outside
    statements = [line.partition("//")[0] for line in code]
    assert all(line.count(";") <= 1 or line.startswith("for (") for line in statements)


@pytest.mark.parametrize("name", ["gather_scatter.py", "transpose.py"])
def test_what_a_python_program_writes_for_an_exchange_has_at_most_10_lines(name: str) -> None:
    body = (ROOT / "examples" / name).read_text(encoding="utf-8").partition('"""\n\n')[2]
    lines = [line.strip() for line in body.splitlines()]
    code = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
    assert 5 < len(code) <= 10 and not any(";" in line for line in code)


@pytest.mark.parametrize("name, most", [("stencil.cpp", 30), ("stencil.py", 20)])
def test_a_program_with_a_stencil_of_ones_own_is_as_short_as_the_readme_says(name: str, most: int) -> None:
    assert 10 < len((ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()) <= most


def test_files_that_readme_and_contributing_link_to_exist():
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", ["lbm", "stencil", "dns", "sem", "sem_flow"])
def test_complete_case_of_a_guide_is_the_file_that_it_names(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = next(match for match in re.finditer(r"```toml\n(.*?)```", text, re.DOTALL) if "[case]\n" in match[1])
    case = tomllib.loads(found[1])
    name = case["case"]["name"]
    file = tomllib.loads((ROOT / "cases" / f"{name}.toml").read_text(encoding="utf-8"))
    assert f"{name}.toml" in text[: found.start()]
    left_out = {"variants", "expected", "output"} - case.keys()
    assert case == {table: keys for table, keys in file.items() if table not in left_out}
