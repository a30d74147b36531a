"""The pseudo-spectral solver: from a case file to spectra, restarts and pictures."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
import slipstream as slip
from conftest import ROOT, Cli, backend_of, command, is_one_error
from errors import is_error
from slipstream.base import rows
from slipstream.base.core import core, part
from slipstream.case.reader import load
from slipstream.dns import lines, solver, velocity_file
from slipstream.flow import energy
from slipstream.pictures import planes
from slipstream.results.results import box_size

DECAY = """
[case]
name = "decay"
[grid]
cells = [24, 20, 16]
[dns]
viscosity = 0.02
time_step = 0.01
[initial]
flow = "random"
peak = 2.0
energy = 0.3
[run]
steps = 30
check_every = 5
"""


SPECTRUM = DECAY.replace("peak = 2.0\nenergy = 0.3", 'spectrum = "wanted.csv"').replace("steps = 30", "steps = 2")


def case(folder: Path, text: str = DECAY) -> str:
    (folder / "a.toml").write_text(text)
    return "a.toml"


def findings(folder: Path, name: str = "decay") -> dict[str, Any]:
    return json.loads((folder / "results" / name / "findings.json").read_text())


def test_run_leaves_statistics_spectrum_and_pictures(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path), "output.fields=true")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results" / "decay"
    names = {path.name for path in folder.iterdir()}
    assert {
        "statistics.csv",
        "spectra.csv",
        "spectrum.csv",
        "spectrum.png",
        "dissipation.png",
        "fields.vtkhdf",
        "report.html",
    } <= names
    page = (folder / "report.html").read_text()
    assert "Energy by wave number" in page and "Energy and its dissipation over time" in page
    header, table = rows.read(folder / "statistics.csv")
    column = dict(zip(header, np.array(table, dtype=float).T, strict=True))
    np.testing.assert_array_equal(column["step"], np.arange(0, 31, 5))
    assert column["energy"][0] == pytest.approx(0.3) and (np.diff(column["energy"]) < 0).all()
    spectrum = np.array(rows.read(folder / "spectrum.csv")[1], dtype=float)
    assert spectrum[:, 1].sum() == pytest.approx(column["energy"][-1], rel=1e-7)
    assert here("plot", "results/decay", "--plane", "z").returncode == 0
    drawn = {path.name.split("_")[0].split("-")[0].split(".")[0] for path in (folder / "pictures").iterdir()}
    assert {"speed", "vorticity"} <= drawn


def test_cuts_and_restarts_change_no_digit_that_counts(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path)).returncode == 0
    straight = findings(tmp_path)["findings"]
    assert cli("run", "a.toml", "run.steps=13", "--overwrite").returncode == 0
    result = cli("run", "a.toml", "--restart", "last", "machine.devices_per_rank=2", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "restarted at step 13" in result.stdout and "process grid" in result.stdout
    restarted = findings(tmp_path)["findings"]
    assert restarted["energy"] == pytest.approx(straight["energy"], rel=1e-12)
    assert restarted["dissipation"] == pytest.approx(straight["dissipation"], rel=1e-11)
    _, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
    assert [int(row[0]) for row in table][:3] == [0, 5, 10] and int(table[-1][0]) == 30


def test_the_same_decomposition_has_the_same_bits(cli: Cli, tmp_path: Path) -> None:
    left = []
    for name, ranks, count in (("one", "1", 4), ("two", "2", 2), ("four", "4", 1)):
        words = (
            f"case.name={name}",
            f"machine.devices_per_rank={count}",
            "run.steps=5",
            "dns.process_grid=[2,2]",
            *backend_of(4),
        )
        result = cli("run", case(tmp_path), *words, "output.pictures=false", "-n", ranks)
        assert result.returncode == 0, result.stderr
        left.append((tmp_path / "results" / name / "spectrum.csv").read_text())
        found = findings(tmp_path, name)["findings"]
        left[-1] += repr([found[key] for key in ("energy", "skewness", "courant")])
    assert left[0] == left[1] == left[2]


def test_statistics_of_a_random_field_are_those_of_numpy() -> None:
    cells = (24, 20, 16)
    machine = core().Machine.discover("host", devices_per_rank=2)
    flow = part("dns").Dns(machine, {"cells": cells, "viscosity": 0.01, "time_step": 0.01})
    flow.random(part("dns").peaked_spectrum(4, 2.0, 0.5), 7)
    u, found = flow.velocity(), flow.statistics()
    wave = [np.fft.fftfreq(n, 1 / n) for n in cells]
    slopes = []
    for axis in range(3):
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        modes = np.fft.fftn(u[..., axis])
        slopes.append(np.fft.ifftn(1j * wave[axis].reshape(shape) * modes).real)
    skewness = np.mean([(g**3).mean() / (g**2).mean() ** 1.5 for g in slopes])
    flatness = np.mean([(g**4).mean() / (g**2).mean() ** 2 for g in slopes])
    assert found["skewness"] == pytest.approx(skewness, rel=1e-10) and abs(skewness) > 1e-3
    assert found["flatness"] == pytest.approx(flatness, rel=1e-12)
    assert found["energy"] == pytest.approx((u**2).sum(-1).mean() / 2, rel=1e-13)


def test_a_flow_begins_with_the_spectrum_of_a_file(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.toml").write_text(SPECTRUM)
    (tmp_path / "cases" / "wanted.csv").write_text("# a comment\nk,energy\n1, 0.1\n3, 0.05\n\n2, 0.2\n")
    words = ("output.pictures=false", "dns.viscosity=0")
    result = here("run", "cases/a.toml", *words)
    assert result.returncode == 0, result.stderr
    assert "random modes with the spectrum of cases/wanted.csv" in " ".join(result.stdout.split())
    _, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
    assert float(table[0][2]) == pytest.approx(0.35, rel=1e-12)
    # The spectrum of one run is the initial condition of another.
    result = here("run", "cases/a.toml", *words, "initial.spectrum=results/decay/spectrum.csv", "case.name=again")
    assert result.returncode == 0, result.stderr
    _, again = rows.read(tmp_path / "results" / "again" / "statistics.csv")
    assert float(again[0][2]) == pytest.approx(float(table[-1][2]), rel=1e-8)


@pytest.fixture(scope="module")
def flow_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that wrote its fields."""
    folder = tmp_path_factory.mktemp("before")
    (folder / "a.toml").write_text(DECAY)
    result = command(folder, "run", "a.toml", "run.steps=2", "output.fields=true", "output.pictures=false")
    assert result.returncode == 0, result.stderr
    return folder / "results" / "decay"


FROM_FILE = DECAY.replace("peak = 2.0\nenergy = 0.3", 'file = "u.npy"').replace('"random"', '"file"')


@pytest.mark.parametrize("ranks", [(), ("-n", "2")])
def test_a_flow_begins_with_the_velocity_of_a_run_or_of_numpy(
    cli: Cli, tmp_path: Path, flow_of_a_run: Path, ranks: tuple[str, ...]
) -> None:
    with h5py.File(flow_of_a_run / "fields.vtkhdf") as file:
        velocity = np.asarray(file["Series/velocity"][-1], dtype=np.float64)
    # Expected: the solver removes the divergent part of the velocity that it reads, the gradient of sin(x + 2 y - z).
    z, y, x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in velocity.shape[:3]), indexing="ij")
    np.save(tmp_path / "u.npy", velocity + np.cos(x + 2 * y - z)[..., None] * (1, 2, -1))
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["velocity"] = velocity.astype(np.float32)
    header, before = rows.read(flow_of_a_run / "statistics.csv")
    wanted = dict(zip(header, map(float, before[-1]), strict=True))
    files = (("u.npy", 1e-10), ("u.h5", 1e-5), (str(flow_of_a_run / "fields.vtkhdf"), 1e-10))
    for path, exact in files[-1:] if ranks else files:
        result = cli("run", case(tmp_path, FROM_FILE), f"initial.file={path}", "run.steps=1", "--overwrite", *ranks)
        assert result.returncode == 0, result.stderr
        header, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
        found = dict(zip(header, map(float, table[0]), strict=True))
        for name in ("energy", "dissipation", "skewness", "courant"):
            assert found[name] == pytest.approx(wanted[name], rel=exact), (path, name)


@pytest.mark.parametrize(
    ("values", "code", "facts"),
    [
        (None, "not_found", {"given": "u.npy"}),
        (np.zeros((16, 20, 24, 2)), "mismatch", {"given": (16, 20, 24, 2), "needed": (16, 20, 24, 3)}),
        (np.zeros((24, 20, 16, 3)), "mismatch", {"given": (24, 20, 16, 3), "needed": (16, 20, 24, 3)}),
        (np.zeros((16, 20, 24, 3), int), "unsupported", {"given": "int64", "allowed": "float32, float64"}),
        (np.full((16, 20, 24, 3), np.nan), "overflow", {"at": "0, 0, 0"}),
        (b"\x93NUMPY", "bad_file", {"file": "u.npy"}),
    ],
)
def test_a_velocity_that_cannot_be_is_one_error(
    cli: Cli, tmp_path: Path, values: Any, code: str, facts: dict[str, object]
) -> None:
    if isinstance(values, bytes):
        (tmp_path / "u.npy").write_bytes(values)
    elif values is not None:
        np.save(tmp_path / "u.npy", values)
    is_one_error(cli("run", case(tmp_path, FROM_FILE)), tmp_path, code, key="initial.file", **facts)


def test_what_one_rank_finds_in_a_velocity_ends_both(cli: Cli, tmp_path: Path) -> None:
    velocity = np.zeros((16, 20, 24, 3))
    velocity[12, 3, 5] = np.inf
    np.save(tmp_path / "u.npy", velocity)
    result = cli("run", case(tmp_path, FROM_FILE), "-n", "2")
    is_one_error(result, tmp_path, "overflow", key="initial.file", at="5, 3, 12")


@pytest.mark.parametrize(
    ("words", "code", "key"),
    [
        (["dns.time_step=1"], None, "dns.time_step"),
        pytest.param(["initial.peak=0.04"], None, "initial.peak", marks=pytest.mark.thorough),
        pytest.param(
            ["dns.forcing_power=1", "dns.forcing_shells=1"], None, "dns.forcing_shells", marks=pytest.mark.thorough
        ),
        (["grid.cells=[20000,20000,20000]"], "out_of_memory", "grid.cells"),
    ],
)
def test_bad_input_is_one_error_on_two_ranks(
    cli: Cli, tmp_path: Path, words: list[str], code: str | None, key: str
) -> None:
    spectrum = {"dns.forcing_shells=1"} & set(words)
    if spectrum:
        (tmp_path / "wanted.csv").write_text("3 0.1\n")
    text = SPECTRUM if spectrum else DECAY
    is_one_error(cli("run", case(tmp_path, text), *words, "-n", "2"), tmp_path, code, key=key)


def test_a_vortex_leaves_a_spectrum_to_begin_with(here: Cli, tmp_path: Path) -> None:
    vortex = DECAY.replace("peak = 2.0\nenergy = 0.3\n", "").replace('"random"', '"taylor_green"')
    words = ("output.pictures=false", "run.steps=2")
    assert here("run", case(tmp_path, vortex), *words).returncode == 0
    (tmp_path / "results" / "decay" / "spectrum.csv").rename(tmp_path / "wanted.csv")
    result = here("run", case(tmp_path, SPECTRUM), *words, "--overwrite")
    assert result.returncode == 0, result.stderr


def test_spectra_are_kept_over_time_and_averaged(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path), "run.steps=18", "output.mean_from=0.1").returncode == 0
    folder = tmp_path / "results" / "decay"
    assert cli("run", "a.toml", "output.mean_from=0.1", "--restart", "last").returncode == 0
    header, table = rows.read(folder / "spectra.csv")
    shells = np.array(table, dtype=float)
    assert header[:3] == ["step", "time", "E0"] and shells.shape[1] == 2 + len(rows.read(folder / "spectrum.csv")[1])
    np.testing.assert_array_equal(shells[:, 0], [0, 5, 10, 15, 20, 25, 30])
    np.testing.assert_allclose(shells[:, 1], shells[:, 0] * 0.01)
    energies = np.array(rows.read(folder / "statistics.csv")[1], dtype=float)[:, 2]
    np.testing.assert_allclose(shells[:, 2:].sum(axis=1), energies, rtol=1e-12)
    found = np.array(rows.read(folder / "spectrum.csv")[1], dtype=float)
    np.testing.assert_allclose(found[:, 1], shells[-1, 2:], rtol=1e-8)
    np.testing.assert_allclose(found[:, 2], shells[2:, 2:].mean(axis=0), rtol=1e-8)


def test_a_run_that_is_ended_early_keeps_its_spectra(here: Cli, tmp_path: Path) -> None:
    words = ("dns.forcing_power=50", "dns.largest_courant=0.2", "run.check_every=2", "output.pictures=false")
    assert here("run", case(tmp_path), *words).returncode == 1
    folder = tmp_path / "results" / "decay"
    steps = [[row[0] for row in rows.read(folder / name)[1]] for name in ("spectra.csv", "statistics.csv")]
    assert steps[0] == steps[1] and len(steps[0]) > 1


def test_arrays_in_host_memory_run_restart_and_draw_as_those_on_the_device(cli: Cli, tmp_path: Path) -> None:
    case(tmp_path, DECAY + "[output]\nfields = true\n")
    assert cli("run", "a.toml").returncode == 0
    resident = findings(tmp_path)["findings"]
    with h5py.File(tmp_path / "results" / "decay" / "fields.vtkhdf") as file:
        velocity = file["VTKHDF/CellData/velocity"][...]
    result = cli("run", "a.toml", "run.steps=13", 'dns.device_memory="4 MiB"', "--overwrite")
    assert result.returncode == 0, result.stderr
    assert "in host memory, 4 MiB of the device" in result.stdout
    # Arguments of a run with another memory limit on four devices of two ranks, then of one without limit.
    words = ("-n", "2", "machine.devices_per_rank=2", 'dns.device_memory="8 MiB"')
    result = cli("run", "a.toml", *words, "run.steps=20", "--restart", "last")
    assert result.returncode == 0, result.stderr
    result = cli("run", "a.toml", "--restart", "last")
    assert result.returncode == 0, result.stderr
    found = findings(tmp_path)["findings"]
    for key in ("energy", "dissipation", "skewness"):
        assert found[key] == pytest.approx(resident[key], rel=1e-11)
    with h5py.File(tmp_path / "results" / "decay" / "fields.vtkhdf") as file:
        np.testing.assert_allclose(file["VTKHDF/CellData/velocity"][-1], velocity, atol=1e-13)


def test_too_little_device_memory_is_one_error_that_names_the_least(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path), 'dns.device_memory="1 KiB"')
    is_one_error(result, tmp_path, "unsupported", option="device_memory", given=1024)


def test_a_restart_may_take_another_time_step(cli: Cli, tmp_path: Path) -> None:
    text = DECAY.replace("steps = 30", "time = 0.3")
    assert cli("run", case(tmp_path, text)).returncode == 0
    straight = findings(tmp_path)["findings"]["energy"]
    assert cli("run", "a.toml", "run.time=0.1", "--overwrite").returncode == 0
    result = cli("run", "a.toml", "dns.time_step=0.005", "--restart", "last", "run.check_every=10")
    assert result.returncode == 0, result.stderr
    found = findings(tmp_path)
    assert found["steps"] == 50 and found["time"] == pytest.approx(0.3)
    assert found["findings"]["energy"] == pytest.approx(straight, rel=1e-6)
    _, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
    assert [float(row[1]) for row in table][-3:] == pytest.approx([0.2, 0.25, 0.3])
    result = cli("run", "a.toml", "dns.time_step=3", "--restart", "last", "run.time=30")
    is_error(result, None, key="dns.time_step")


def test_the_limit_of_a_time_step_is_that_of_its_scheme(here: Cli, tmp_path: Path) -> None:
    # These arguments give a Courant number of about 0.9.
    words = ("dns.time_step=0.08", "run.steps=1", "output.pictures=false")
    result = here("run", case(tmp_path), *words, "dns.scheme=rk4")
    assert result.returncode == 0, result.stderr
    result = here("run", case(tmp_path), *words, "dns.scheme=rk2", "--overwrite")
    fault = is_error(result, "unsupported", key="dns.time_step")
    assert 0.5 < float(fault.facts["courant"]) < 1.5
    assert float(fault.facts["limit"]) == pytest.approx(0.08 * 0.5 / float(fault.facts["courant"]), rel=1e-3)


@pytest.mark.parametrize("ranks", [(), ("-n", "2")])
def test_forcing_may_hold_the_energy_of_its_shells(cli: Cli, tmp_path: Path, ranks: tuple[str, ...]) -> None:
    words = ("dns.forcing=energy", "dns.budget=true", "dns.time_step=0.002", "run.check_every=2")
    assert cli("run", case(tmp_path), *words, "run.steps=6", *ranks).returncode == 0
    result = cli("run", "a.toml", *words, "run.steps=10", "--restart", "last")
    assert result.returncode == 0, result.stderr
    header, table = rows.read(tmp_path / "results" / "decay" / "statistics.csv")
    column = dict(zip(header, np.array(table, dtype=float).T, strict=True))
    assert column["budget_error"].max() < 1e-6
    assert (column["power"][1:] > 0.1 * column["dissipation"][1:]).all()
    low = np.array(rows.read(tmp_path / "results" / "decay" / "spectra.csv")[1], dtype=float)[:, 3:5].sum(axis=1)
    np.testing.assert_allclose(low, low[0], rtol=1e-12)


def test_a_flow_without_viscosity_has_numbers(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path), "dns.viscosity=0", "run.steps=10", "run.check_every=2")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "results" / "decay" / "findings.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert 0 <= findings(tmp_path)["findings"]["energy.budget_error"] < 1e-3


@pytest.mark.parametrize("name", ["decaying_turbulence", "forced_turbulence", "scalar_turbulence"])
@pytest.mark.parametrize("variant", ["short", pytest.param("", marks=pytest.mark.thorough)])
def test_cases_find_what_they_expect(cli: Cli, tmp_path: Path, name: str, variant: str) -> None:
    words = ("--variant", variant) if variant else ()
    result = cli("run", str(ROOT / "cases" / f"{name}.toml"), *words)
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, "_".join(filter(None, (name, variant))))["expected"]
    assert len(expected) >= 2 and all(entry["met"] for entry in expected), expected


@pytest.mark.thorough
def test_taylor_green_follows_the_published_decay(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", str(ROOT / "cases" / "dns_taylor_green.toml"))
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, "dns_taylor_green")["expected"]
    assert len(expected) == 2 and all(entry["met"] for entry in expected), expected


def test_f32_follows_f64() -> None:
    machine, found = core().Machine.discover("host", devices_per_rank=1), []
    for precision in ("f64", "f32"):
        how = {"cells": (48, 48, 48), "viscosity": 1 / 1600, "time_step": 0.04, "type": precision}
        flow = part("dns").Dns(machine, how)
        flow.taylor_green()
        flow.advance(12)
        found.append(flow.statistics())
    for name in ("energy", "dissipation", "enstrophy"):
        assert found[1][name] == pytest.approx(found[0][name], rel=1e-5)
    assert 0 < abs(found[1]["energy"] / found[0]["energy"] - 1)


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        (None, "not_found", {"given": "wanted.csv"}),
        ("1 0.1\n2 0.2 0.3\n", "bad_file", {"file": "wanted.csv", "line": 2, "given": "2 0.2 0.3", "needed": 2}),
        ("k,E\n0.5,1\n", "bad_file", {"file": "wanted.csv", "line": 2, "shell": 0.5}),
        ("1,0.1\n2,-3\n", "bad_file", {"file": "wanted.csv", "line": 2, "energy": -3}),
        ("1,0.1\n1,0.2\n", "bad_file", {"file": "wanted.csv", "line": 2, "shell": 1}),
        ("k,E\n", "bad_file", {"file": "wanted.csv", "needed": "energy"}),
        (b"\xff\xfe", "bad_file", {"file": "wanted.csv"}),
    ],
)
def test_a_spectrum_that_cannot_be_is_one_error(
    here: Cli, tmp_path: Path, text: str | bytes | None, code: str, facts: dict[str, object]
) -> None:
    if text is not None:
        (tmp_path / "wanted.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    is_one_error(here("run", case(tmp_path, SPECTRUM)), tmp_path, code, key="initial.spectrum", **facts)


def test_a_spectrum_beyond_the_grid_is_one_error(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "wanted.csv").write_text("1,0.1\n40,0.2\n")
    result = here("run", case(tmp_path, SPECTRUM))
    is_one_error(result, tmp_path, "unsupported", key="initial.spectrum", file="wanted.csv", shell=40, limit=10)


def test_the_budget_of_every_step_is_accounted(here: Cli, tmp_path: Path) -> None:
    words = ("dns.forcing_power=0.2", "dns.budget=true", "run.steps=4", "run.check_every=2", "dns.time_step=0.002")
    result = here("run", case(tmp_path), *words, "output.pictures=false")
    assert result.returncode == 0, result.stderr
    assert 0 < findings(tmp_path)["findings"]["energy.budget_error"] < 1e-6


def test_a_flow_that_becomes_too_fast_is_ended(here: Cli, tmp_path: Path) -> None:
    words = ("dns.forcing_power=50", "dns.largest_courant=0.2", "run.check_every=2", "output.pictures=false")
    result = here("run", case(tmp_path), *words)
    fault = is_error(result, "diverged", 1, key="dns.time_step")
    step = int(fault.facts["step"])
    folder, last = tmp_path / "results" / "decay", f"checkpoint-{step:012d}.h5"
    assert fault.facts["checkpoint"] == f"results/decay/checkpoints/{last}"
    assert [path.name for path in (folder / "checkpoints").iterdir()] == [last]
    kept = json.loads((folder / "run.json").read_text())
    assert kept["error"]["code"] == "diverged" and kept["error"]["facts"]["key"] == "dns.time_step" and kept["sound"]
    assert [entry["what"] for entry in kept["log"]][-1] == "given up by the limit of the time step"
    assert (folder / "report.html").exists()
    again = here("run", case(tmp_path), *words, "--restart", "last", "dns.time_step=1e-5", f"run.steps={step + 2}")
    assert again.returncode == 0, again.stderr
    assert f"restarted at step {step} " in again.stdout


def test_a_flow_that_diverges_is_ended_by_the_guard(here: Cli, tmp_path: Path) -> None:
    words = ("dns.viscosity=0", "dns.time_step=10", "dns.largest_courant=0", "grid.cells=[12,12,12]", "guard.every=7")
    result = here("run", case(tmp_path), *words, "run.steps=400", "run.check_every=400", "output.pictures=false")
    facts = is_error(result, "diverged", 3, checkpoint=None, quantity="velocity", rank=0).facts
    assert not math.isfinite(float(facts["value"])) and int(facts["step"]) % 7 == 0 and int(facts["step"]) < 100
    kept = json.loads((tmp_path / "results" / "decay" / "run.json").read_text())
    assert not kept["sound"] and "given up by the guard" in [entry["what"] for entry in kept["log"]]


def test_a_sound_flow_was_inspected_as_often_as_the_guard_says(here: Cli, tmp_path: Path) -> None:
    result = here("run", case(tmp_path), "guard.every=4", "output.pictures=false")
    assert result.returncode == 0, result.stderr
    kept = json.loads((tmp_path / "results" / "decay" / "run.json").read_text())
    assert "guard: sound, inspected every 4 steps" in [entry["what"] for entry in kept["log"]]


def test_transposes_are_measured_reported_and_cached(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ("exchange.tune=measure", "machine.devices_per_rank=2", "run.steps=2", "output.pictures=false")
    # On the host, transforms along lines of any length store their results directly on the receiving device.
    stored = here("run", case(tmp_path), *words, "machine.backend=host")
    assert stored.returncode == 0 and "measured" not in stored.stdout, "stored results have no choice of routes"
    words += ("dns.store=false",)
    result = here("run", case(tmp_path), *words, "--overwrite", "--report", "messages.json")
    assert result.returncode == 0, result.stderr
    assert "routes: measured in" in result.stdout
    report = json.loads((tmp_path / "messages.json").read_text())
    assert report["tuning"]["source"] == "measured" and report["tuning"]["seconds"] > 0
    between = {(row["source"], row["target"]): row for row in report["rows"] if row["source"] != row["target"]}
    # Bytes by hand: one component moves from slabs to slabs, so each device keeps half of the modes in use and sends
    # the other half. Along x 8 of 13 modes are in use, along y 13 of 20, and a device has 8 of the 16 planes.
    assert set(between) == {(0, 1), (1, 0)}
    assert sum(row["bytes"] for row in between.values()) == 16 * 8 * 13 * 8
    assert all(row["time_us"] > 0 for row in between.values())
    assert findings(tmp_path)["device_bytes"] > 8 * 24 * 20 * 16 * 6 / 2
    again = here("run", "a.toml", *words, "--overwrite")
    assert again.returncode == 0 and "routes: measured before" in again.stdout


def test_the_fastest_process_grid_is_measured_and_results_may_be_packed(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ("machine.devices_per_rank=4", *backend_of(4), "run.steps=2", "output.pictures=false")
    found = []
    for more in (("dns.process_grid=measured",), ("dns.store=false",), ("dns.process_grid=[2,2]", "dns.store=true")):
        result = here("run", case(tmp_path), *words, *more, "--overwrite")
        assert result.returncode == 0, result.stderr
        grid = re.search(r"process grid (\d) x (\d)", result.stdout)
        assert grid and int(grid[1]) * int(grid[2]) == 4
        found.append(findings(tmp_path)["findings"]["energy"])
    assert found[1:] == pytest.approx([found[0]] * 2, rel=1e-13)
    assert list((tmp_path / "cache").rglob("*")), "the measured grid is not cached"


@pytest.mark.parametrize(("axes", "sign"), [("xy", 1), ("xz", -1), ("yz", 1)])
def test_vorticity_of_a_plane_is_that_of_its_modes(axes: str, sign: int) -> None:
    edges = (2 * np.pi, 6.0)
    wave = 2 * 2 * np.pi / edges[1]
    across, up = np.meshgrid(*(edge * np.arange(n) / n for edge, n in zip(edges, (12, 9), strict=True)))
    velocity = np.zeros((9, 12, 3))
    first, second = ("xyz".index(axis) for axis in axes)
    velocity[..., first], velocity[..., second] = (
        np.sin(across) * np.cos(wave * up),
        -np.cos(across) * np.sin(wave * up),
    )
    plane = SimpleNamespace(axes=axes, edges=edges, vectors=lambda name: velocity)
    found = solver._vorticity(plane)
    np.testing.assert_allclose(found, sign * (1 + wave) * np.sin(across) * np.sin(wave * up), atol=1e-13)


def test_pictures_of_unequal_cells_show_the_whole_box(tmp_path: Path) -> None:
    found = load(tmp_path / case(tmp_path))
    assert box_size(found) == pytest.approx([2 * np.pi] * 3)
    assert planes.parse_cut("z=6.2", found).at == 6.2 and planes.parse_cut("y", found).at == pytest.approx(np.pi)


def test_forcing_holds_what_it_puts_in(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", case(tmp_path), "dns.forcing_power=0.2").returncode == 0
    assert findings(tmp_path)["findings"]["power"] == pytest.approx(0.2)


def test_taylor_green_begins_as_published(cli: Cli, tmp_path: Path) -> None:
    ranges = 'expected={"energy.dissipation_error"=[0.0,0.003], "energy.budget_error"=[0.0,1e-3]}'
    result = cli(
        "run", str(ROOT / "cases" / "dns_taylor_green.toml"), "--variant", "short", "grid.cells=[32,32,32]", ranges
    )
    assert result.returncode == 0, result.stderr
    expected = findings(tmp_path, "dns_taylor_green_short")["expected"]
    assert len(expected) == 2 and all(entry["met"] for entry in expected), expected


@pytest.mark.thorough
def test_the_published_decay_is_out_of_core_what_it_is_in_the_device(cli: Cli, tmp_path: Path) -> None:
    found = {}
    runs = {"resident": ["dns.time_step=0.05", "run.time=20", "expected={}"], "batches": ["--variant", "out_of_core"]}
    for name, words in runs.items():
        words += [f"case.name={name}", "output.pictures=false"]
        result = cli("run", str(ROOT / "cases" / "dns_taylor_green.toml"), *words)
        assert result.returncode == 0, result.stderr
        found[name] = findings(tmp_path, name)["findings"]
    for key in ("energy.dissipation_error", "energy.enstrophy_error", "energy.peak_dissipation"):
        assert found["batches"][key] == pytest.approx(found["resident"][key], rel=1e-10)
    assert found["batches"]["energy.largest_energy_error"] < 0.01


@pytest.mark.thorough
def test_more_cells_out_of_core_come_nearer_to_the_published_decay(cli: Cli, tmp_path: Path) -> None:
    words = ["--variant", "out_of_core", "grid.cells=[128,128,128]", 'dns.device_memory="20 MiB"', "case.name=finer"]
    words += ["dns.time_step=0.024", "run.time=10", "expected={}", "machine.backend=host"]
    result = cli("run", str(ROOT / "cases" / "dns_taylor_green.toml"), *words)
    assert result.returncode == 0, result.stderr
    found = findings(tmp_path, "finer")["findings"]
    # At 64^3 cells the errors of dissipation and energy are 0.12 and 0.0043; 512^3 cells follow the published curve to
    # 0.0003.
    assert found["energy.dissipation_error"] < 0.08
    assert found["energy.largest_energy_error"] < 0.004


@pytest.mark.parametrize("ranks", [1, 2])
def test_lines_are_those_of_the_whole_velocity(cli: Cli, tmp_path: Path, ranks: int) -> None:
    result = cli("run", case(tmp_path), "output.lines=true", "output.fields=true", "-n", str(ranks))
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results" / "decay"
    header, table = rows.read(folder / "lines.csv")
    assert header == ["step", "time", *lines.columns(24)] and len(table) == 7
    u = velocity_file.read(str(folder / "fields.vtkhdf"), (24, 20, 16), [((0, 0, 0), (24, 20, 16))])[0]
    found = [float(value) for value in table[-1][2:]]
    assert found[:13] == pytest.approx(slip.dns.longitudinal_spectrum(u), rel=1e-6)
    assert sum(found[:13]) == pytest.approx((u[..., 0].astype(float) ** 2).mean(), rel=1e-6)
    for n, r in enumerate([1, 2, 4, 8]):
        second, third = (slip.dns.structure_function(u, order, places=[r])[0] for order in (2, 3))
        assert found[13 + n] == pytest.approx(second, rel=1e-6) and found[17 + n] == pytest.approx(third, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (["dns.time_step=1"], None, {"key": "dns.time_step"}),
        (["grid.periodic=[true,true,false]"], "unsupported", {"key": "grid.periodic", "needed": "true, true, true"}),
        (["grid.cells=[24,2,16]"], "invalid_argument", {"key": "grid.cells", "allowed": ">= 4"}),
        (["dns.forcing=energy", "dns.forcing_power=1"], "unsupported", {"key": "dns.forcing_power", "needed": "power"}),
        (["initial.peak=0.04"], None, {"key": "initial.peak"}),
        (["initial.file=a.toml"], "unsupported", {"key": "initial.file", "needed": "file"}),
        (["initial.peak=2", "initial.flow=file"], "unsupported", {"key": "initial.file", "needed": "file"}),
        (
            ["exchange.blocks_per_device=[2,1,1]"],
            "unsupported",
            {"key": "exchange.blocks_per_device", "other": "dns"},
        ),
        (["exchange.overlap=on"], "unsupported", {"key": "exchange.overlap", "other": "dns"}),
        (
            ["dns.precision=f32", "exchange.coding=cast"],
            "unsupported",
            {"key": "exchange.coding", "given": '"cast"', "other": "dns.precision"},
        ),
        (
            ["exchange.coding=cast to bf16"],
            "unsupported",
            {"key": "exchange.coding", "given": '"cast to bf16"', "needed": "cast"},
        ),
        (
            ["output.reference=taylor_green1600"],
            "unsupported",
            {"key": "output.reference", "needed": "taylor_green"},
        ),
        (["stencil.order=2"], "invalid_argument", {"given": "stencil, dns"}),
        (["initial.spectrum=a.toml"], "unsupported", {"key": "initial.peak", "other": "initial.spectrum"}),
        (["dns.viscosty=1"], "not_found", {"key": "dns.viscosty", "nearest": "viscosity"}),
        (["grid.cells=[20000,20000,20000]"], "out_of_memory", {"key": "grid.cells"}),
    ],
)
def test_bad_input_is_one_error(
    cli: Cli, tmp_path: Path, words: list[str], code: str | None, facts: dict[str, object]
) -> None:
    is_one_error(cli("run", case(tmp_path), *words), tmp_path, code, **facts)


def test_process_grid_of_another_number_of_devices_is_one_error(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", case(tmp_path), "dns.process_grid=[3,1]")
    is_one_error(result, tmp_path, "invalid_argument", given="3 x 1", needed=1)


def test_plan_and_check_tell_of_the_case(here: Cli, tmp_path: Path) -> None:
    said = " ".join(here("check", case(tmp_path)).stdout.split())
    assert "pseudo-spectral, rotational form, 2/3 rule, rk4, f64" in said
    said = " ".join(here("plan", "a.toml", "machine.devices_per_rank=2").stdout.split())
    assert "modes, two fields" in said and "largest grid that fits" in said


def test_the_way_of_the_modes_is_predicted(tmp_path: Path) -> None:
    case(tmp_path)
    options = load(tmp_path / "a.toml").options()
    two = core().Machine.discover("host", devices_per_rank=2)
    messages = part("dns").Dns.plan(two, options)["messages"]
    between = [message for message in messages if message["source"] != message["target"]]
    # Bytes by hand: along x 8 of 13 modes are in use, along y 13 of 20; a device has 8 of the 16 planes. Four stages
    # have three forward and six backward transforms each, in f64.
    assert sum(message["bytes"] for message in between) == 4 * 9 * 16 * 8 * 13 * 8
    assert part("dns").Dns.plan(core().Machine.discover("host", devices_per_rank=1), options)["messages"] == []


def test_the_resolved_vortex_is_planned_for_two_gpus(here: Cli, tmp_path: Path) -> None:
    machine = (ROOT / "machines" / "h200x4.toml").read_text()
    machine = re.sub(r"^ranks = 4", "ranks = 2", machine, flags=re.M).replace("groups = [4]", "groups = [2]")
    (tmp_path / "two.toml").write_text(machine)
    words = (str(ROOT / "cases" / "dns_taylor_green.toml"), "--variant", "resolved")
    assert "ends step 5000 (time 20)" in " ".join(here("check", *words).stdout.split())
    said = " ".join(here("plan", *words, "--machine", "two.toml").stdout.split())
    assert "1 1 0..512 0..512 256..512" in said and "largest grid that fits" in said
    resolved = load(ROOT / "cases" / "dns_taylor_green.toml", variant="resolved")
    # The published curves of the vortex have a value at each row of statistics.csv.
    assert resolved.check_every * resolved.dns.time_step / 0.1 == pytest.approx(2)
    assert set(resolved.expected) == {"energy.dissipation_error", "energy.enstrophy_error"}


def test_enstrophy_and_dissipation_stand_beside_the_published_ones(here: Cli, tmp_path: Path) -> None:
    vortex = str(ROOT / "cases" / "dns_taylor_green.toml")
    words = (
        "grid.cells=[32, 32, 32]",
        "dns.time_step=0.05",
        "run.time=1",
        "run.check_every=2",
        "output.pictures=false",
    )
    assert here("run", vortex, *words, "case.name=vortex", "expected={}").returncode == 0
    found = json.loads((tmp_path / "results" / "vortex" / "findings.json").read_text())["findings"]
    # Before the flow is turbulent, its dissipation and enstrophy agree with the reference tables to the digits that
    # these give. The dissipation is 2 nu (viscosity) times the enstrophy, so both errors are equal.
    assert found["energy.dissipation_error"] < 1e-3
    assert abs(found["energy.enstrophy_error"] - found["energy.dissipation_error"]) < 1e-4
    reference = energy.taylor_green_1600()
    assert reference.enstrophy_error(reference.time, 1.01 * reference.enstrophy) == pytest.approx(0.01)
