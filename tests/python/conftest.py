"""Shared by all tests: the command line as a subprocess, and small cases."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases"

SMALL = """\
[case]
name = "small"

[grid]
cells = [16, 16, 16]

[physics]
reynolds = 100
lid_speed = 0.1

[walls]
"y+" = { velocity = [1, 0, 0] }

[run]
steps = 40
check_every = 20
"""

#: In the first octant; its edges along the axes are 0.2 long.
TETRAHEDRON = """\
o tetrahedron
v 0.4 0.4 0.4
v 0.6 0.4 0.4
v 0.4 0.6 0.4
v 0.4 0.4 0.6
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""

needs_pyvista = pytest.mark.skipif(
    importlib.util.find_spec("pyvista") is None, reason="PyVista is not installed (tools/setup.sh render)"
)

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `slipstream WORDS` in an empty folder."""

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
        return subprocess.run(
            [sys.executable, "-m", "slipstream", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A good case file that runs in a moment."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
