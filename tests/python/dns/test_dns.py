"""Pseudo-spectral flows, compared with a few lines of NumPy."""

from typing import Any

import numpy as np
import pytest
from dns_oracle import Oracle
from errors import raises
from slipstream import _core, _dns

CELLS = (16, 18, 20)
VISCOSITY, TIME_STEP = 0.03, 0.02


def flow(devices: int = 1, **options: Any) -> Any:
    machine = _core.Machine.discover("host", devices_per_rank=devices)
    given = {"cells": CELLS, "viscosity": VISCOSITY, "time_step": TIME_STEP}
    return _dns.Dns(machine, given | options)


def test_an_inspection_finds_a_flow_that_is_not_finite() -> None:
    run = flow()
    run.guard(10)
    run.random(_dns.peaked_spectrum(5, 2, 1e300), 1)
    run.inspect()
    run.advance(3)
    with raises(_core.Diverged, "diverged", cell="(0, 0, 0)", quantity="velocity", rank=0, step=3):
        run.inspect()


@pytest.mark.parametrize("scheme", ["rk2", "rk4"])
@pytest.mark.parametrize("devices", [1, 4])
def test_steps_are_those_of_the_oracle(scheme: str, devices: int) -> None:
    dns = flow(devices, scheme=scheme)
    dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
    oracle = Oracle(dns.velocity(), VISCOSITY)
    dns.advance(5)
    for _ in range(5):
        oracle.step(scheme, TIME_STEP)
    wanted = oracle.velocity()
    np.testing.assert_allclose(dns.velocity(), wanted, atol=1e-13)
    found = dns.statistics()
    assert found["time"] == pytest.approx(5 * TIME_STEP) and dns.step == 5
    assert found["energy"] == pytest.approx((wanted**2).sum(-1).mean() / 2, rel=1e-12)
    assert found["enstrophy"] == pytest.approx((oracle.square * abs(oracle.modes) ** 2).sum() / 2 / np.prod(CELLS) ** 2)
    assert found["dissipation"] == pytest.approx(2 * VISCOSITY * found["enstrophy"])
    assert sum(found["spectrum"]) == pytest.approx(found["energy"])


@pytest.mark.parametrize("budget", [0, 1 << 22])
def test_a_turning_frame_is_that_of_the_oracle(budget: int) -> None:
    rotation = (0.7, -0.4, 1.5)
    dns = flow(rotation=rotation, device_memory=budget)
    dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
    oracle = Oracle(dns.velocity(), VISCOSITY, rotation=rotation)
    dns.advance(5)
    for _ in range(5):
        oracle.step("rk4", TIME_STEP)
    np.testing.assert_allclose(dns.velocity(), oracle.velocity(), atol=1e-13)


def test_an_inertial_wave_turns_at_its_own_rate() -> None:
    """Exact solution of Greenspan (1968): u = Re (a + i b) exp(i k.x + i s t), with b = k x a / |k| and s = 2
    rotation.k / |k|.
    """
    rotation, wave = np.array([0.3, 0.0, 2.0]), np.array([1.0, 2.0, 2.0])
    z, y, x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in CELLS[::-1]), indexing="ij")
    phase = wave[0] * x + wave[1] * y + wave[2] * z
    a = np.array([2.0, 0.0, -1.0]) / np.sqrt(5)  # velocity amplitude, normal to the wave vector: no divergence
    b = np.cross(wave, a) / 3

    def at(time: float) -> Any:
        now = phase + 2 * rotation @ wave / 3 * time
        return np.cos(now)[..., None] * a - np.sin(now)[..., None] * b

    dns = flow(viscosity=0.0, rotation=tuple(rotation), time_step=0.01)
    dns.begin([np.ascontiguousarray(at(0))])
    dns.advance(50)
    np.testing.assert_allclose(dns.velocity(), at(0.5), atol=1e-8)


def test_modes_travel_rounded_on_demand() -> None:
    raw, cast = flow(2), flow(2, coding="cast", measure_errors=True)
    for dns in (raw, cast):
        dns.random(_dns.peaked_spectrum(5, 3, 0.5), 4)
        dns.advance(2)
    # Messages with values cast to f32 keep 24 bits. This bounds the velocity's difference from a run with f64 messages.
    assert 0 < abs(cast.velocity() - raw.velocity()).max() < 1e-5
    of_raw, of_cast = ([row for row in dns.report() if row["source"] != row["target"]] for dns in (raw, cast))
    assert [row["bytes"] for row in of_raw] == [2 * row["bytes"] for row in of_cast]
    assert all(row["largest_error"] is None for row in of_raw)
    assert all(0 < row["rms_error"] <= row["largest_error"] for row in of_cast)


def test_taylor_green_begins_as_it_is_defined() -> None:
    dns = flow(type="f32")
    dns.taylor_green()
    z, y, x = (2 * np.pi * np.arange(n) / n for n in CELLS[::-1])
    z, y = z[:, None, None], y[:, None]
    wanted = [np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * (x + y + z)]
    assert dns.velocity().dtype == np.float32
    np.testing.assert_allclose(dns.velocity(), np.stack(wanted, -1), atol=1e-6)


def test_forcing_holds_turbulence_up() -> None:
    dns = flow(cells=(16, 16, 16), viscosity=0.1, time_step=0.02, forcing_power=0.3, forcing_shells=2)
    dns.random(_dns.peaked_spectrum(4, 2, 0.5), 4)
    dns.advance(500)
    found = dns.statistics()
    assert found["power"] == 0.3 and found["dissipation"] == pytest.approx(0.3, rel=0.5)


def test_bad_input_is_one_error() -> None:
    with raises(RuntimeError, "invalid_argument", of="a pseudo-spectral flow", option="viscocity"):
        flow(viscocity=1)
    with raises(RuntimeError, "invalid_argument", given="euler", option="scheme"):
        flow(scheme="euler")
    with raises(RuntimeError, "unsupported", given=5, option="time_step"):
        dns = flow(time_step=5)
        dns.taylor_green()
        dns.check_time_step()
