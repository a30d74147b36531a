"""The compiled core formats numbers with a decimal point in any locale."""

import locale
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PROGRAM = """
import json, locale, sys
from pathlib import Path
from slipstream.base.core import core, own_process, part
own_process()
said = {}
def error(name, work):
    try:
        work()
    except Exception as problem:
        said[name] = str(problem)
machine = core().Machine.discover("host", devices_per_rank=2)
name = sys.argv[1]
locale.setlocale(locale.LC_NUMERIC, name)
assert locale.localeconv()["decimal_point"] == ("." if name == "C" else ",")
def fast():
    flow = part("dns").Dns(machine, {"cells": (8, 8, 8), "viscosity": 0.5, "time_step": 12.5})
    flow.taylor_green()
    flow.check_time_step()
error("dns", fast)
heat = {"cells": (8, 8, 8), "spacing": 0.25, "time_step": 7.5, "diffusivity": 0.5}
error("stencil", lambda: part("stencil").Stencil.plan(machine, heat))
error("solver", lambda: part("stencil").Stencil(machine, heat))
box = core().Mesh.box((0.5, 0.5, 0.5), (1.5, 1.5, 1.5))
error("domain", lambda: box.require_inside("box", 0.25, (2, 2, 2), "m"))
error("throttle", lambda: part("stencil").Stencil(machine, heat | {"time_step": 0.01, "throttle": "0.5 GB"}))
assert locale.localeconv()["decimal_point"] == ("." if name == "C" else ",")
trace = core().Trace()
solver = part("stencil").Stencil(machine, heat | {"time_step": 0.01}, trace)
solver.advance(2)
Path("trace").mkdir(exist_ok=True)
trace.write("trace")
json.loads(Path("trace/rank0.json").read_text())
print(json.dumps(said))
"""


def with_comma(folder: Path) -> dict[str, str]:
    """Environment variables of a locale with a decimal comma; creates the locale if needed."""
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        before = locale.setlocale(locale.LC_NUMERIC)
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        locale.setlocale(locale.LC_NUMERIC, before)
        return {"NAME": name}
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")], check=False, capture_output=True
    )
    if not made or made.returncode > 1 or not (folder / "de_DE.UTF-8").exists():
        pytest.skip("no locale with a decimal comma is installed")
    return {"NAME": "de_DE.UTF-8", "LOCPATH": str(folder)}


def said_in(folder: Path, name: str, environment: dict[str, str]) -> str:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_messages_and_traces_are_the_same_where_numbers_have_a_comma(tmp_path: Path) -> None:
    environment = with_comma(tmp_path)
    usual = said_in(tmp_path, "C", {})
    assert "12.5" in usual and "7.5" in usual
    assert said_in(tmp_path, environment["NAME"], environment) == usual
