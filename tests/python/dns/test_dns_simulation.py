"""Turbulence from Python: slipstream.dns.Simulation, and statistics along lines of a velocity."""

from pathlib import Path

import numpy as np
import pytest
import slipstream as slip
from errors import raises
from slipstream.base.errors import CaseError


def test_a_velocity_of_ones_own_decays_as_its_mode_does() -> None:
    flow = slip.dns.Simulation(
        (16, 12, 8), viscosity=0.1, time_step=0.02, backend="host",
        velocity=lambda x, y, z: (np.sin(2 * y), 0 * x, 0),
    )  # fmt: skip
    flow.run(10)
    assert flow.step == 10 and flow.time == pytest.approx(0.2)
    # The exact solution: a shear flow has no nonlinear term and decays by exp(-nu k^2 t).
    y = 2 * np.pi * np.arange(12) / 12
    wanted = np.zeros((8, 12, 16, 3))
    wanted[..., 0] = (np.sin(2 * y) * np.exp(-0.1 * 4 * 0.2))[:, None]
    np.testing.assert_allclose(flow.velocity, wanted, atol=1e-14)
    assert flow.statistics().spectrum[2] == pytest.approx(np.exp(-2 * 0.1 * 4 * 0.2) / 4)
    assert "16 x 12 x 8 cells" in repr(flow)


def test_arrays_in_host_memory_are_a_keyword() -> None:
    start = {"flow": "random", "peak": 2.0, "energy": 0.5}
    found = []
    for more in ({}, {"device_memory": "4 MiB"}):
        flow = slip.dns.Simulation((16, 16, 16), viscosity=0.02, time_step=0.01, initial=start, backend="host", **more)
        flow.run(3)
        found.append(flow.velocity)
    np.testing.assert_allclose(found[1], found[0], atol=1e-13)


def test_all_that_a_flow_has_on_request_is_a_keyword() -> None:
    flow = slip.dns.Simulation(
        (12, 16, 20), viscosity=0.02, time_step=0.1, courant=0.3, scheme="rk2", dealiasing="phase_shift",
        lengths=(6.0, 6.0, 9.0), schmidt=(0.7, 1), gradients=((0, 0, 1), (0.5, 0, 0)), backend="host",
        forcing="stochastic", forcing_acceleration=0.1, forcing_time=0.5, forcing_seed=3,
    )  # fmt: skip
    flow.run(4)
    found, transfer = flow.statistics(), flow.transfer()
    assert flow.time < 0.4 and found.courant == pytest.approx(0.3)
    assert [scalar.variance > 1e-4 for scalar in found.scalars] == [True, True]
    assert abs(transfer.flux[-1]) < 1e-12 < max(transfer.transfer)
    assert [len(scalar.flux) for scalar in found.scalars] == [3, 3] and len(found.mean_velocity) == 3
    assert found.spectrum.shape == found.scalars[0].spectrum.shape == transfer.flux.shape


def test_a_case_file_is_a_simulation(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[grid]\ncells = [8, 8, 8]\n[dns]\nviscosity = 0.1\ntime_step = 0.01\n[run]\nsteps = 3\n")
    flow = slip.dns.Simulation.from_case(path, ["machine.backend=host"])
    assert flow.statistics().energy == pytest.approx(1 / 8)
    path.write_text(path.read_text().replace("[dns]\nviscosity = 0.1\ntime_step = 0.01", '[sem]\nequation = "poisson"'))
    with pytest.raises(CaseError):
        slip.dns.Simulation.from_case(path)


def test_bad_keywords_are_errors() -> None:
    with raises(TypeError, "not_found", nearest="viscosity", option="viscocity"):
        slip.dns.Simulation((8, 8, 8), viscosity=0.1, time_step=0.01, viscocity=1)  # type: ignore[call-arg]
    with pytest.raises(CaseError):
        slip.dns.Simulation((8, 8, 8), viscosity=0.1, time_step=0.01, device_memory="much")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_have_the_spectrum_and_the_structure_of_a_wave(axis: int) -> None:
    n = (20, 16, 12)[axis]
    place = 2 * np.pi * np.arange(n) / n
    velocity = np.zeros((12, 16, 20, 3))
    wave = 1.5 * np.cos(3 * place) + 0.25
    velocity[..., axis] = wave.reshape([-1 if 2 - a == axis else 1 for a in range(3)])
    spectrum = slip.dns.longitudinal_spectrum(velocity, axis)
    assert spectrum.sum() == pytest.approx((velocity[..., axis] ** 2).mean())
    np.testing.assert_allclose(spectrum, [0.25**2, 0, 0, 1.5**2 / 2] + [0] * (n // 2 - 3), atol=1e-15)
    r = place[: n // 2 + 1]
    second = slip.dns.structure_function(velocity, 2, axis)
    np.testing.assert_allclose(second, 1.5**2 * (1 - np.cos(3 * r)), atol=1e-14)
    np.testing.assert_allclose(slip.dns.structure_function(velocity, 3, axis, [1, 2]), 0, atol=1e-14)


def test_a_structure_function_is_the_mean_over_all_cells() -> None:
    """Compares the structure function with <(u(x + r) - u(x))^3> by brute force."""
    rng = np.random.default_rng(1)
    velocity = rng.normal(size=(3, 4, 5, 3))
    wanted = np.mean(
        [
            (velocity[z, y, (x + 2) % 5, 0] - velocity[z, y, x, 0]) ** 3
            for z in range(3)
            for y in range(4)
            for x in range(5)
        ]
    )
    assert slip.dns.structure_function(velocity, 3, 0, [2])[0] == pytest.approx(wanted)
