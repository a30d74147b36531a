"""Time steps, boxes, dealiasing, scalars and stochastic forcing of pseudo-spectral flows, compared with NumPy and
theory.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from conftest import Cli, backend_of, is_one_error
from dns_oracle import Oracle
from errors import raises
from slipstream import _core, _dns
from slipstream.base.core import as_case_error
from slipstream.base.errors import CaseError

CELLS = (16, 18, 20)
LENGTHS = (2 * np.pi, 3.0, 8.0)
VISCOSITY, TIME_STEP = 0.03, 0.02


def flow(devices: int = 1, **options: Any) -> Any:
    machine = _core.Machine.discover("host", devices_per_rank=devices)
    given = {"cells": CELLS, "viscosity": VISCOSITY, "time_step": TIME_STEP}
    return _dns.Dns(machine, given | options)


def places(cells: Any = CELLS, lengths: Any = (2 * np.pi,) * 3) -> Any:
    """Coordinates x, y, z of all cells, each [z][y][x]."""
    edges = [length / n * np.arange(n) for n, length in zip(cells, lengths, strict=True)]
    return np.meshgrid(*edges[::-1], indexing="ij")[::-1]


def some_scalars(count: int, cells: Any = CELLS, lengths: Any = (2 * np.pi,) * 3) -> Any:
    x, y, z = (2 * np.pi * at / length for at, length in zip(places(cells, lengths), lengths, strict=True))
    return np.stack([np.sin(x + n * y) + 0.5 * np.cos(2 * y - z + n) for n in range(count)], -1)


def begin_scalars(dns: Any, values: Any) -> None:
    blocks = []
    for lo, hi in dns.boxes():
        (x, y, z), (ex, ey, ez) = lo, hi
        blocks.append(np.ascontiguousarray(values[z:ez, y:ey, x:ex]))
    dns.begin_scalars(blocks)


def modes_of(dns: Any) -> Any:
    """All Fourier modes of the velocity, [z][y][x][component]: NumPy's forward FFT divided by the number of cells."""
    return np.fft.fftn(dns.velocity(), axes=(0, 1, 2)) / np.prod(dns.velocity().shape[:3])


@pytest.mark.parametrize(("devices", "memory"), [(1, 0), (4, 0), (1, 1 << 22), (4, 1 << 24)])
def test_steps_of_a_courant_number_are_those_of_the_oracle(devices: int, memory: int) -> None:
    dns = flow(devices, scheme="rk2", courant=0.3, time_step=0.5, device_memory=memory)
    dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
    oracle, time = Oracle(dns.velocity(), VISCOSITY), 0.0
    for _ in range(4):
        assert dns.statistics()["courant"] == pytest.approx(0.3)
        dt = 0.3 / oracle.speed()
        assert dns.statistics()["time_step"] == pytest.approx(dt, rel=1e-12)
        oracle.step("rk2", dt)
        time += dt
        dns.advance(1)
    assert dns.time == pytest.approx(time, rel=1e-12) and dns.carried()["time_step"] == pytest.approx(dt, rel=1e-12)
    np.testing.assert_allclose(dns.velocity(), oracle.velocity(), atol=1e-13)


def test_no_step_of_a_courant_number_is_longer_than_the_longest() -> None:
    dns = flow(courant=0.5, time_step=0.001)
    dns.taylor_green()
    dns.advance(3)
    assert dns.time == pytest.approx(0.003, rel=1e-14) and dns.statistics()["courant"] < 0.5


@pytest.mark.parametrize(("devices", "memory"), [(1, 0), (4, 0), (1, 1 << 22), (4, 1 << 24)])
def test_steps_in_a_stretched_box_are_those_of_the_oracle(devices: int, memory: int) -> None:
    dns = flow(devices, lengths=LENGTHS, device_memory=memory)
    dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
    oracle = Oracle(dns.velocity(), VISCOSITY, lengths=LENGTHS)
    assert dns.statistics()["courant"] == pytest.approx(TIME_STEP * oracle.speed(), rel=1e-13)
    dns.advance(5)
    for _ in range(5):
        oracle.step("rk4", TIME_STEP)
    np.testing.assert_allclose(dns.velocity(), oracle.velocity(), atol=1e-12)
    found, modes = dns.statistics(), oracle.modes / np.prod(CELLS)
    energy = (abs(modes) ** 2).sum(0) / 2
    assert found["dissipation"] == pytest.approx(2 * VISCOSITY * (oracle.square * energy).sum(), rel=1e-12)
    shell = np.floor(np.sqrt(oracle.square) / (2 * np.pi / max(LENGTHS)) + 0.5).astype(int)
    wanted = np.bincount(shell.ravel(), energy.ravel(), minlength=shell.max() + 1)
    np.testing.assert_allclose(found["spectrum"], wanted[: len(found["spectrum"])], atol=1e-15)
    assert wanted[len(found["spectrum"]) :].sum() == pytest.approx(0, abs=1e-15)
    k = np.arange(1, len(found["spectrum"])) * 2 * np.pi / max(LENGTHS)
    scale = np.pi / (2 * found["velocity"] ** 2) * (wanted[1 : len(k) + 1] / k).sum()
    assert found["integral_scale"] == pytest.approx(scale)


def test_a_mode_decays_by_its_wave_number_in_a_stretched_box() -> None:
    wave = 2 * np.pi * 2 / LENGTHS[1]
    sim = slip.dns.Simulation(
        (8, 12, 8), viscosity=0.1, time_step=0.02, backend="host", lengths=LENGTHS,
        velocity=lambda x, y, z: (np.sin(wave * y), 0 * x, 0),
    )  # fmt: skip
    sim.run(10)
    y = LENGTHS[1] / 12 * np.arange(12)
    wanted = np.sin(wave * y) * np.exp(-0.1 * wave**2 * 0.2)
    np.testing.assert_allclose(sim.velocity[0, :, 0, 0], wanted, atol=1e-14)


def test_a_stretched_box_conserves_energy_to_the_order_of_the_scheme() -> None:
    lost = []
    for dt in (0.1, 0.05):
        dns = flow(lengths=LENGTHS, viscosity=0.0, time_step=dt)
        dns.taylor_green()
        before = dns.statistics()["energy"]
        dns.advance(round(1 / dt))
        lost.append(abs(dns.statistics()["energy"] / before - 1))
    assert lost[0] < 1e-5 and 24 < lost[0] / lost[1] < 40  # error ratio for half the time step at order 5: 32


def test_forcing_counts_shells_by_the_longest_edge() -> None:
    for memory in (0, 1 << 22):
        dns = flow(lengths=LENGTHS, forcing="energy", forcing_shells=3, device_memory=memory)
        dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
        before = sum(dns.statistics()["spectrum"][:4])
        dns.advance(5)
        assert sum(dns.statistics()["spectrum"][:4]) == pytest.approx(before, rel=1e-12)
        assert dns.statistics()["power"] > 0


def convolution(modes: Any, lengths: Any = (2 * np.pi,) * 3) -> tuple[Any, Any]:
    """Wave numbers and (u x w)_k of all modes k other than zero, by direct sums over all p + q = k."""
    cells = modes.shape[2::-1]
    index = np.stack(np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in cells[::-1]), indexing="ij")[::-1], -1)
    held = (abs(modes) > 1e-15).any(-1)
    at, u = index[held].astype(int), modes[held]
    w = 1j * np.cross(at * (2 * np.pi / np.array(lengths)), u)
    place = {tuple(k): n for n, k in enumerate(at)}
    found = np.zeros_like(u)
    for p, u_p in zip(at, u, strict=True):
        sums = at + p
        of = np.array([place.get(tuple(k), -1) for k in sums])
        np.add.at(found, of[of >= 0], np.cross(u_p, w)[of >= 0])
    return at, found


def alias_error(dealiasing: str, dt: float, **options: Any) -> float:
    """Relative distance of a step's derivative (Heun's scheme) from the direct convolution; includes errors of rounding
    and of dt.
    """
    dns = flow(cells=(8, 8, 10), viscosity=0.0, time_step=dt, scheme="rk2", dealiasing=dealiasing, **options)
    count = dns.shells
    dns.random([0] + [0.1] * (count - 1), 5)
    before = modes_of(dns)
    at, product = convolution(before)
    square = (at**2).sum(-1, keepdims=True)
    wanted = product - at * (at * product).sum(-1, keepdims=True) / square
    dns.advance(1)
    slope = (modes_of(dns) - before) / dt
    index = tuple((at[:, a] % before.shape[2 - a]) for a in (2, 1, 0))
    off = slope[index] - wanted
    return float(np.sqrt((abs(off) ** 2).sum() / (abs(wanted) ** 2).sum()))


@pytest.mark.parametrize("options", [{}, {"device_memory": 1 << 22}])
def test_shifted_grids_have_no_aliases_to_the_order_of_the_step(options: Any) -> None:
    exact, none = alias_error("two_thirds", 1e-6, **options), alias_error("spherical", 1e-6, **options)
    shifted = [alias_error("phase_shift", dt, **options) for dt in (2e-3, 1e-3)]
    assert exact < 1e-4 and none > 0.05
    assert shifted[1] < 0.1 * none and shifted[0] / shifted[1] == pytest.approx(2, abs=0.2)


def test_rk4_shifts_by_turns_too() -> None:
    dns = flow(cells=(16, 16, 16), viscosity=0.0, time_step=2e-3, dealiasing="phase_shift")
    dns.random(_dns.peaked_spectrum(4, 2, 0.5), 5)
    before = dns.statistics()["energy"]
    dns.advance(20)
    assert dns.statistics()["energy"] == pytest.approx(before, rel=1e-8)


@pytest.mark.parametrize("dealiasing", ["spherical", "phase_shift"])
def test_a_sphere_of_modes_is_kept(dealiasing: str) -> None:
    dns = flow(3, dealiasing=dealiasing)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(20, 18, 16, 3))
    dns.begin([np.ascontiguousarray(noise[z:ez, y:ey, x:ex]) for (x, y, z), (ex, ey, ez) in dns.boxes()])
    index = np.stack(np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in CELLS[::-1]), indexing="ij")[::-1], -1)
    inside = ((index / CELLS) ** 2).sum(-1) < 2 / 9
    for _ in range(2):
        energy = (abs(modes_of(dns)) ** 2).sum(-1)
        assert (energy[inside] > 1e-12).all() and energy[~inside].max() < 1e-28
        assert sum(dns.statistics()["spectrum"]) == pytest.approx(dns.statistics()["energy"])
        dns.advance(1)


@pytest.mark.parametrize("scheme", ["rk2", "rk4"])
@pytest.mark.parametrize(("devices", "memory"), [(1, 0), (4, 0), (1, 1 << 23), (4, 1 << 24)])
def test_scalars_are_those_of_the_oracle(scheme: str, devices: int, memory: int) -> None:
    given = {"schmidt": (0.7, 4.0), "gradients": ((0.0, 0.3, 1.0), (0.0, 0.0, 0.0)), "lengths": LENGTHS}
    dns = flow(devices, scheme=scheme, device_memory=memory, forcing_power=0.0, **given)
    dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
    theta = some_scalars(2, CELLS, LENGTHS)
    begin_scalars(dns, theta)
    oracle = Oracle(dns.velocity(), VISCOSITY, scalars=theta, **given)
    dns.advance(5)
    for _ in range(5):
        oracle.step(scheme, TIME_STEP)
    np.testing.assert_allclose(dns.velocity(), oracle.velocity(), atol=1e-12)
    values, u = oracle.scalars(), oracle.velocity()
    square = oracle.square
    for n, found in enumerate(dns.statistics()["scalars"]):
        modes = oracle.modes[3 + n] / np.prod(CELLS)
        assert found["variance"] == pytest.approx((values[..., n] ** 2).mean(), rel=1e-11)
        diffusivity = VISCOSITY / given["schmidt"][n]
        assert found["dissipation"] == pytest.approx(2 * diffusivity * (square * abs(modes) ** 2).sum(), rel=1e-10)
        np.testing.assert_allclose(found["flux"], (u * values[..., n : n + 1]).mean((0, 1, 2)), atol=1e-13)
        assert sum(found["spectrum"]) == pytest.approx(found["variance"])


def test_a_mode_of_a_scalar_decays_by_its_own_diffusivity() -> None:
    sim = slip.dns.Simulation(
        (8, 12, 8), viscosity=0.1, time_step=0.02, backend="host", schmidt=(0.5, 2.0),
        velocity=lambda x, y, z: (0 * x, 0, 0), scalars=lambda x, y, z: (np.sin(2 * y + z), np.cos(x)),
    )  # fmt: skip
    sim.run(10)
    first, second = sim.statistics()["scalars"]
    assert first["variance"] == pytest.approx(0.5 * np.exp(-2 * 0.2 * 5 * 0.2), rel=1e-13)
    assert second["variance"] == pytest.approx(0.5 * np.exp(-2 * 0.05 * 1 * 0.2), rel=1e-13)
    assert first["spectrum"][2] == pytest.approx(first["variance"])


@pytest.mark.parametrize("dealiasing", ["two_thirds", "phase_shift"])
def test_the_variance_of_a_scalar_is_what_was_made_and_not_destroyed(dealiasing: str) -> None:
    gradient = np.array([0.2, 0.0, 1.0])
    dns = flow(time_step=0.005, schmidt=(0.7,), gradients=(tuple(gradient),), dealiasing=dealiasing)
    dns.random(_dns.peaked_spectrum(4, 2, 0.5), 4)
    rates, variances = [], []
    for _ in range(41):
        found = dns.statistics()["scalars"][0]
        rates.append(-2 * gradient @ found["flux"] - found["dissipation"])
        variances.append(found["variance"])
        dns.advance(1)
    # Weights of Simpson's rule.
    weights = np.array([1, *[4, 2] * 19, 4, 1]) * 0.005 / 3
    assert variances[-1] - variances[0] == pytest.approx(
        weights @ rates, rel=1e-6 if dealiasing == "two_thirds" else 1e-3
    )
    assert variances[-1] > 1e-3


@pytest.mark.parametrize("memory", [0, 1 << 22])
@pytest.mark.parametrize("lengths", [(2 * np.pi,) * 3, (2 * np.pi, 3.0, 8.0)])
def test_transfer_is_that_of_the_convolution(memory: int, lengths: Any) -> None:
    dns = flow(cells=(8, 10, 12), lengths=lengths, device_memory=memory, rotation=(0, 0, 1.5), schmidt=(1.0,))
    dns.random([0] + [0.1] * 3, 5)
    modes = modes_of(dns)
    at, product = convolution(modes, lengths)
    u = modes[tuple(at[:, a] % modes.shape[2 - a] for a in (2, 1, 0))]
    k = at * (2 * np.pi / np.array(lengths)) / (2 * np.pi / max(lengths))
    shell = np.floor(np.sqrt((k**2).sum(-1)) + 0.5).astype(int)
    found = dns.transfer()
    wanted = np.bincount(shell, (u.conj() * product).sum(-1).real, minlength=dns.shells)
    assert abs(wanted).max() > 1e-3
    np.testing.assert_allclose(found["transfer"], wanted, atol=1e-15)
    np.testing.assert_allclose(found["flux"], -np.cumsum(found["transfer"]), atol=1e-15)
    dns.advance(1)  # output between steps changes nothing
    again = flow(cells=(8, 10, 12), lengths=lengths, device_memory=memory, rotation=(0, 0, 1.5), schmidt=(1.0,))
    again.random([0] + [0.1] * 3, 5)
    again.advance(1)
    np.testing.assert_array_equal(dns.velocity(), again.velocity())


@pytest.mark.parametrize("dealiasing", ["two_thirds", "phase_shift"])
@pytest.mark.parametrize("devices", [1, 4])
def test_transfer_only_moves_energy(dealiasing: str, devices: int) -> None:
    dns = flow(devices, viscosity=0.0, dealiasing=dealiasing)
    dns.random([0] + [0.05] * (dns.shells - 1), 4)
    dns.advance(2)
    found = dns.transfer()
    assert abs(found["flux"][-1]) < 1e-13 * np.abs(found["transfer"]).sum()
    assert max(np.abs(found["transfer"])) > 1e-3


def accelerations(count: int, **options: Any) -> tuple[Any, Any]:
    """Forcing coefficients after each of `count` steps, and the flow."""
    given = {"forcing": "stochastic", "forcing_acceleration": 0.5, "forcing_time": 0.3, "forcing_shells": 2}
    dns = flow(**{"cells": (8, 8, 8), "time_step": 0.1, "viscosity": 1.0, **given, **options})
    dns.random([0, 1e-4], 1)
    found = []
    for _ in range(count):
        dns.advance(1)
        found.append(dns.carried()["accelerations"])
    return np.array(found), dns


def test_accelerations_are_ornstein_uhlenbeck_processes() -> None:
    values, _ = accelerations(400)
    # 80 modes have |k| < 2.5, of which one of each pair k and -k is independent.
    numbers = values.shape[1]
    assert numbers % 6 == 0 and numbers // 6 == 40
    # Number of independent samples of a process with this correlation time
    independent = 400 * numbers * np.tanh(0.05 / 0.3)
    assert values.mean() == pytest.approx(0, abs=5 * 0.5 / np.sqrt(independent))
    assert values.var() == pytest.approx(0.25, rel=5 * np.sqrt(2 / independent))
    for lag in (1, 3, 6):
        measured = (values[lag:] * values[:-lag]).mean() / values.var()
        assert measured == pytest.approx(np.exp(-lag * 0.1 / 0.3), abs=5 / np.sqrt(independent))
    # Independent components of the random force must be nearly uncorrelated.
    correlations = np.corrcoef(values.T)
    assert abs(correlations[np.triu_indices(numbers, 1)]).mean() < 0.1


def test_stochastic_forcing_is_the_same_anywhere_and_goes_on() -> None:
    values, dns = accelerations(4)
    for options in ({"device_memory": 1 << 22}, {"device_memory": 1 << 24, "devices": 2}):
        others, other = accelerations(4, **options)
        np.testing.assert_array_equal(others, values)
        np.testing.assert_allclose(other.velocity(), dns.velocity(), atol=1e-14)
    again, _ = accelerations(4, forcing_seed=2)
    assert abs(again - values).max() > 0.1
    with raises(CaseError, "mismatch", needed=240, given=6), as_case_error():
        dns.carry(dns.carried() | {"accelerations": [0.0] * 6})
        dns.advance(1)


def test_stochastic_forcing_puts_in_what_eswaran_and_pope_estimate() -> None:
    """Estimate of the dissipation by Eswaran and Pope: epsilon = 4 N e / (1 + T N^(1/3) / beta) with e = acceleration^2
    time, T = time e^(1/3) k_0^(2/3), beta = 0.8.
    """
    acceleration, time, modes = 0.1, 0.4, 80
    dns = flow(
        cells=(24, 24, 24), viscosity=0.08, time_step=0.04, forcing="stochastic", forcing_seed=3,
        forcing_acceleration=acceleration, forcing_time=time,
    )  # fmt: skip
    dns.random([0, 0.3, 0.3], 1)
    dns.advance(100)
    start, lost, work = dns.statistics(), [], []
    for _ in range(200):
        dns.advance(2)
        found = dns.statistics()
        lost.append(found["dissipation"])
        work.append(found["power"])
    put_in = np.mean(lost) + (found["energy"] - start["energy"]) / (400 * 0.04)
    e = acceleration**2 * time
    estimate = 4 * modes * e / (1 + time * e ** (1 / 3) * modes ** (1 / 3) / 0.8)
    assert put_in == pytest.approx(np.mean(work), rel=0.1)
    assert put_in == pytest.approx(estimate, rel=0.3)


def test_a_stochastic_forcing_is_accounted_for() -> None:
    dns = flow(budget=True, forcing="stochastic", forcing_acceleration=0.1, forcing_time=0.4, time_step=0.005)
    dns.random(_dns.peaked_spectrum(4, 2, 0.5), 4)
    dns.advance(5)
    assert 0 < dns.statistics()["budget_error"] < 1e-5


@pytest.mark.parametrize(
    ("options", "code", "facts"),
    [
        ({"courant": -0.1}, "invalid_argument", {"option": "courant", "given": -0.1}),
        ({"courant": 1.4}, "unsupported", {"option": "courant", "limit": 1.3}),
        ({"courant": 0.6, "scheme": "rk2"}, "unsupported", {"option": "courant", "limit": 0.5}),
        ({"lengths": (1.0, 0.0, 1.0)}, "invalid_argument", {"option": "lengths"}),
        ({"lengths": (1.0, float("inf"), 1.0)}, "invalid_argument", {"option": "lengths"}),
        ({"dealiasing": "none"}, "invalid_argument", {"option": "dealiasing", "given": "none"}),
        ({"schmidt": (0.0,)}, "invalid_argument", {"option": "schmidt"}),
        ({"schmidt": (1.0,), "gradients": ()}, None, None),
        ({"schmidt": (1.0, 2.0), "gradients": ((0.0, 0.0, 1.0),)}, "mismatch", {"given": 1, "needed": 2}),
        ({"schmidt": (1.0,), "gradients": ((0.0, 0.0, float("nan")),)}, "invalid_argument", {"option": "gradients"}),
        ({"forcing": "stochastic", "forcing_time": 1.0}, "invalid_argument", {"option": "acceleration"}),
        ({"forcing": "stochastic", "forcing_acceleration": 1.0}, "invalid_argument", {"option": "correlation_time"}),
        ({"forcing_time": 1.0}, "unsupported", {"option": "correlation_time"}),
        ({"forcing": "noise"}, "invalid_argument", {"option": "forcing", "given": "noise"}),
    ],
)
def test_options_that_cannot_be_are_one_error(options: Any, code: str | None, facts: Any) -> None:
    if code is None:
        flow(**options)
        return
    with raises(CaseError, code, **facts), as_case_error():
        flow(**options)


def test_scalars_that_are_not_there_are_one_error() -> None:
    with raises(CaseError, "mismatch", given=1, needed=0), as_case_error():
        begin_scalars(flow(), some_scalars(1))
    with raises(CaseError, "mismatch", given=2, needed=1), as_case_error():
        begin_scalars(flow(schmidt=(1.0,)), some_scalars(2))
    with raises(CaseError, "invalid_argument", key="dns.gradients", needed=1, given=0):
        slip.dns.Simulation((8, 8, 8), viscosity=0.1, time_step=0.01, schmidt=(1.0,), gradients=())


ALL = """
[case]
name = "all"
[grid]
cells = [12, 16, 20]
[dns]
viscosity = 0.02
time_step = 0.5
courant = 0.4
scheme = "rk2"
lengths = [6.0, 6.0, 9.0]
dealiasing = "phase_shift"
schmidt = [0.7, 2.0]
gradients = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
forcing = "stochastic"
forcing_acceleration = 0.1
forcing_time = 0.4
[initial]
flow = "random"
peak = 2.0
energy = 0.3
[run]
steps = 12
check_every = 3
[output]
transfer = true
pictures = false
"""
TABLES = ("statistics.csv", "spectra.csv", "scalars.csv", "transfer.csv")


def left(folder: Path) -> list[str]:
    return [(folder / name).read_text() for name in TABLES]


def test_all_of_it_has_the_same_bits_on_devices_and_goes_on_from_a_checkpoint(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(ALL)
    found = []
    for name, ranks, count in (("one", "1", 4), ("two", "2", 2), ("four", "4", 1)):
        words = (f"case.name={name}", f"machine.devices_per_rank={count}", "dns.process_grid=[2,2]", *backend_of(4))
        result = cli("run", "a.toml", *words, "-n", ranks)
        assert result.returncode == 0, result.stderr
        found.append(left(tmp_path / "results" / name))
    assert found[0] == found[1] == found[2]
    (transfer,) = (list(csv.reader(text.splitlines())) for text in found[0][3:])
    assert transfer[0][:3] == ["step", "time", "T0"] and len(transfer) == 6
    words = ("case.name=again", "machine.devices_per_rank=4", "dns.process_grid=[2,2]", *backend_of(4))
    assert cli("run", "a.toml", *words, "run.steps=6").returncode == 0
    result = cli("run", "a.toml", *words, "--restart", "last")
    assert result.returncode == 0, result.stderr
    assert left(tmp_path / "results" / "again") == found[0]


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        (["run.time=1"], "unsupported", {"key": "run.time", "other": "dns.courant", "needed": "run.steps"}),
        (["output.every=0.1"], "unsupported", {"key": "output.every", "other": "dns.courant"}),
        (["dns.courant=0"], None, {"key": "dns.courant"}),
        (["dns.courant=0.7"], "unsupported", {"option": "courant", "limit": 0.5}),
        (["dns.lengths=[1,2,0]"], None, {"key": "dns.lengths[2]"}),
        (["dns.dealiasing=none"], None, {"key": "dns.dealiasing"}),
        (["dns.schmidt=[1.0]"], "invalid_argument", {"key": "dns.gradients", "needed": 1, "given": 2}),
        (["dns.schmidt=[1.0,-1.0]"], None, {"key": "dns.schmidt[1]"}),
        (["dns.forcing_time=0"], "not_found", {"key": "dns.forcing_time", "needed": "forcing_time"}),
        (["dns.forcing=energy"], "unsupported", {"key": "dns.forcing_time", "needed": "stochastic"}),
        (["dns.forcing_power=1"], "unsupported", {"key": "dns.forcing_power", "needed": "power"}),
    ],
)
def test_keys_that_cannot_be_are_one_error(
    cli: Cli, tmp_path: Path, words: list[str], code: str | None, facts: dict[str, object]
) -> None:
    (tmp_path / "a.toml").write_text(ALL)
    is_one_error(cli("run", "a.toml", *words), tmp_path, code, **facts)
