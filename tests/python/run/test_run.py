"""Whole runs by the command line, on small grids."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import slipstream._core as core
from conftest import CASES, ROOT, SMALL, TETRAHEDRON, Cli, command, words
from errors import is_error
from slipstream._lbm import Lbm
from slipstream.case.reader import load
from slipstream.machine import discovery, predict
from slipstream_bench.lbm import updates

ALWAYS = {"case.resolved.toml", "run.json", "report.html", "profiles.csv", "comparison.json", "checkpoints"}
RESULTS = ALWAYS | {"profiles.png", "streamlines.png", "fields.vtkhdf"}

#: Arguments with far more cells than fit any memory; the length keeps tau in its range.
HUGE = ["grid.cells=[9000,9000,9000]", "physics.length=64"]


#: Options whose values give another method than the defaults: lattice, collision, LES model and force.
CUMULANT = ["lbm.lattice=D3Q27", "lbm.collision=cumulant", "lbm.smagorinsky=0.1", "physics.force=[1e-5, 0, 0]"]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The result folder of the small case with pictures, and the run's output."""
    folder = tmp_path_factory.mktemp("usual")
    (folder / "small.toml").write_text(SMALL)
    result = command(folder, "run", "small.toml", "machine.backend=host")
    assert result.returncode == 0, result.stderr
    return folder / "results" / "small", result.stdout


def test_run_writes_its_results_and_says_where(usual: tuple[Path, str]) -> None:
    folder, said = usual
    assert {path.name for path in folder.iterdir()} == RESULTS
    assert all(f"results/small/{name}" in said for name in RESULTS)


def test_run_says_everything_before_the_first_step(usual: tuple[Path, str]) -> None:
    before = words(usual[1]).partition("step 1/40")[0]
    for name in ("commit", "devices", "links", "blocks", "routes", "tau", "Mach number", "grid Reynolds number"):
        assert name in before
    assert "bytes a cell 152" in before


def test_piped_run_prints_plain_lines_of_progress(usual: tuple[Path, str]) -> None:
    last = [line for line in usual[1].splitlines() if line.startswith("step 40/40")]
    assert len(last) == 1 and "\x1b" not in last[0]
    assert all(name in last[0] for name in ("time 0.25 L/U", "residual", "MLUPS", "GB/s", "100 %", "ETA 0:00"))


def test_run_ends_with_a_table_of_phases(usual: tuple[Path, str]) -> None:
    assert "phase calls s ms a call %" in words(usual[1])


def test_resolved_case_names_the_backend(usual: tuple[Path, str]) -> None:
    resolved = tomllib.loads((usual[0] / "case.resolved.toml").read_text())
    assert resolved["machine"]["backend"] == "host"


def test_steady_run_stops_before_its_last_step(cli: Cli, small: Path) -> None:
    result = cli("run", "small.toml", "run.residual=1e6")
    assert "steady at step 20" in result.stdout


@pytest.mark.parametrize("method", [["lbm.precision=f64"], CUMULANT])
def test_resolved_case_gives_the_same_profiles(cli: Cli, small: Path, method: list[str]) -> None:
    folder = small.parent / "results" / "small"
    assert cli("run", "small.toml", *method).returncode == 0
    first = (folder / "profiles.csv").read_bytes()
    again = cli("run", "results/small/case.resolved.toml", "output.folder=again")
    assert again.returncode == 0, again.stderr
    assert (small.parent / "again" / "profiles.csv").read_bytes() == first


def test_resolved_case_with_a_mesh_runs_from_any_folder(cli: Cli, small: Path) -> None:
    (small.parent / "meshes").mkdir()
    (small.parent / "meshes" / "part.obj").write_text(TETRAHEDRON)
    small.write_text(f'{SMALL}[bodies.part]\nmesh = "meshes/part.obj"\nscale = 20\n')
    assert cli("run", "small.toml", "machine.backend=host").returncode == 0
    written = tomllib.loads((small.parent / "results" / "small" / "case.resolved.toml").read_text())
    assert written["bodies"]["part"]["mesh"] == "../../meshes/part.obj"
    first = (small.parent / "results" / "small" / "profiles.csv").read_bytes()
    elsewhere = small.parent / "else" / "where"
    elsewhere.mkdir(parents=True)
    again = command(elsewhere, "run", "../../results/small/case.resolved.toml", "output.folder=again")
    assert again.returncode == 0, again.stderr
    assert (elsewhere / "again" / "profiles.csv").read_bytes() == first


def test_overwrite_replaces_results(cli: Cli, small: Path) -> None:
    assert cli("run", "small.toml").returncode == 0
    assert cli("run", "small.toml", "run.steps=20", "--overwrite").returncode == 0
    written = json.loads((small.parent / "results" / "small" / "comparison.json").read_text())
    assert written["run"]["steps"] == 20


@pytest.mark.parametrize("method", [[], CUMULANT])
def test_ranks_give_the_same_profiles_as_one(cli: Cli, small: Path, method: list[str]) -> None:
    assert cli("run", "small.toml", "output.folder=one", "machine.backend=host", *method).returncode == 0
    two = cli("run", "small.toml", "output.folder=two", "machine.backend=host", *method, "-n", "2")
    assert two.returncode == 0, two.stderr
    assert (small.parent / "two" / "profiles.csv").read_bytes() == (small.parent / "one" / "profiles.csv").read_bytes()


# The tuner measures widths of the blocks' boundary regions (cells beside ghosts). Two ranks try the same widths as
# one rank, and must also agree on the fastest.
@pytest.mark.parametrize("ranks", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_rim_is_measured_once_and_gives_the_same_profiles(cli: Cli, small: Path, tmp_path: Path, ranks: str) -> None:
    words = ["run", "small.toml", "machine.backend=host", "machine.devices_per_rank=2", "output.pictures=false"]
    words += ["-n", ranks, "--overwrite"]
    profiles, cache = small.parent / "results/small/profiles.csv", {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert cli(*words).returncode == 0
    right = profiles.read_bytes()
    for said in ("measured in", "from"):
        result = cli(*words, "exchange.rim=auto", **cache)
        assert result.returncode == 0, result.stderr
        (line,) = [line for line in result.stdout.splitlines() if line.startswith("rim: ")]
        assert said in line and "cache/slipstream/tuned-" in line
        assert profiles.read_bytes() == right


# Two ranks try the same storages of solid cells as one rank, and must also agree on the fastest.
@pytest.mark.parametrize("ranks", [pytest.param("1", marks=pytest.mark.thorough), "2"])
def test_solids_are_measured_once_and_give_the_same_profiles(cli: Cli, small: Path, tmp_path: Path, ranks: str) -> None:
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    body = '[bodies.part]\nmesh = "part.obj"\nscale = 40\ntranslate = [-12, -12, -12]\n'
    (tmp_path / "small.toml").write_text(f"{SMALL}{body}")
    words = ["run", "small.toml", "machine.backend=host", "output.pictures=false", "-n", ranks, "--overwrite"]
    profiles, cache = tmp_path / "results/small/profiles.csv", {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain = cli(*words)
    assert plain.returncode == 0 and "solids: " not in plain.stdout
    right = profiles.read_bytes()
    for said in ("measured in", "measured before"):
        result = cli(*words, "exchange.tune=measure", **cache)
        assert result.returncode == 0, result.stderr
        (line,) = [line for line in result.stdout.splitlines() if line.startswith("solids: ")]
        assert said in line and re.search(r"(dense|flags|sparse) in [12] block", line)
        assert profiles.read_bytes() == right


def test_exit_code_of_ranks_is_passed_through(cli: Cli, small: Path) -> None:
    result = cli("run", "small.toml", "-n", "2", *HUGE, "machine.backend=host")
    is_error(result, "out_of_memory", key="grid.cells")


def test_pictures_and_fields_can_be_left_out(cli: Cli, small: Path) -> None:
    cli("run", "small.toml", "output.pictures=false", "output.fields=false", "machine.devices_per_rank=1")
    left = {path.name for path in (small.parent / "results" / "small").iterdir()}
    assert left == ALWAYS


def test_flow_that_diverges_is_an_error_with_advice(cli: Cli, small: Path) -> None:
    unstable = ["physics.reference_velocity=0.17", "physics.reynolds=3500", "run.steps=4000", "lbm.collision=SRT"]
    result = cli("run", "small.toml", *unstable)
    is_error(result, "diverged", 3)
    record = json.loads((small.parent / "results" / "small" / "run.json").read_text())
    assert record["sound"] is False and record["error"]["code"] == "diverged"
    assert 'lbm.representation = "moments" and lbm.collision = "recursive"' in " ".join(result.stderr.split())


def test_plan_prints_the_dry_run_and_writes_nothing(cli: Cli, small: Path) -> None:
    result = cli("plan", "small.toml")
    assert result.returncode == 0, result.stderr
    said = words(result.stdout)
    for name in ("blocks: nodes x devices x blocks", "placement: cost", "memory of each device"):
        assert name in said
    assert re.search(r"takes about .* for 40 steps of .* ms \(\d+ were timed\), .*B on disk", said)
    assert "largest grid that fits:" in said
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_a_throttle_is_in_the_predicted_step(small: Path) -> None:
    case = load(small, ["machine.backend=host", "machine.devices_per_rank=2"])
    machine = discovery.discover(case.machine)
    plan = Lbm.plan(machine, case.options() | {"throttle": "0.001 GB/s, 1000 us"})
    pairs: dict[tuple[int, int], int] = {}
    for message in plan["messages"]:
        pair = (message["source"], message["target"])
        pairs[pair] = pairs.get(pair, 0) + message["bytes"]
    slowed = predict.predict(machine, plan, "off", "0.001 GB/s, 1000 us")
    assert slowed.exchange == pytest.approx(1e-3 + max(pairs.values()) / 1e6)
    assert slowed.step == slowed.compute + slowed.exchange


@pytest.mark.parametrize("cells", [(16, 16, 16), (120, 80, 80), (660, 123, 1)])
def test_largest_grid_fits_and_a_little_larger_one_does_not(small: Path, cells: tuple[int, ...]) -> None:
    flat = ['lbm.lattice="D2Q9"'] if cells[2] == 1 else []
    case = load(small, [f"grid.cells={list(cells)}", "machine.backend=host", *flat])
    machine = discovery.discover(case.machine)
    memory = machine.devices()[0]["memory"]

    def needed(size: tuple[int, ...]) -> int:
        plan = Lbm.plan(machine, case.options() | {"cells": size})
        return sum(array["bytes"] for array in plan["arrays"])

    largest = Lbm.largest_grid(machine, case.options())
    assert needed(largest) <= memory
    larger = tuple(n if n == 1 else round(1.05 * n) for n in largest)
    assert needed(larger) > memory


def test_plan_of_a_machine_that_is_not_there(cli: Cli, small: Path) -> None:
    machine = str(ROOT / "machines" / "summit.toml")
    result = cli("plan", "small.toml", "grid.cells=[1440,1452,700]", "physics.length=64", "--machine", machine)
    assert result.returncode == 0, result.stderr
    said = words(result.stdout)
    assert "summit: 4 nodes, 24 ranks, 24 devices" in said and "predicted step" in said
    # Each reason for a message's route is printed once, however many messages share it.
    assert said.count("not kernel: ") == said.count("why 1: ") == 1


@pytest.mark.parametrize(
    ("side", "remedy"),
    [
        (1300, 'lbm.streaming = "in_place"'),
        (1600, 'lbm.precision = "f32" and lbm.streaming = "in_place"'),
        (4000, None),
    ],
)
def test_plan_of_a_grid_that_does_not_fit_says_what_does(cli: Cli, small: Path, side: int, remedy: str | None) -> None:
    machine = str(ROOT / "machines" / "h200x4.toml")
    grid = [f"grid.cells=[{side},{side},{side}]", "physics.length=64", "lbm.precision=f64"]
    result = cli("plan", "small.toml", *grid, "--machine", machine)
    fault = is_error(result, "out_of_memory", key="grid.cells", available=141_000_000_000, remedy=remedy)
    assert int(fault.facts["needed"]) > 141_000_000_000 and fault.facts["largest"]


def test_topology_of_this_machine_is_shown(cli: Cli) -> None:
    result = cli("topo", "machine.devices_per_rank=2", "machine.backend=host")
    assert result.returncode == 0, result.stderr
    assert "1 node, 1 rank, 2 devices" in result.stdout and "from \\ to" in result.stdout


def test_info_shows_the_build(cli: Cli) -> None:
    result = cli("info")
    assert result.returncode == 0, result.stderr
    assert core.build_info()["commit"] in result.stdout


def test_info_shows_what_routes_can_do(cli: Cli) -> None:
    result = cli("info", "routes")
    assert result.returncode == 0, result.stderr
    assert "capability" in result.stdout and "staged" in result.stdout
    said = {route["name"]: route["capability"]["repeated within a graph"] for route in core.routes("host")}
    assert {name for name, answer in said.items() if answer == "yes"} == {"kernel", "direct"}
    assert "repeated" in result.stdout


@pytest.mark.skipif(core.available("cuda"), reason="asks a build without CUDA, or a machine without GPUs")
def test_info_says_which_routes_are_not_available_and_why(cli: Cli) -> None:
    words = [line.split(maxsplit=1) for line in cli("info", "routes").stdout.splitlines() if line.strip()]
    said = {line[0]: line[1].strip() for line in reversed(words) if len(line) > 1}
    assert said["available"] == "here, backend host"
    for name in ("nccl", "nvshmem"):
        assert said[name] == "no: it joins GPUs, and these are devices of the host backend"
    for name in ("kernel", "direct", "peer", "colocated", "staged"):
        assert said[name] == "yes, between devices as below"
    assert "proves" in said["gpu_mpi"]


@pytest.mark.skipif(core.build_info()["cuda"], reason="asks a build without CUDA")
def test_routes_of_libraries_say_what_the_build_lacks() -> None:
    missing = {route["name"]: route["missing"] for route in core.routes("cuda")}
    assert missing["nccl"].startswith("this build has no NCCL")
    assert missing["nvshmem"].startswith("this build has no NVSHMEM")
    assert {name for name, why in missing.items() if not why} >= {"kernel", "direct", "peer", "colocated", "staged"}


def test_info_shows_what_collectives_can_do(cli: Cli) -> None:
    result = cli("info", "collectives")
    assert result.returncode == 0, result.stderr
    assert "capturable" in result.stdout and "peer" in result.stdout and "mpi" in result.stdout


def test_benchmark_writes_a_result_file(here: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(updates, "DURATION", 0.1)
    monkeypatch.setattr(updates, "PAIRS", 3)
    result = here(
        "bench",
        "lbm",
        "--backend",
        "host",
        "--cells",
        "8",
        "--precision",
        "f32",
        "--precision",
        "f16",
        "--streaming",
        "in_place",
        "--folder",
        "out",
    )
    assert result.returncode == 0, result.stderr
    (path,) = (tmp_path / "out" / "lbm").glob("*.json")
    rows = json.loads(path.read_text())["rows"]
    assert [(row["storage"], row["arithmetic"]) for row in rows] == [("f32", "f32"), ("f16", "f32")]
    assert {row["streaming"] for row in rows} == {"in_place"}
    for row in rows:
        assert row["cells_per_device"] == [8, 8, 8] and row["mlups"] > 0 and row["roof_gbs"] > 0
        assert 0 < row["least_share"] <= row["share"] <= row["most_share"]


def test_python_page_has_at_most_15_lines() -> None:
    lines = (CASES / "cavity.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 15


def test_simulation_returns_its_fields_as_arrays() -> None:
    import slipstream as slip

    flow = slip.lbm.Simulation(cells=(8, 9, 10), reynolds=20, reference_velocity=0.1, precision="f64", backend="host")
    flow.run(steps=5, quiet=True)
    velocity, density = flow.velocity, flow.density
    assert flow.step == 5 and velocity is not None and density is not None
    assert velocity.shape == (10, 9, 8, 3) and density.shape[:3] == (10, 9, 8)
    assert velocity[:, -1, :, 0].mean() > velocity[:, 0, :, 0].mean()


def test_blocks_of_a_simulation_are_arrays_that_cover_the_grid() -> None:
    import slipstream as slip

    flow = slip.lbm.Simulation(cells=(8, 8, 8), reynolds=20, backend="host", blocks_per_device=(2, 1, 1))
    blocks = flow.arrays("velocity")
    assert sum(np.prod(np.asarray(array).shape[:3]) for _, array in blocks) == 8**3


@pytest.mark.parametrize(("cells", "lattice"), [("[1,16,1]", "D2Q9"), ("[1,12,12]", "D3Q19"), ("[12,1,12]", "D3Q19")])
def test_case_one_cell_long_leaves_all_its_files(
    tmp_path: Path, small: Path, cli: Cli, cells: str, lattice: str
) -> None:
    words = [f"grid.cells={cells}", f"lbm.lattice={lattice}", "physics.length=12", "run.steps=4"]
    found = cli("run", "small.toml", *words, "output.pictures=true")
    assert found.returncode == 0, found.stderr
    assert "warning: no " not in found.stdout
    names = {path.name for path in (tmp_path / "results/small").iterdir()}
    files = {"profiles.csv", "comparison.json", "run.json", "fields.vtkhdf"}
    assert names >= files | {"profiles.png", "streamlines.png", "report.html"}
