"""Fixtures for all tests: the command line as a subprocess, and small cases."""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from errors import Done, is_error
from slipstream.base import failure
from slipstream.base.core import core, own_process
from slipstream.cli import errors
from slipstream.cli.main import main
from slipstream.run import meter

# SIGINT and SIGHUP are restored: background jobs of a shell ignore SIGINT, those of nohup SIGHUP, and child processes
# would inherit this.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# The width of the terminal is removed, because tables must have the width for a pipe.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases"


def backend_of(count: int) -> list[str]:
    """Arguments for a run with these devices per rank: on the host backend, unless there are enough GPUs."""
    return ["machine.backend=host"] if 0 < core().device_count("cuda") < count else []


SMALL = """\
[case]
name = "small"

[grid]
cells = [16, 16, 16]

[physics]
reynolds = 100
reference_velocity = 0.1

[walls]
"y+" = { velocity = [1, 0, 0] }

[run]
steps = 40
check_every = 20
"""

#: Text of a mesh: a tetrahedron in the first octant with three edges of 0.2 along the axes.
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

Cli = Callable[..., Done]

#: Commands that run in the process of the test, because starting a process takes a second.
HERE = {"bench", "cases", "check", "info", "plan", "plot", "report", "run", "topo", "trace"}


own_process()
_copy_bandwidth = core().copy_bandwidth


def _brief_look(backend: str, size: int, seconds: float, index: int) -> float:
    """Measures a copy rate briefly, because tests need a measured rate, not an accurate one."""
    return float(_copy_bandwidth(backend, min(size, 4_000_000), min(seconds, 0.003), index))


def _path() -> str:
    """PYTHONPATH of other processes."""
    return os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))


def _new_file() -> Path:
    """An empty file outside of the folders that tests inspect."""
    descriptor, name = tempfile.mkstemp(prefix="slipstream-errors-")
    os.close(descriptor)
    return Path(name)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs `slipstream WORDS` in an empty folder, in this process."""

    def call(*words: str) -> Done:
        capfd.readouterr()
        with monkeypatch.context() as change:
            change.chdir(tmp_path)
            change.setattr(sys, "argv", ["slipstream", *words])
            change.setattr(core(), "copy_bandwidth", _brief_look)
            change.setenv("PYTHONPATH", _path())  # where ranks started by `-n` find the modules
            # `slipstream check` and `slipstream plan` time steps to predict a run's duration; here they time few.
            if words and words[0] in ("check", "plan"):
                change.setattr(meter, "SECONDS", 0.02)
                change.setattr(meter, "STEPS", 3)
            # end_all_ranks() is replaced, because the real function would end pytest.
            change.setattr(failure, "end_all_ranks", lambda *_: None)
            change.setenv(errors.FILE, str(said_there := _new_file()))
            try:
                code = main(words)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
        said = capfd.readouterr()
        return Done.with_errors(subprocess.CompletedProcess(words, code, said.out, said.err), said_there)

    return call


@pytest.fixture
def cli(tmp_path: Path, here: Cli) -> Cli:
    """Runs `slipstream WORDS` in an empty folder, in this process. Runs with changed environment variables get a
    process of their own, and so does each rank of runs with the option -n RANKS. Pictures take longer than runs, so
    they are off unless the arguments mention them.
    """

    def call(*words: str, **environment: str) -> Done:
        if words[0] == "run" and not any(word.startswith("output.pictures") for word in words):
            words = (*words, "output.pictures=false")
        if words[0] in HERE and not environment:
            return here(*words)
        return command(tmp_path, *words, **environment)

    return call


def words(text: str) -> str:
    """Text with normalised white space, independent of the terminal width."""
    return " ".join(text.split())


def is_one_error(result: Done, folder: Path, code: str | None, **facts: object) -> None:
    """Checks that a mistake of the user ends with one message and exit code 2, and leaves no results in the folder."""
    is_error(result, code, **facts)
    assert not (folder / "results").exists()


def command(folder: Path, *words: str, **environment: str) -> Done:
    """Runs `slipstream WORDS` in a folder, in a separate process."""
    said_there = _new_file()
    done = subprocess.run(
        [sys.executable, "-m", "slipstream", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": _path(), errors.FILE: str(said_there)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done.with_errors(done, said_there)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A valid case file that runs quickly."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
