"""Benchmarks exist only in bench/ of a source tree; an installed package reports that."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import slipstream as slip
from conftest import ROOT, Cli, is_one_error
from errors import Done
from slipstream.base import registry
from slipstream_bench.timed import timed

PACKAGE = ROOT / "python" / "slipstream"


def python(folder: Path, package: Path, *words: str) -> Done:
    """Runs Python with the package in one folder, without benchmarks on the path."""
    told = folder / "errors"
    told.touch()
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(package), "SLIPSTREAM_ERRORS": str(told)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done.with_errors(done, told)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as in a wheel, without the compiled module, which these tests do not need."""
    folder = tmp_path_factory.mktemp("site-packages")
    shutil.copytree(PACKAGE, folder / "slipstream", ignore=shutil.ignore_patterns("*.so", "*.pyi", "__pycache__"))
    information = folder / f"slipstream-{slip.__version__}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: slipstream\nVersion: {slip.__version__}\n")
    return folder


@pytest.mark.parametrize("words", [[], ["--help"], ["lbm", "--cells", "8"], ["nothing"]])
def test_installed_package_says_where_benchmarks_can_be_run(installed: Path, tmp_path: Path, words: list[str]) -> None:
    result = python(tmp_path, installed, "-m", "slipstream", "bench", *words)
    is_one_error(result, tmp_path, "unavailable")
    assert "`bin/slipstream bench`" in result.stderr and "`make build`" in result.stderr and not result.stdout


def test_installed_package_has_its_other_commands(installed: Path, tmp_path: Path) -> None:
    result = python(tmp_path, installed, "-m", "slipstream", "check", str(ROOT / "cases" / "cavity.toml"))
    assert result.returncode == 0, result.stderr


def test_benchmarks_are_found_beside_the_package_when_they_are_asked_for(tmp_path: Path) -> None:
    program = """
import sys
from slipstream.cli.parser import parse
def there():
    return "slipstream_bench" in sys.modules or any(path.endswith("bench") for path in sys.path)
before = there()
parse(["run", "case.toml"])
print(before, there(), parse(["bench", "lbm", "--cells", "8"]).benchmark, there())
"""
    result = python(tmp_path, PACKAGE.parent, "-c", program)
    assert result.stdout.split() == ["False", "False", "lbm", "True"], result.stderr


def test_the_package_names_benchmarks_in_its_registry_alone() -> None:
    naming = [path for path in PACKAGE.rglob("*.py") if "slipstream_bench" in path.read_text(encoding="utf-8")]
    assert naming == [PACKAGE / "base" / "registry.py"]
    assert Path(registry.benchmarks("record").__file__) == ROOT / "bench" / "slipstream_bench" / "record.py"


def test_what_is_not_built_is_one_error(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed.cache_clear()
    monkeypatch.setitem(sys.modules, "slipstream_bench._native", None)
    result = cli("bench", "allreduce", "--backend", "host")
    is_one_error(result, tmp_path, "unavailable")
    assert "`make build`" in result.stderr
