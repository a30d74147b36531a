"""`check`, `plan` and `run` refuse the same bodies with the same message."""

from pathlib import Path

import pytest
from conftest import SMALL, TETRAHEDRON, Cli

SEAM = "v 0.4 0.4 0.6000001\n"
FLAWED = {
    "open seam": (TETRAHEDRON.replace("f 2 3 4", f"{SEAM}f 2 3 5"), "", "its surface has no inside"),
    "missing face": (TETRAHEDRON.replace("f 2 3 4\n", ""), "", "its surface has no inside"),
    "turned face": (TETRAHEDRON.replace("f 2 3 4", "f 2 4 3"), "", "'orient = true' does"),
    "no mesh": ("nothing of a mesh\n", "", "bodies.part: "),
    "unknown part": (TETRAHEDRON, 'part = "wheel"\n', "wheel"),
    "outside": (TETRAHEDRON, "translate = [90.0, 0.0, 0.0]\n", "bodies.part: "),
    "too small": (TETRAHEDRON, "scale = 0.05\ntranslate = [3.0, 3.0, 3.0]\n", "bodies.part: "),
}


@pytest.mark.parametrize("command", ["check", "plan", "run"])
@pytest.mark.parametrize("flaw", FLAWED)
def test_body_that_cannot_be_used_is_refused(cli: Cli, tmp_path: Path, flaw: str, command: str) -> None:
    mesh, keys, said = FLAWED[flaw]
    (tmp_path / "part.obj").write_text(mesh)
    keys = keys if "scale" in keys else f"scale = 20.0\n{keys}"
    (tmp_path / "small.toml").write_text(f'{SMALL}\n[bodies.part]\nmesh = "part.obj"\n{keys}')
    result = cli(command, "small.toml")
    assert result.returncode == 2 and said in result.stderr, result.stdout + result.stderr
    assert "Traceback" not in result.stderr and not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["check", "plan"])
def test_closed_body_is_good(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    (tmp_path / "small.toml").write_text(f'{SMALL}\n[bodies.part]\nmesh = "part.obj"\nscale = 20.0\n')
    result = cli(command, "small.toml")
    assert result.returncode == 0, result.stderr
