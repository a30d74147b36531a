"""Statistics describe the fluctuation: a uniform velocity added to the flow changes none of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from errors import raises
from slipstream.base.core import core, part

CELLS = (20, 18, 16)
#: A uniform velocity that moves the flow by BY whole cells in the time MOVED.
MOVED, BY = 0.4, (1, -1, 1)
MEAN = tuple(count * 2 * np.pi / n / MOVED for count, n in zip(BY, CELLS, strict=True))
#: Statistics that may depend on the uniform velocity.
OF_THE_WHOLE = {"time", "courant", "mean_velocity", "budget_error"}


def flow(mean: Sequence[float] = (0, 0, 0), devices: int = 1, **options: Any) -> Any:
    """Random modes plus a uniform velocity."""
    machine = core().Machine.discover("host", devices_per_rank=devices)
    given = {"cells": CELLS, "viscosity": 0.03, "time_step": 0.02} | options
    dns = part("dns").Dns(machine, given)
    dns.random(part("dns").peaked_spectrum(4, 2.0, 0.5), 7)
    velocity = np.asarray(dns.velocity(), dtype=np.float64) + mean
    boxes = [tuple(slice(a, b) for a, b in zip(lo[::-1], hi[::-1], strict=True)) for lo, hi in dns.boxes()]
    dns.begin([np.ascontiguousarray(velocity[box]) for box in boxes])
    return dns


def farthest(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> float:
    """Largest relative difference between `found` and `wanted` statistics of the velocity fluctuation. Differences of
    spectra are relative to the energy."""
    off = [
        abs(found[name] / wanted[name] - 1) for name in wanted.keys() - OF_THE_WHOLE - {"spectrum", "power", "scalars"}
    ]
    spectra = np.subtract(found["spectrum"], wanted["spectrum"])
    return max(*off, np.abs(spectra).max() / wanted["energy"])


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize(("precision", "exact"), [("f64", 1e-12), ("f32", 2e-5)])
def test_statistics_are_those_of_the_fluctuation(devices: int, precision: str, exact: float) -> None:
    still, moving = (flow(mean, devices, type=precision).statistics() for mean in ((0, 0, 0), MEAN))
    assert farthest(moving, still) < exact
    assert moving["mean_velocity"] == pytest.approx(MEAN, rel=exact)
    assert still["mean_velocity"] == pytest.approx((0, 0, 0), abs=1e-7 if precision == "f32" else 1e-15)


def test_fluctuation_and_mean_are_those_of_numpy() -> None:
    dns = flow(MEAN, 2)
    v, found = dns.velocity(), dns.statistics()
    mean = v.mean(axis=(0, 1, 2))
    u = v - mean
    assert found["mean_velocity"] == pytest.approx(tuple(mean), rel=1e-13)
    assert found["energy"] == pytest.approx((u**2).sum(-1).mean() / 2, rel=1e-13)
    assert found["velocity"] == pytest.approx(np.sqrt((u**2).mean()), rel=1e-13)
    assert found["spectrum"][0] == 0 and sum(found["spectrum"]) == pytest.approx(found["energy"], rel=1e-13)
    # The integral scale is the sum over shells of pi / (2 u'^2) E(k) / k.
    k = np.sqrt(sum(np.meshgrid(*((np.fft.fftfreq(n, 1 / n)) ** 2 for n in CELLS[::-1]), indexing="ij")))
    energy = (abs(np.fft.fftn(u, axes=(0, 1, 2))) ** 2).sum(-1) / 2 / np.prod(CELLS) ** 2
    shell = np.floor(k + 0.5)
    scale = np.pi / 2 / (u**2).mean() * (energy[shell > 0] / shell[shell > 0]).sum()
    assert found["integral_scale"] == pytest.approx(scale, rel=1e-12)
    assert found["c_epsilon"] == pytest.approx(found["dissipation"] * scale / (u**2).mean() ** 1.5, rel=1e-12)


def test_the_guard_of_the_time_step_sees_the_whole_velocity() -> None:
    limit = 1.01 * flow().statistics()["courant"]
    flow(largest_courant=limit).check_time_step()
    dns = flow(MEAN, largest_courant=limit)
    courant = (abs(dns.velocity()) * CELLS).sum(-1).max() * 0.02 / (2 * np.pi)
    assert dns.statistics()["courant"] == pytest.approx(courant, rel=1e-12) and courant > 1.1 * limit
    with raises(RuntimeError, "unsupported", given="0.02", option="time_step"):
        dns.check_time_step()


@pytest.mark.parametrize(
    ("scheme", "order"),
    [("rk2", 2), ("rk4", 4)],
)
@pytest.mark.parametrize(
    "forcing",
    [{}, {"forcing_power": 0.3}, {"forcing": "energy"}],
    ids=["decaying", "power", "energy"],
)
def test_uniform_velocity_changes_a_run_by_the_error_of_its_scheme(
    scheme: str, order: int, forcing: dict[str, Any]
) -> None:
    off = []
    for time_step in (0.02, 0.01):
        still, moving = (flow(mean, scheme=scheme, time_step=time_step, **forcing) for mean in ((0, 0, 0), MEAN))
        before = moving.statistics()["mean_velocity"]
        for dns in (still, moving):
            dns.advance(round(MOVED / time_step))
        wanted = np.roll(still.velocity(), BY, (2, 1, 0)) + MEAN
        off.append((farthest(moving.statistics(), still.statistics()), abs(moving.velocity() - wanted).max()))
        assert moving.statistics()["mean_velocity"] == before, "neither forcing nor viscosity acts on the mean"
    assert max(off[0]) < (2e-2 if order == 2 else 5e-5)
    assert np.log2(np.divide(off[0], off[1])) == pytest.approx([order] * 2, abs=0.4)


@pytest.mark.parametrize("forcing", [{}, {"forcing_power": 0.3}, {"forcing": "energy"}])
def test_energy_of_the_fluctuation_balances_beside_a_mean(forcing: dict[str, Any]) -> None:
    dns = flow(MEAN, budget=True, time_step=0.004, **forcing)
    dns.advance(5)
    assert 0 < dns.statistics()["budget_error"] < 1e-6


def test_forcing_finds_a_fluctuation_in_a_fast_mean() -> None:
    dns = flow((1e7, 0, 0), forcing_power=0.3)
    dns.check_forcing()
    dns = flow((3e6, 0, 0), type="f32", forcing_power=0.3)
    with raises(RuntimeError, "unsupported", given=2, option="shells"):
        dns.check_forcing()


def test_integral_scale_of_a_spectrum_is_that_of_its_integral() -> None:
    # The energy spectrum E(k) ~ k^4 exp(-2 (k / p)^2) has its peak at k = p. Its integral length scale is
    # 3 pi / (4 E) integral of E(k) / k = sqrt(2 pi) / p, with the total energy E.
    dns = part("dns").Dns(
        core().Machine.discover("host", devices_per_rank=1), {"cells": (48,) * 3, "viscosity": 0.01, "time_step": 0.01}
    )
    dns.random(part("dns").peaked_spectrum(15, 4.0, 0.5), 1)
    assert dns.statistics()["integral_scale"] == pytest.approx(np.sqrt(2 * np.pi) / 4, rel=1e-3)
