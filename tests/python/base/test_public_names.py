"""The names that `dir`, and so completion, shows of the modules that users import."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module, some", [("slipstream", "Exchange"), ("slipstream.lbm", "Simulation"), ("slipstream.fft", "Plan")]
)
def test_dir_lists_what_users_call_and_nothing_else(module: str, some: str) -> None:
    found = importlib.import_module(module)
    assert some in dir(found) and dir(found) == sorted(found.__all__)


def test_every_listed_name_can_be_had() -> None:
    # In a process of its own, for the modules that this one has imported would be found in any case.
    program = "import slipstream as slip\nfor name in dir(slip): getattr(slip, name)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""
