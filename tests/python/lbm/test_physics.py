"""Flows compared with published results, symmetries and conservation laws."""

from functools import cache
from math import log, pi

import numpy as np
import pytest
import slipstream._core  # noqa: F401
from slipstream.lbm import Simulation

#: Time to become steady by Reynolds number, in length / reference velocity.
UNTIL = {100: 20, 400: 35, 1000: 45}
#: Cells along a side by Reynolds number. With 96 the velocity profiles have errors of 0.8 and 0.4 percent; the
#: tolerance is 1.5.
CELLS = {100: 96, 400: 96, 1000: 128}


@cache
def square(reynolds: int) -> tuple[Simulation, float, float]:
    """A steady square cavity, with its mass before and after the run."""
    flow = Simulation(
        cells=(CELLS[reynolds],) * 2, reynolds=reynolds, reference_velocity=0.1, precision="f64", backend="host"
    )
    before = flow.mass
    flow.run(until=UNTIL[reynolds], steady=5e-4, quiet=True)
    return flow, before, flow.mass


@pytest.mark.parametrize(
    ("reynolds", "name", "tolerance"),
    [
        (100, "ghia1982", 1.5),
        (400, "ghia1982", 1.5),
        pytest.param(1000, "botella1998", 1.0, marks=pytest.mark.thorough),
    ],
)
def test_every_point_of_the_square_cavity_is_near_the_published_one(reynolds: int, name: str, tolerance: float) -> None:
    result = square(reynolds)[0].compare()
    assert result is not None and result.reference is not None
    assert result.reference.name == name
    assert len(result.points) >= 33
    assert [p for p in result.points if abs(p.error_percent) > tolerance] == []


@pytest.mark.parametrize("reynolds", [100, 400, pytest.param(1000, marks=pytest.mark.thorough)])
def test_square_cavity_keeps_its_mass(reynolds: int) -> None:
    _, before, after = square(reynolds)
    assert abs(after / before - 1) < 1e-6


def test_spanwise_velocity_vanishes_in_the_middle_of_a_cube() -> None:
    flow = Simulation(cells=(32, 32, 32), reynolds=100, reference_velocity=0.1, precision="f32", backend="host")
    flow.run(until=4, quiet=True)
    spanwise, velocity = flow.spanwise(), flow.velocity
    assert spanwise is not None and velocity is not None
    # Off the middle plane there must be spanwise flow, or the test would prove nothing.
    assert abs(velocity[..., 2]).max() > 1e-3 * 0.1
    assert spanwise < 1e-4


def test_cube_is_not_the_square() -> None:
    cube = Simulation(cells=(32, 32, 32), reynolds=400, reference_velocity=0.1, backend="host")
    cube.run(until=20, quiet=True)
    lines = cube.profiles()
    assert lines is not None
    assert lines[0].velocity[:, 0].min() == pytest.approx(-0.2366, abs=0.02)


@cache
def profile(lattice: str, collision: str) -> list[float]:
    flow = Simulation(
        cells=(24, 24, 24),
        reynolds=100,
        reference_velocity=0.1,
        precision="f64",
        backend="host",
        lattice=lattice,
        collision=collision,
    )
    flow.run(until=6, quiet=True)
    lines = flow.profiles()
    assert lines is not None
    return list(lines[0].velocity[:, 0])


@pytest.mark.parametrize(("lattice", "collision"), [("D3Q19", "MRT"), ("D3Q27", "TRT"), ("D3Q27", "cumulant")])
def test_every_method_computes_the_same_cube(lattice: str, collision: str) -> None:
    assert profile(lattice, collision) == pytest.approx(profile("D3Q19", "TRT"), abs=0.01)


def test_force_drives_a_parabola_between_resting_walls() -> None:
    size, viscosity, force = 15, 0.25, 1e-5
    flow = Simulation(
        cells=(4, size),
        viscosity=viscosity,
        reference_velocity=0.01,
        walls={},
        periodic=(True, False, False),
        force=(force, 0, 0),
        precision="f64",
        backend="host",
    )
    flow.run(steady=1e-10, quiet=True)
    velocity = flow.velocity
    assert velocity is not None
    expected = [force / (2 * viscosity) * (j + 0.5) * (size - j - 0.5) for j in range(size)]
    assert velocity[0, :, 2, 0] == pytest.approx(expected, abs=1e-9)


def test_flow_between_a_moving_and_a_resting_wall_is_linear() -> None:
    flow = Simulation(
        cells=(8, 17), viscosity=0.1, reference_velocity=0.05, walls={"y+": (1, 0, 0)}, periodic=(True, False, False),
        precision="f64", backend="host",
    )  # fmt: skip
    flow.run(until=60, steady=1e-12, quiet=True)
    velocity = flow.velocity
    assert velocity is not None
    expected = [0.05 * (j + 0.5) / 17 for j in range(17)]
    assert velocity[0, :, 3, 0] == pytest.approx(expected, abs=1e-9)


def shear_viscosity(precision: str, speed: float, along: str, phase: float) -> float:
    """Viscosity from the decay of an axis-aligned wave, with the moment representation, relative to the given one."""
    viscosity, steps, length = 0.02, 1300, 32
    axis = "xy".index(along)
    velocity: list[float | str] = [0, 0, 0]
    velocity[1 - axis] = f"sin(2*pi*{along}/L{along}+{phase})"
    flow = Simulation(
        cells=(length, length, 8), viscosity=viscosity, reference_velocity=speed, length=length, walls={},
        periodic=(True, True, True), initial={"velocity": velocity}, representation="moments", precision=precision,
        backend="host",
    )  # fmt: skip
    wave = np.sin(2 * pi * (np.arange(length) + 0.5) / length + phase)

    def part() -> float:
        found = flow.velocity
        assert found is not None
        return float(found[..., 1 - axis].mean(axis=(0, 1 + axis), dtype=np.float64) @ wave)

    early = part()
    flow.run(steps=steps, quiet=True)
    return log(early / part()) / ((2 * pi / length) ** 2 * viscosity * steps)


@pytest.mark.thorough
@pytest.mark.parametrize("speed", [1e-2, 1e-3, 1e-4])
def test_shear_wave_of_16_bits_decays_as_in_f32(speed: float) -> None:
    right = shear_viscosity("f32", speed, "y", 0.0)
    starts = [("y", 0.0), ("y", 0.05), ("x", 0.0), ("x", 0.1)]
    errors = [shear_viscosity("f16", speed, *start) / right - 1 for start in starts]
    # The viscosity from one run has a standard deviation of 2e-4 (tests/unit/solver/lbm/rounded_moments_test.cpp). It
    # would be 4e-3 if the cells of a plane rounded alike.
    assert np.abs(errors).max() < 1e-3
    assert abs(np.mean(errors)) < 5e-4
