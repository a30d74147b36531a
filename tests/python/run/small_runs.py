"""Starts, awaits and ends runs of the small case, for tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import ROOT, SMALL, TETRAHEDRON, Cli
from errors import is_error
from slipstream.base.errors import Fault

#: Arguments of a run without pictures and fields, which take longer than these runs.
PLAIN = ["lbm.precision=f64", "output.pictures=false", "output.fields=false", "machine.backend=host"]
MOMENTS = ["lbm.representation=moments", "lbm.collision=recursive"]
#: Arguments of a run that takes much longer than any test waits.
ENDLESS = "run.steps=400000000"


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results" / "small" / "checkpoints").iterdir())


def name(step: int) -> str:
    return f"checkpoint-{step:012d}.h5"


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Starts `slipstream WORDS` as the head of its own process group."""
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", "slipstream", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_steps(run: subprocess.Popen[str]) -> None:
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("step "):
            return
    raise AssertionError("the run ended before its first step")


def results(folder: Path) -> bytes:
    return (folder / "results" / "small" / "profiles.csv").read_bytes()


def figures(folder: Path) -> dict[str, object]:
    return json.loads((folder / "results" / "small" / "comparison.json").read_text())["run"]


def family(head: int) -> list[int]:
    """Ids of a process and all its descendants; launchers give ranks their own process groups."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            # The parent is searched from the end, because the name may contain spaces; the state and the parent follow
            # it.
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = [head]
    for process in found:
        found += children.get(process, [])
    return found


def kill_at_once(run: subprocess.Popen[str]) -> None:
    """Kills a run and its ranks by SIGKILL, and waits until they have ended."""
    processes = family(run.pid)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    run.communicate()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}/exe").exists() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.01)


def refusal(cli: Cli, code: str | None, *words: str, **facts: object) -> Fault:
    """The fault for which a run of the small case is refused. None as code allows any error code."""
    return is_error(cli("run", "small.toml", *PLAIN, *words), code, **facts)


def with_mesh(folder: Path, area: str = "") -> Path:
    """The small case around a tetrahedron, with its mesh file."""
    folder.mkdir()
    (folder / "part.obj").write_text(TETRAHEDRON)
    body = f'[bodies.part]\nmesh = "part.obj"\nscale = 40\ntranslate = [-12, -12, -12]\n{area}'
    (folder / "small.toml").write_text(f"{SMALL}{body}")
    return folder / "small.toml"


def nudge_a_vertex(folder: Path) -> None:
    """Moves a vertex of the body's mesh file by 0.04 cells, which changes the file's checksum."""
    (folder / "part.obj").write_text(TETRAHEDRON.replace("v 0.6 0.4 0.4", "v 0.601 0.4 0.4"))
