"""The names that `dir` and completion list for public modules."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "module, some",
    [
        ("slipstream", "Exchange"),
        ("slipstream.dns", "Statistics"),
        ("slipstream.fft", "Plan"),
        ("slipstream.lbm", "Simulation"),
        ("slipstream.sem", "Flow"),
    ],
)
def test_dir_lists_what_users_call_and_nothing_else(module: str, some: str) -> None:
    found = importlib.import_module(module)
    assert some in dir(found) and dir(found) == sorted(found.__all__)


def test_every_listed_name_can_be_had() -> None:
    # The program runs in a separate process, because modules that are imported already would be found in any case.
    program = """
import slipstream as slip
for module in (slip, slip.dns, slip.fft, slip.lbm, slip.sem):
    for name in dir(module):
        getattr(module, name)
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""


@pytest.mark.parametrize("module", ["slipstream", "slipstream.dns", "slipstream.lbm", "slipstream.sem"])
def test_type_checkers_know_where_every_listed_name_comes_from(module: str) -> None:
    # Type checkers give every name unknown to them the type of `__getattr__`, and thus miss errors.
    found = importlib.import_module(module)
    assert found.__file__ is not None
    tree = ast.parse(Path(found.__file__).read_text(encoding="utf-8"))
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    declared = [ast.unparse(node.target) for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    assert set(found.__all__) <= {*imported, *declared}
