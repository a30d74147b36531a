"""The build writes stubs of the compiled modules for type checkers and completion."""

import ast
import importlib
from pathlib import Path

import pytest
import slipstream as slip
import slipstream_bench

PACKAGE = Path(slip.__file__).parent
MODULES = {"slipstream._core": PACKAGE, "slipstream_bench._native": Path(slipstream_bench.__file__).parent}


def test_checkers_are_told_that_the_package_has_types() -> None:
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", MODULES)
def test_stubs_have_all_that_the_module_has_and_nothing_else(name: str) -> None:
    # A stub written without the module that binds a class contains the C++ name of the class.
    text = (MODULES[name] / f"{name.rpartition('.')[2]}.pyi").read_text(encoding="utf-8")
    stub = ast.parse(text)
    of_stub = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    importlib.import_module("slipstream._core")  # first, because the other module uses its types
    module = importlib.import_module(name)
    assert of_stub == {each for each in dir(module) if not each.startswith("_")}
    assert "::" not in text
