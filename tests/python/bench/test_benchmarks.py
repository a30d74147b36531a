"""`slipstream bench`: each benchmark has its own command line, and the commands in result files still parse."""

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from errors import raises
from rich.console import Console
from slipstream.base.errors import CaseError
from slipstream.cli import main
from slipstream.machine import start
from slipstream_bench import record, registry, stencil
from slipstream_bench.lbm import updates
from slipstream_bench.registry import BENCHMARKS


def test_every_module_of_a_benchmark_is_in_the_table() -> None:
    modules = [registry.module(name) for name in BENCHMARKS]
    files = Path(registry.__file__).parent.rglob("*.py")
    benchmarks = {path for path in files if "\ndef run(arguments: argparse.Namespace," in path.read_text()}
    assert {Path(module.__file__) for module in modules} == benchmarks
    for module in modules:
        assert callable(module.add_options) and callable(module.run)


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_list_has_a_line_for_each_benchmark(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["bench", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, what in BENCHMARKS.items():
        assert [line.split(maxsplit=1) for line in lines].count([name, what]) == 1


@pytest.mark.parametrize(
    ("name", "own", "foreign"),
    [
        ("lbm", ["--streaming", "--grid", "--experiment"], ["--sizes", "--quick", "--label"]),
        ("exchange", ["--sizes", "--part", "--routes"], ["--precision", "--cells", "--label"]),
        ("lbm_methods", ["--precision", "--threads"], ["--lattice", "--devices", "--experiment"]),
    ],
)
def test_help_shows_the_options_of_its_benchmark(
    name: str, own: list[str], foreign: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["bench", name, "--help"])
    shown = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert ended.value.code == 0 and shown >= {*own, "--backend", "--folder", "--no-write"}
    assert not shown & set(foreign)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cavity", "--device-buffers"], "bench cavity takes no --device-buffers: pingpong only"),
        (
            ["copy", "--sizes=8", "--quick"],
            "bench copy takes no --sizes: exchange, vortex, transpose, alltoall, fft, dns, out_of_core only",
        ),
        (["lbm", "--precison", "f32"], "bench lbm takes no --precison; did you mean --precision?"),
        (["lbm", "--prec", "f32"], "bench lbm takes no --prec"),
        (["lbm", "--precision", "f8"], "bench lbm: argument --precision: invalid choice: 'f8'"),
        (["lbm", "--experiment", "weka"], "argument --experiment: invalid choice: 'weka'"),
        (
            ["lbm", "--experiment", "weak", "--streaming", "two"],
            "bench lbm_weak takes no --streaming: lbm, lbm_flagfield",
        ),
        (["lbm_week"], "no benchmark is called lbm_week; did you mean lbm_weak?"),
        (["zebra"], "no benchmark is called zebra; `slipstream bench` lists them"),
        (["--cells", "8", "lbm"], "bench --cells: the name of a benchmark comes first"),
    ],
)
def test_what_a_benchmark_does_not_take_is_refused(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["bench", *words])
    assert ended.value.code == 2
    out, error = capfd.readouterr()
    assert error.startswith(f"slipstream: error: {said}") or said in error
    assert error.count("\n") == 1 and not out


def commands() -> set[str]:
    """Commands in result files and in the script that measures on GPUs."""
    found = set()
    for path in (ROOT / "bench" / "results").glob("*/*.json"):
        result = json.loads(path.read_text())
        if isinstance(result, dict):
            found.update(result.get("command", "").split("; "))
    script = (ROOT / "tools" / "gpu_bench.sh").read_text()
    found.update("slipstream " + line for line in re.findall(r"\| (bench .*)", script))
    return {command for command in found if command.startswith("slipstream bench ") and "$" not in command}


def test_commands_that_measured_what_there_is_can_be_typed_again() -> None:
    assert len(commands()) > 100
    for command in commands():
        arguments = registry.parse(shlex.split(command)[2:])
        assert arguments.benchmark in BENCHMARKS, command


def test_an_experiment_is_the_benchmark_of_its_name() -> None:
    one = registry.parse(["lbm", "-n", "2", "--experiment", "weak", "--cells", "8"])
    other = registry.parse(["lbm_weak", "-n", "2", "--cells", "8"])
    assert vars(one) == vars(other) and one.benchmark == "lbm_weak"


def test_benchmark_is_handed_to_its_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    monkeypatch.setattr(start, "start", lambda ranks, words: handed.append((ranks, words)) or 0)
    assert main.main(["bench", "-n4", "lbm", "--grid", "2x2x1", "--cells", "8", "16"]) == 0
    assert main.main(["bench", "lbm", "--experiment", "io", "-n", "2"]) == 0
    plain = ["bench", "lbm", "--grid", "2x2x1", "--cells", "8", "16"]
    assert handed == [(4, plain), (2, ["bench", "lbm", "--experiment", "io"])]


def lbm(*words: str) -> updates.Choice:
    return record.chosen(updates.Choice, registry.parse(["lbm", "--backend", "host", *words]))


def test_lbm_measures_what_is_named_and_else_what_says_most() -> None:
    assert list(lbm("--cells", "8", "16").asked("host")) == [
        (precision, n) for precision in ("f32", "f64") for n in (8, 16)
    ]
    assert list(lbm("--precision", "f16").asked("cuda")) == [("f16", n) for n in (128, 256, 512)]
    assert not lbm().asked("cuda")
    assert {precision for precision, n in updates.UNASKED["cuda"] if n == 512} == {"f32", "f16", "f64"}


def test_unasked_rows_end_with_the_time_and_leave_out_what_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 40))
    monkeypatch.setattr(updates, "time", argparse.Namespace(perf_counter=lambda: float(next(clock))))
    monkeypatch.setattr(updates, "UNASKED", {"host": [("f32", 512), ("f32", 8), ("f16", 16), ("f64", 8)]})
    monkeypatch.setattr(updates, "UNASKED_SECONDS", 100.0)
    monkeypatch.setattr(updates, "_setup", lambda choice, machine, n, precision: (n, []))
    monkeypatch.setattr(updates.engine, "memory_problem", lambda n: "too large" if n > 100 else "")
    monkeypatch.setattr(updates, "_row", lambda choice, machine, n, precision: {"measured": (precision, n)})
    rows = updates._rows(lbm(), None, "host", Console(width=200))
    assert rows == [{"measured": ("f32", 8)}]
    said = capsys.readouterr().out
    assert "512^3 a device, f32: left out for want of memory" in said
    assert "16^3 a device, f16: left out for want of time; ask for it: --cells 16 --precision f16" in said


def test_share_is_the_least_time_of_the_bytes_over_that_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(50.0, 2e-3), (40.0, 1e-3), (50.0, 1e-3)]  # measured pairs: GB/s of a copy and seconds per LBM step
    monkeypatch.setattr(updates, "_pairs", lambda lbm, devices: pairs)
    words = ["lbm", "--backend", "host", "--cells", "32", "--precision", "f32", "--folder", str(tmp_path)]
    arguments = registry.parse(words)
    arguments.action(arguments, Console(quiet=True))
    (path,) = (tmp_path / "lbm").glob("*.json")
    (row,) = json.loads(path.read_text())["rows"]
    step_bytes = 32**3 * 152
    shares = [step_bytes / (rate * 1e9) / seconds for rate, seconds in pairs]
    assert row["share"] == pytest.approx(sorted(shares)[1], rel=1e-4)
    assert (row["least_share"], row["most_share"]) == pytest.approx((min(shares), max(shares)), rel=1e-4)
    assert row["card"] and row["card"] in json.loads(path.read_text())["machine"]["name"]


def test_rows_of_moments_name_them_and_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "_pairs", lambda lbm, devices: [(50.0, 1e-3)])
    words = ["--backend", "host", "--cells", "8", "--precision", "f32", "--representation", "moments"]
    arguments = registry.parse(["lbm", *words, "--folder", str(tmp_path)])
    arguments.action(arguments, Console(quiet=True))
    (path,) = (tmp_path / "lbm").glob("*.json")
    (row,) = json.loads(path.read_text())["rows"]
    assert (row["representation"], row["collision"]) == ("moments", "recursive")
    assert row["gbs"] / row["mlups"] == pytest.approx(0.08, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--collision", "TRT"], '"TRT" needs more than the ten moments'),
        (["--lattice", "D3Q27"], 'moments cannot be had with "D3Q27"'),
        (["--streaming", "in_place"], 'moments cannot be had with "in_place"'),
        (["--layout", "aos"], 'moments cannot be had with "aos"'),
    ],
)
def test_what_moments_cannot_do_is_not_measured(cli: Cli, tmp_path: Path, words: list[str], said: str) -> None:
    result = cli("bench", "lbm", "--backend", "host", "--cells", "8", "--representation", "moments", *words)
    assert result.returncode == 2 and result.stderr.count("error") == 1
    assert said in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["lbm", "lbm_weak"])
def test_folder_is_none_where_nothing_is_to_be_written(name: str) -> None:
    assert registry.parse([name, "--no-write"]).folder is None
    assert registry.parse([name]).folder == Path("bench/results")


def test_names_of_cases_stand_before_and_behind_options() -> None:
    found = registry.parse(["cases", "car", "--backend", "host", "sphere"])
    assert found.names == ["car", "sphere"]


def test_options_of_one_value_are_given_once() -> None:
    with raises(CaseError, "invalid_argument", option="precision"):
        registry.parse(["lbm_weak", "--precision", "f32", "--precision", "f32"])


#: Arguments of short runs on two devices, by benchmark. A test compares the message routes that their results name.
STAGED = {
    "transpose": ["--sizes", "8", "--turns", "zyx"],
    "gather_scatter": ["--elements", "6", "--orders", "2", "--ways"],
    "fft": ["--sizes", "8"],
    "dns": ["--sizes", "8"],
    "stencil": ["--cells", "8", "--methods", "heat7"],
}


@pytest.mark.parametrize("name", STAGED)
def test_rows_name_the_routes_that_messages_took(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(stencil, "DURATION", 0.01)
    words = ("bench", name, "--backend", "host", "--devices", "2", *STAGED[name], "--folder", str(tmp_path))
    assert here(*words, "--routes", "staged,kernel").returncode == 0
    (path,) = (tmp_path / name).glob("*.json")
    assert {row["travels_by"] for row in json.loads(path.read_text())["rows"]} == {"staged"}
    assert here(*words).returncode == 0
    assert {row["travels_by"] for row in json.loads(path.read_text())["rows"]} == {"staged", "direct"}
