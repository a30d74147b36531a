"""Pseudo-spectral flows as the registry has them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slipstream.base.core import as_case_error, core, part
from slipstream.base.errors import Fault
from slipstream.case.solver import Solver, Tiles, said_of
from slipstream.dns import checks, spectrum, velocity_file
from slipstream.dns.case import DnsCase
from slipstream.machine.told import Plan

if TYPE_CHECKING:
    from slipstream._core import Machine


_DEALIASING = {
    "two_thirds": "2/3 rule",
    "spherical": "spherical truncation",
    "phase_shift": "spherical truncation with shifted grids",
}


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


def _of_flow(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the compiled flow, without `host_memory`, which describes the machine."""
    return {key: value for key, value in options.items() if key != "host_memory"}


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
    return -turn if plane.axes == "xz" else turn  # negated, because a rotation from x to z is negative about y


class DnsSolver(Solver[DnsCase]):
    """The solver of pseudo-spectral flows in a periodic box."""

    compiled = ("dns", "Dns")
    runs = ("slipstream.dns.running", "DnsRun")
    case_type = DnsCase
    unit_of_rate = "Mcell/s"
    files = (
        "findings.json",
        "statistics.csv",
        "spectra.csv",
        "scalars.csv",
        "transfer.csv",
        "lines.csv",
        "spectrum.csv",
    )
    pictures = {"spectrum.png": "Energy by wave number", "dissipation.png": "Energy and its dissipation over time"}

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Makes the box periodic along all axes where the case does not say it."""
        grid = data.get("grid")
        if isinstance(grid, dict) and "periodic" not in grid:
            return data | {"grid": grid | {"periodic": [True, True, True]}}
        return data

    def problems(self, case: DnsCase) -> list[Fault]:
        return checks.problems(case)

    def check_before_start(self, case: DnsCase) -> None:
        """Checks that the file of a spectrum is valid, and that a velocity has this grid."""
        if case.initial.spectrum:
            spectrum.read(case.initial.spectrum)
        if case.initial.file:
            velocity_file.check(case.initial.file, case.grid.cells)

    def warnings(self, case: DnsCase) -> list[str]:
        cells = max(case.grid.cells)
        # A grid resolves the flow if kmax eta is 1.5 or more, with the dissipation that equals the forcing (Pope 2000,
        # 9.1).
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

    def facts(self, case: DnsCase) -> list[tuple[str, str]]:
        table, start = case.dns, case.initial
        begins = "Taylor and Green's vortex"
        if start.flow == "random":
            begins = f"random modes, peak {start.peak:g}, energy {start.energy:g}, seed {start.seed}"
        if start.file:
            begins = f"the velocity of {start.file}"
        if start.spectrum:
            begins = f"random modes with the spectrum of {start.spectrum}, seed {start.seed}"
        at_most = f"Courant number {table.courant:g}, at most " if table.courant else ""
        edges = "{:.6g} x {:.6g} x {:.6g}".format(*table.lengths)
        dealiasing, schmidt = _DEALIASING[table.dealiasing], ", ".join(f"{one:g}" for one in table.schmidt)
        return [
            ("method", f"pseudo-spectral, rotational form, {dealiasing}, {table.scheme}, {table.precision}"),
            ("viscosity", f"{table.viscosity:.6g}"),
            ("time step", f"{at_most}{table.time_step:g}"),
            ("edges", edges if set(table.lengths) != {math.tau} else ""),
            ("scalars", f"Schmidt numbers {schmidt}" if schmidt else ""),
            ("begins with", begins),
            ("forcing", _forcing(case) if case.is_forced else ""),
            ("rotation", "({:g}, {:g}, {:g})".format(*table.rotation) if any(table.rotation) else ""),
            ("arrays", f"in host memory, {table.device_memory} of the device" if table.device_memory else ""),
        ]

    def inputs(self, case: DnsCase) -> dict[str, str | int]:
        return {"scheme": case.dns.scheme, "precision": case.dns.precision}

    def title(self, case: DnsCase) -> str:
        return f"viscosity {case.dns.viscosity:.4g}, {case.dns.scheme} {case.dns.precision}"

    def tiles(self, case: DnsCase, figures: Mapping[str, Any]) -> tuple[Tiles, Tiles]:
        names = {"taylor_reynolds": "Reynolds number of the Taylor scale", "kmax_eta": "k_max eta"}
        return [("viscosity", f"{case.dns.viscosity:.4g}")], said_of(figures, names, ".4g")

    def plan(self, case: DnsCase, machine: "Machine", options: Mapping[str, Any], thorough: bool = False) -> Plan:
        with as_case_error():
            found: Plan = part("dns").Dns.plan(machine, _of_flow(options))
        found["overlaps"] = False  # nothing overlaps, because a transform needs all values of the one before it
        if machine.discovered:  # ranks use the value of rank 0: free memory may change between their queries
            found["host_memory"] = int(core().broadcast(str(found["host_memory"]), 0))
        return found

    def largest_grid(self, machine: "Machine", options: Mapping[str, Any]) -> Sequence[int]:
        there = options.get("host_memory", 0)
        found: Sequence[int] = part("dns").Dns.largest_grid(machine, _of_flow(options), there)
        return found

    def smaller(self, case: DnsCase) -> Iterator[dict[str, str]]:
        if case.dns.precision == "f64":
            yield {"precision": "f32"}

    def quantities(self, case: DnsCase) -> Mapping[str, Any]:
        from slipstream.pictures.quantity import Quantity, speed, velocity_parts

        vorticity = Quantity(_vorticity, lambda normal: rf"vorticity $\omega_{normal}$", usual=True)
        return {"speed": speed(), "vorticity": vorticity, **velocity_parts()}


SOLVER = DnsSolver()
