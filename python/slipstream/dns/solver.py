"""Pseudo-spectral flows for the registry: implements `slipstream.case.solver.Solver`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base import toml_text
from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case.solver import Run
from slipstream.case.tables import EXCHANGE_PARTS
from slipstream.dns import spectrum, velocity_file
from slipstream.dns.case import DnsCase
from slipstream.machine.told import Plan

if TYPE_CHECKING:
    from slipstream._core import Machine, Trace

Tiles = list[tuple[str, str]]

_DEALIASING = {
    "two_thirds": "2/3 rule",
    "spherical": "spherical truncation",
    "phase_shift": "spherical truncation with shifted grids",
}

case_type = DnsCase
unit_of_rate = "Mcell/s"
files = ("findings.json", "statistics.csv", "spectra.csv", "scalars.csv", "transfer.csv", "lines.csv", "spectrum.csv")
pictures = {"spectrum.png": "Energy by wave number", "dissipation.png": "Energy and its dissipation over time"}
collisions: Mapping[str, Mapping[str, str]] = {}


def complete(data: dict[str, Any]) -> dict[str, Any]:
    """Makes the box periodic along all axes by default."""
    grid = data.get("grid")
    if isinstance(grid, dict) and "periodic" not in grid:
        return data | {"grid": grid | {"periodic": [True, True, True]}}
    return data


def problems(case: DnsCase) -> list[tuple[toml_text.Path, str]]:
    found: list[tuple[toml_text.Path, str]] = []
    if not all(case.grid.periodic):
        found.append(
            (
                ("grid", "periodic"),
                unsupported(
                    "a pseudo-spectral flow is periodic along all axes; leave the key out", needed="true, true, true"
                ),
            )
        )
    if min(case.grid.cells) < 4:
        found.append((("grid", "cells"), Fault("each axis needs 4 cells or more", allowed=">= 4")))
    if case.run.steps is None and case.run.time is None:
        found.append((("run",), missing("give steps or time, so that the run ends", needed="steps or time")))
    why = {
        "blocks": "transforms cut the box themselves: dns.process_grid says how",
        "halos": "belongs to solvers with halos; dns.overlap says what transforms travel beside",
        "rim": "belongs to solvers with halos",
    }
    for keys, said in why.items():
        for key in EXCHANGE_PARTS[keys]:
            if getattr(case.exchange, key) != type(case.exchange).model_fields[key].default:
                found.append((("exchange", key), unsupported(said, other="dns")))
    if case.dns.budget and case.dns.device_memory:
        found.append(
            (
                ("dns", "budget"),
                unsupported(
                    "takes sums at every stage, which arrays in host memory do not have", other="dns.device_memory"
                ),
            )
        )
    if not case.dns.device_memory:
        for key in {"host_copies", "synchronous"} & case.dns.model_fields_set:
            found.append(
                (("dns", key), unsupported("goes with dns.device_memory", other="dns.device_memory", needed="8 GiB"))
            )
    coding = case.exchange.coding
    if coding.startswith("cast") and (coding not in ("cast", "cast to f32") or case.dns.precision != "f64"):
        said = 'transposes cast f64 to f32 and nothing else: take "cast" with dns.precision = "f64", or leave it out'
        found.append((("exchange", "coding"), unsupported(said, other="dns.precision", needed="cast")))
    if case.output.reference == "taylor_green1600" and not case.is_reference_flow:
        found.append(
            (
                ("output", "reference"),
                unsupported(
                    'belongs to initial.flow = "taylor_green" with dns.viscosity = 1/1600',
                    other="initial.flow",
                    needed="taylor_green",
                ),
            )
        )
    if case.initial.spectrum:
        if case.initial.flow != "random":
            found.append(
                (
                    ("initial", "spectrum"),
                    unsupported('belongs to flow = "random"', other="initial.flow", needed="random"),
                )
            )
        for key in {"peak", "energy"} & case.initial.model_fields_set:
            found.append(
                (
                    ("initial", key),
                    unsupported(
                        "the file of initial.spectrum says it; leave one of the two out", other="initial.spectrum"
                    ),
                )
            )
    if (case.initial.flow == "file") != (case.initial.file is not None):
        found.append(
            (
                ("initial", "file"),
                unsupported('goes with flow = "file": give both, or neither', other="initial.flow", needed="file"),
            )
        )
    if case.dns.courant:
        said = "steps of a Courant number end at no time that is known before: give run.steps, and fields at the end"
        for table, key in (("run", "time"), ("output", "every")):
            if getattr(getattr(case, table), key) is not None:
                found.append(((table, key), unsupported(said, other="dns.courant", needed="run.steps")))
    gradients = case.dns.gradients
    if gradients is not None and len(gradients) != len(case.dns.schmidt):
        said = "a mean gradient for each number of dns.schmidt, or none"
        found.append((("dns", "gradients"), Fault(said, needed=len(case.dns.schmidt), given=len(gradients))))
    for key in ("forcing_acceleration", "forcing_time"):
        is_given = bool(getattr(case.dns, key))
        if case.dns.forcing == "stochastic" and not is_given:
            found.append((("dns", key), missing("a stochastic forcing needs it, above 0", needed=key)))
        if case.dns.forcing != "stochastic" and is_given:
            said = 'belongs to forcing = "stochastic"'
            found.append((("dns", key), unsupported(said, other="dns.forcing", needed="stochastic")))
    if case.dns.forcing != "power" and case.dns.forcing_power:
        found.append(
            (("dns", "forcing_power"), unsupported('belongs to forcing = "power"', other="dns.forcing", needed="power"))
        )
    by_energy = case.is_forced and case.dns.forcing != "stochastic"
    if by_energy and case.initial.flow == "taylor_green" and case.dns.forcing_shells < 2:
        found.append(
            (
                ("dns", "forcing_shells"),
                unsupported(
                    "Taylor and Green's vortex has no energy below |k| = sqrt(3): take 2",
                    other="initial.flow",
                    needed=2,
                ),
            )
        )
    return found


def check_before_start(case: DnsCase) -> None:
    """Checks the file of the spectrum, and that the file of the velocity has this grid."""
    if case.initial.spectrum:
        spectrum.read(case.initial.spectrum)
    if case.initial.file:
        velocity_file.check(case.initial.file, case.grid.cells)


def check_at_length(case: DnsCase) -> None:
    """No check takes long."""


def warnings(case: DnsCase) -> list[str]:
    cells = max(case.grid.cells)
    # kmax eta = 1.5 with the dissipation that the forcing leads to (Pope 2000, 9.1).
    power, viscosity = case.dns.forcing_power, case.dns.viscosity
    if not (power and viscosity):
        return []
    resolved = (cells - 1) // 3 * (viscosity**3 / power) ** 0.25
    if resolved >= 1.4:
        return []
    needed = int(3 * 1.5 / (viscosity**3 / power) ** 0.25)
    return [
        f"k_max eta will be about {resolved:.2g}; from 1.5 on the smallest scales are resolved: {needed} cells, or "
        "a larger viscosity"
    ]


def facts(case: DnsCase) -> list[tuple[str, str]]:
    table, start = case.dns, case.initial
    begins = "Taylor and Green's vortex"
    if start.flow == "random":
        begins = f"random modes, peak {start.peak:g}, energy {start.energy:g}, seed {start.seed}"
    if start.file:
        begins = f"the velocity of {start.file}"
    if start.spectrum:
        begins = f"random modes with the spectrum of {start.spectrum}, seed {start.seed}"
    return [
        (
            "method",
            f"pseudo-spectral, rotational form, {_DEALIASING[table.dealiasing]}, {table.scheme}, {table.precision}",
        ),
        ("viscosity", f"{table.viscosity:.6g}"),
        (
            "time step",
            f"Courant number {table.courant:g}, at most {table.time_step:g}"
            if table.courant
            else f"{table.time_step:g}",
        ),
        *([("edges", "{:.6g} x {:.6g} x {:.6g}".format(*table.lengths))] if set(table.lengths) != {math.tau} else []),
        *([("scalars", "Schmidt numbers " + ", ".join(f"{one:g}" for one in table.schmidt))] if table.schmidt else []),
        ("begins with", begins),
        *([("forcing", _forcing(case))] if case.is_forced else []),
        *([("rotation", "({:g}, {:g}, {:g})".format(*table.rotation))] if any(table.rotation) else []),
        *([("arrays", f"in host memory, {table.device_memory} of the device")] if table.device_memory else []),
    ]


def _forcing(case: DnsCase) -> str:
    table = case.dns
    if table.forcing == "stochastic":
        return (
            f"accelerations of {table.forcing_shells} shells, {table.forcing_acceleration:g} each, "
            f"correlated for {table.forcing_time:g}"
        )
    if table.forcing == "energy":
        return f"holds the energy of {table.forcing_shells} shells"
    return f"{table.forcing_power:g} into {table.forcing_shells} shells"


def inputs(case: DnsCase) -> dict[str, str | int]:
    return {"scheme": case.dns.scheme, "precision": case.dns.precision}


def title(case: DnsCase) -> str:
    return f"viscosity {case.dns.viscosity:.4g}, {case.dns.scheme} {case.dns.precision}"


def tiles(case: DnsCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
    found = figures.get("findings") or {}
    names = {"taylor_reynolds": "Reynolds number of the Taylor scale", "kmax_eta": "k_max eta"}
    after = [(said, f"{found[key]:.4g}") for key, said in names.items() if key in found]
    return [("viscosity", f"{case.dns.viscosity:.4g}")], after


def answer(case: DnsCase, folder: Path) -> tuple[Sequence[Any], Sequence[str]]:
    return (), ()


def compared(folder: Path) -> Sequence[Any]:
    return []


def conversions(case: DnsCase) -> Sequence[Any]:
    return []


def checksums(case: DnsCase) -> dict[str, str]:
    return {}


def plan(case: DnsCase, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
    with as_case_error():
        found: Plan = part("dns").plan_dns(machine, _of_flow(options))
    found["overlaps"] = False  # a transform needs all values of the transform before it
    if machine.discovered:  # free memory changes while ranks query it
        found["host_memory"] = int(core().broadcast(str(found["host_memory"]), 0))
    return found


def largest_grid(machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
    there = options.get("host_memory", 0)
    found: Sequence[int] = part("dns").largest_dns_grid(machine, _of_flow(options), there)
    return found


def _of_flow(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a flow, without those of a described machine."""
    return {key: value for key, value in options.items() if key != "host_memory"}


def smaller(case: DnsCase) -> Iterator[dict[str, str]]:
    if case.dns.precision == "f64":
        yield {"precision": "f32"}


def start(setup: Any, trace: "Trace | None" = None) -> Run:
    from slipstream.dns import running

    return running.DnsRun(setup, trace)


def _vorticity(plane: Any) -> Any:
    """Vorticity normal to a plane, from Fourier modes."""
    import numpy as np

    def along(values: Any, axis: int) -> Any:
        n = values.shape[axis]
        wave = 2 * np.pi * np.fft.rfftfreq(n, plane.edges[1 - axis] / n).reshape((1, -1) if axis == 1 else (-1, 1))
        return np.fft.irfft(1j * wave * np.fft.rfft(values, axis=axis), n, axis)

    first, second = ("xyz".index(axis) for axis in plane.axes)
    velocity = plane.vectors("velocity")
    turn = along(velocity[..., second], 1) - along(velocity[..., first], 0)
    return -turn if plane.axes == "xz" else turn  # the rotation from x to z is negative about y


def quantities(case: DnsCase) -> Mapping[str, Any]:
    import numpy as np

    from slipstream.pictures.quantity import Quantity, of_field

    speed = Quantity(
        lambda plane: np.linalg.norm(plane.vectors("velocity"), axis=-1), lambda _: "speed", signed=False, usual=True
    )
    parts = {name: of_field("velocity", name, n, usual=n == 0) for n, name in enumerate("uvw")}
    vorticity = Quantity(_vorticity, lambda normal: rf"vorticity $\omega_{normal}$", usual=True)
    return {"speed": speed, "vorticity": vorticity, **parts}


def curves(shown: Any, folder: Path) -> list[Path]:
    return []


def artist(case: DnsCase) -> Any:
    from slipstream.pictures.slices import SliceArtist

    return SliceArtist
