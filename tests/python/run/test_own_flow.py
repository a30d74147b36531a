"""The commands and files of docs/own_flow.md do what the page says, in their order, from an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = (ROOT / "docs" / "own_flow.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Replacements in the commands of docs/own_flow.md that shorten its runs for the quick test.
SHORTER = {"time = 20 ": "time = 2 ", "run.time=25": "run.time=2.5", "until=5": "until=0.5"}


def script(page: str) -> str:
    """The files and commands of docs/own_flow.md as a shell script. A file's name is in backticks before its block."""
    parts = []
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        if language == "sh":
            parts.append(text.replace("~/slipstream/bin", str(ROOT / "bin")))
        else:
            name = re.findall(r"`(\w+\.(?:py|toml))`", page[: block.start()])[-1]
            parts.append(f"cat >{name} <<'END OF FILE'\n{text}END OF FILE\n")
    return "".join(parts)


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_page_leads_from_an_empty_folder_to_the_drag_of_a_body(tmp_path: Path, quick: bool) -> None:
    text = script(PAGE)
    assert text.count("END OF FILE\n") == 5
    for long, short in SHORTER.items() if quick else ():
        assert text.count(long) == 1
        text = text.replace(long, short)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=tmp_path,
        env=environment
        | {"PYTHON": sys.executable, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
        | {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True,
        text=True,
        timeout=400 if quick else 1500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    forces, coefficients = (
        [float(value) for value in re.findall(rf"^{re.escape(name)} (\S+)$", done.stdout, re.MULTILINE)]
        for name in ("spindle force x (N)", "spindle coefficient x")
    )
    # Forces satisfy F = C rho U^2 A / 2, before and after the restart.
    assert len(forces) == 2 and forces == pytest.approx(
        [c * 870 * 0.02**2 * 0.0012566 / 2 for c in coefficients], rel=1e-6
    )
    wake = [float(value) for value in re.findall(r"^x = 0\.\d\d m: (\S+) m/s$", done.stdout, re.MULTILINE)]
    # velocities in the wake, below that of the stream, 0.02
    assert len(wake) == 4 and 0 < wake[0] < wake[1] < wake[3] < 0.021
    alone, on_two_ranks = re.findall(r"^drag (\S+) N$", done.stdout, re.MULTILINE)
    assert alone == on_two_ranks
    made = tmp_path / "spindle" / "results" / "spindle"
    assert (made / "report.html").is_file() and len(list((made / "pictures").glob("*.png"))) >= 3
    if not quick:  # a sphere has a drag coefficient of 1.8 at this Reynolds number (Clift, Grace & Weber 1978)
        assert 1.4 < coefficients[1] < 2.2 and wake == sorted(wake)
