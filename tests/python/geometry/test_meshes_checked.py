"""`check`, `plan` and `run` refuse the same bodies with the same error."""

from pathlib import Path

import pytest
from conftest import SMALL, TETRAHEDRON, Cli, is_one_error

SEAM = "v 0.4 0.4 0.6000001\n"
#: Flawed meshes: text, keys of the body, and the code and facts of the error.
FLAWED: dict[str, tuple[str, str, str, dict[str, object]]] = {
    "open seam": (TETRAHEDRON.replace("f 2 3 4", f"{SEAM}f 2 3 5"), "", "unsupported", {"open_edges": 4}),
    "missing face": (TETRAHEDRON.replace("f 2 3 4\n", ""), "", "unsupported", {"open_edges": 3}),
    "turned face": (TETRAHEDRON.replace("f 2 3 4", "f 2 4 3"), "", "unsupported", {"open_edges": 0, "turned_edges": 3}),
    "no mesh": ("nothing of a mesh\n", "", "bad_file", {"file": "part.obj", "triangles": 0}),
    "unknown part": (TETRAHEDRON, 'part = "wheel"\n', "not_found", {"part": "wheel"}),
    "outside": (TETRAHEDRON, "translate = [90.0, 0.0, 0.0]\n", "unsupported", {"body": "part", "axis": "x"}),
    "too small": (TETRAHEDRON, "scale = 0.05\ntranslate = [3.0, 3.0, 3.0]\n", "unsupported", {"scale": 100}),
}


@pytest.mark.parametrize("command", ["check", "plan", "run"])
@pytest.mark.parametrize("flaw", FLAWED)
def test_body_that_cannot_be_used_is_refused(cli: Cli, tmp_path: Path, flaw: str, command: str) -> None:
    mesh, keys, code, facts = FLAWED[flaw]
    (tmp_path / "part.obj").write_text(mesh)
    keys = keys if "scale" in keys else f"scale = 20.0\n{keys}"
    (tmp_path / "small.toml").write_text(f'{SMALL}\n[bodies.part]\nmesh = "part.obj"\n{keys}')
    result = cli(command, "small.toml")
    is_one_error(result, tmp_path, code, **facts)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_closed_body_is_good(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    (tmp_path / "small.toml").write_text(f'{SMALL}\n[bodies.part]\nmesh = "part.obj"\nscale = 20.0\n')
    result = cli(command, "small.toml")
    assert result.returncode == 0, result.stderr
