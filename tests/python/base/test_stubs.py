"""The build writes stubs of the compiled modules for type checkers and completion."""

import ast
import importlib
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
import slipstream as slip
import slipstream_bench
from conftest import ROOT

PACKAGE = Path(slip.__file__).parent
FOLDERS = {"slipstream": PACKAGE, "slipstream_bench": Path(slipstream_bench.__file__).parent}
PARTS = ("collective", "core", "dns", "fft", "gather_scatter", "lbm", "sem", "stencil")
MODULES = [*(f"slipstream._{part}" for part in PARTS), "slipstream_bench._native"]


def told(body: list[ast.stmt]) -> set[str]:
    """Public names that a stub declares for a module or a class."""
    names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names += [ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)]
    names += [ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)]
    return public(names)


def public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_checkers_are_told_that_the_package_has_types() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_every_compiled_module_has_a_stub_that_mypy_reads() -> None:
    built = {f"{name}.{path.name.split('.')[0]}" for name, folder in FOLDERS.items() for path in folder.glob("_*.so")}
    assert built == set(MODULES)
    with (ROOT / "pyproject.toml").open("rb") as file:
        mypy = tomllib.load(file)["tool"]["mypy"]
    assert {"python/slipstream", "bench/slipstream_bench/_native.pyi"} <= set(mypy["files"])
    loosened = [set(each["module"]) for each in mypy["overrides"] if each.get("disallow_any_generics") is False]
    assert loosened == [set(MODULES)]


@pytest.mark.parametrize("name", MODULES)
def test_stubs_have_all_that_the_module_has_and_nothing_else(name: str) -> None:
    # A stub written without the module that binds a class contains the C++ name of the class.
    folder, _, own = name.partition(".")
    text = (FOLDERS[folder] / f"{own}.pyi").read_text(encoding="utf-8")
    assert "::" not in text
    stub = ast.parse(text)
    for part in PARTS:  # imports all modules, because they bind the classes of arguments
        importlib.import_module(f"slipstream._{part}")
    module = importlib.import_module(name)
    assert told(stub.body) == public(dir(module))
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            assert told(node.body) == public(vars(getattr(module, node.name))), node.name
