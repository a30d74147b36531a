"""Compiled modules and libraries that are missing or from another build: one error that names the command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import slipstream as slip
from conftest import ROOT, SMALL
from slipstream.base.core import core

PACKAGE = Path(slip.__file__).parent
#: A flow whose kernels are not in the main lattice Boltzmann library.
RARE = 'lbm.precision="f64"'


def fault_of(words: Iterable[str], cwd: Path, **environment: str) -> dict[str, Any]:
    """The only fault that a failing command line reports."""
    told = cwd / "told"
    done = subprocess.run(
        [sys.executable, "-m", "slipstream", *words],
        cwd=cwd,
        env=os.environ | {"SLIPSTREAM_ERRORS": str(told)} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    (line,) = told.read_text(encoding="utf-8").splitlines()
    (fault,) = json.loads(line)["faults"]
    assert fault["facts"]["command"] == "make build", fault
    return dict(fault)


def libraries() -> Path:
    """The folder of the libraries loaded in this process."""
    core()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return next(Path(line.split()[-1]).parent for line in maps if line.endswith("/libslipstream.so"))


def package_without(folder: Path, module: str) -> Path:
    """A folder with the package, without one compiled module."""
    package = folder / "slipstream"
    package.mkdir()
    for path in PACKAGE.iterdir():
        if not path.name.startswith(f"{module}."):
            (package / path.name).symlink_to(path)
    # A package in a source tree reads its version from CMakeLists.txt in the root of the project.
    (folder.parent / "CMakeLists.txt").write_bytes((ROOT / "CMakeLists.txt").read_bytes())
    return folder


def first(folder: Path) -> str:
    """Value of PYTHONPATH that puts a folder before all others."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


@pytest.mark.parametrize(
    ("module", "case"),
    [
        ("_dns", "dns_taylor_green"),
        ("_stencil", "heat"),
        ("_sem", "poisson_sem"),
        ("_lbm", "cavity"),
        ("_core", "cavity"),
    ],
)
def test_module_that_is_not_built_is_an_error(tmp_path: Path, module: str, case: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    found = fault_of(
        ["plan", str(ROOT / "cases" / f"{case}.toml")], tmp_path, PYTHONPATH=first(package_without(tree, module))
    )
    assert (found["code"], found["facts"]["part"]) == ("unavailable", module[1:])


def test_engine_that_is_not_built_is_an_error_of_every_call(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    program = """
import slipstream as slip
calls = (
    lambda: slip.world(),
    lambda: slip.Grid((8, 8, 8)),
    lambda: slip.lbm.Simulation(cells=(8, 8, 8), reynolds=10),
)
for call in calls:
    try:
        call()
    except slip.CaseError as error:
        print(error.code, error.facts["part"], error.facts["command"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": first(package_without(tree, "_core"))},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["unavailable core make build"] * 3, done.stderr


def test_other_modules_do_without_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "slipstream", "plan", str(ROOT / "cases" / "cavity.toml")],
        env=os.environ | {"PYTHONPATH": first(package_without(tree, "_dns"))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, for a library of another build")
def test_library_of_another_build_is_an_error(tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    text = 'const char* slipstream_dns_build(void) { return "0.0.9-elsewhere"; }'
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", other], input=text, text=True, check=True)
    found = fault_of(["plan", str(ROOT / "cases" / "dns_taylor_green.toml")], tmp_path, LD_PRELOAD=str(other))
    assert (found["code"], found["facts"]["part"]) == ("version", "dns")


def test_rare_kernels_that_are_not_built_are_an_error(tmp_path: Path) -> None:
    for path in libraries().glob("libslipstream*.so"):
        if path.name != "libslipstream_lbm_variants.so":
            shutil.copy(path, tmp_path)
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    beside = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("LD_LIBRARY_PATH")]))
    found = fault_of(["run", "small.toml", RARE, "machine.backend=host"], tmp_path, LD_LIBRARY_PATH=beside)
    assert (found["code"], found["facts"]["part"]) == ("unavailable", "lbm_variants")


def test_common_kernels_do_without_the_rare_ones() -> None:
    program = """
import slipstream as slip
flow = slip.lbm.Simulation(cells=(8, 8, 8), reynolds=10, backend="host")
flow.run(2)
loaded = open("/proc/self/maps").read()
assert "libslipstream_lbm.so" in loaded
assert "lbm_variants" not in loaded
assert "libslipstream_dns" not in loaded and "libslipstream_fft" not in loaded and "_bench" not in loaded
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
