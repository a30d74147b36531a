"""Lattice Boltzmann from Python: a Simulation is a box of fluid with walls, marched in time.

Collective: on several ranks, every rank makes the same calls.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from slipstream import bodies as bodies_of_case
from slipstream import checkpoint, compare, engine, loads, report
from slipstream.case import Case, Source, parse
from slipstream.core import core
from slipstream.live import LiveLine
from slipstream.march import Outcome, march

#: Long enough for any run whose end `run` is told.
_NEVER = 2**62
LID = {"y+": (1.0, 0.0, 0.0)}


class Simulation:
    """A flow in a box of cells; by default a cavity whose lid y+ moves along +x.

    Lengths are in cells, speeds in cells per step, the force on all of the fluid in density 1 x cells per step squared;
    a `pressure_drop` belongs to periodic axes and is a third of the density's; times given to `run` are in length / lid
    speed. Walls are named x-, x+, y-, y+, z-, z+ with velocities in units of the lid speed; sides not named, and not
    periodic, rest.
    `boundaries` and `bodies` are the tables that a case file has under these names: boundaries={"x-": {"kind":
    "velocity", "velocity": ("4*y*(Ly-y)/Ly^2", 0, 0)}}, bodies={"ball": {"shape": "sphere", "centre": (9, 8, 8),
    "radius": 5}}; so is `initial`: {"velocity": ("sin(2*pi*y/Ly)", 0, 0)}, in the lid speed; left out: at rest.
    Keyword arguments beyond these are keys of a case file's [lbm], [machine] and [exchange]: precision="f64",
    collision="SRT", lattice="D3Q27", smagorinsky=0.1, backend="cuda", devices_per_rank=2, routes=["staged"].
    Raises CaseError where the numbers do not make a flow that this method can compute, and warns of bodies with places
    thinner than a cell, through which fluid passes.
    """

    def __init__(
        self,
        cells: Sequence[int],
        reynolds: float | None = None,
        lid_speed: float | None = None,
        *,
        viscosity: float | None = None,
        length: float | None = None,
        walls: Mapping[str, Sequence[float]] = LID,
        periodic: Sequence[bool] = (False, False, False),
        force: Sequence[float] = (0.0, 0.0, 0.0),
        pressure_drop: Sequence[float] = (0.0, 0.0, 0.0),
        boundaries: Mapping[str, Mapping[str, Any]] | None = None,
        bodies: Mapping[str, Mapping[str, Any]] | None = None,
        initial: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if len(cells) == 2:
            cells = (*cells, 1)
        tables: dict[str, dict[str, Any]] = {"lbm": {}, "machine": {}, "exchange": {}}
        tables["lbm"]["lattice"] = "D2Q9" if cells[2] == 1 else "D3Q19"
        for key, value in options.items():
            tables[_table_of(key)][key] = value
        physics = {"reynolds": reynolds, "viscosity": viscosity, "lid_speed": lid_speed, "length": length}
        physics["force"] = list(map(float, force))
        physics["pressure_drop"] = list(map(float, pressure_drop))
        data = {
            "grid": {"cells": list(cells), "periodic": list(periodic)},
            "physics": {key: value for key, value in physics.items() if value is not None},
            "walls": {side: {"velocity": list(map(float, velocity))} for side, velocity in walls.items()},
            "boundaries": {side: dict(keys) for side, keys in (boundaries or {}).items()},
            "bodies": {name: dict(keys) for name, keys in (bodies or {}).items()},
            "run": {"steps": _NEVER},
            **({"initial": dict(initial)} if initial else {}),
            **tables,
        }
        #: The same flow as a case file would say it.
        self.case: Case = parse(data, Source("Simulation"))
        self._setup = engine.prepare(self.case, engine.discover(self.case))
        self._flow = checkpoint.Flow.of(self.case, self.machine.devices()[0]["backend"])
        self._lbm = engine.solver(self._setup)
        for text in bodies_of_case.thin_places(self._lbm, self.case):
            warnings.warn(text, stacklevel=2)

    def run(
        self,
        until: float | None = None,
        *,
        steps: int | None = None,
        steady: float | None = None,
        quiet: bool = False,
    ) -> Outcome:
        """Marches to the time `until`, for `steps` more steps, or until the residual is below `steady`.

        The residual is the largest change of velocity per length / lid speed, over the lid speed. With `steady` alone
        there is no other end. Shows a live line unless quiet.
        """
        if until is None and steps is None and steady is None:
            raise ValueError("run(until=...), run(steps=...) or run(steady=...): say when to stop")
        last = _NEVER
        if until is not None:
            last = round(until * self.case.scales.steps_per_time)
        if steps is not None:
            last = min(last, self.step + steps)
        case = self.case.model_copy(update={"run": self.case.run.model_copy(update={"residual": steady})})
        console = Console(quiet=True) if quiet else report.console(core().rank())
        with LiveLine(console) as line:
            return march(self._lbm, case, last, self._setup.plan["bytes_per_cell"], line.show)

    def save(self, folder: str | Path) -> str:
        """Writes a checkpoint into a folder, from which this and other Simulations of the same flow can go on, with the
        same bits on any number of ranks and devices; returns its path. Those of later steps in that folder are dropped.
        """
        return checkpoint.save(self._lbm, self._flow, Path(folder))

    def restore(self, path: str | Path) -> None:
        """Goes on from a checkpoint. Raises CaseError where it is of another flow, or damaged."""
        checkpoint.find(self.case, self._flow, str(path)).fill(self._lbm)

    @property
    def machine(self) -> Any:
        """The machine that the run was cut for."""
        return self._setup.machine

    @property
    def step(self) -> int:
        """Steps done."""
        return self._lbm.step

    @property
    def time(self) -> float:
        """In length / lid speed."""
        return self.step / self.case.scales.steps_per_time

    @property
    def velocity(self) -> np.ndarray | None:
        """The whole field as [z][y][x][component] in cells per step, on rank 0; None elsewhere."""
        return self._lbm.gather("velocity", (0, 0, 0), self.case.grid.cells)

    @property
    def density(self) -> np.ndarray | None:
        """The whole field as [z][y][x][1], 1 on average, on rank 0; None elsewhere."""
        return self._lbm.gather("density", (0, 0, 0), self.case.grid.cells)

    def arrays(self, field: str = "velocity") -> list[tuple[dict[str, Any], Any]]:
        """This rank's blocks with their arrays: NumPy on the host, DLPack on the GPU, without a copy to the host."""
        return self._lbm.arrays(field)

    def set_solid(self, mask: np.ndarray) -> None:
        """Makes the cells where mask[z][y][x] is true solid walls at rest, in place of any `bodies`; the mask covers
        the whole grid."""
        self._lbm.set_solid(np.ascontiguousarray(mask, dtype=bool))

    def profiles(self) -> tuple[compare.Profile, compare.Profile] | None:
        """Velocity along x = z = 1/2 and y = z = 1/2, in units of the lid speed, on rank 0."""
        return compare.profiles(self._lbm, self.case)

    def compare(self) -> compare.Comparison | None:
        """The profiles against the best published cavity of this Reynolds number, on rank 0."""
        lines = self.profiles()
        return None if lines is None else compare.compare(lines, compare.reference_for(self.case))

    def spanwise(self) -> float | None:
        """Largest |w| of the mean of the two middle planes z, in units of the lid speed, on rank 0: 0 by symmetry."""
        return compare.spanwise(self._lbm, self.case)

    def loads(self) -> dict[str, dict[str, Any]]:
        """Force and moment (about the low corner) of the fluid on each wall and body, by its name (x-, ..., those of
        `bodies`; "solid" for set_solid), in cells and steps at density 1. The pressure at rest is left out. Bodies with
        an `area` have a coefficient, too. Collective."""
        return loads.measure(self._lbm, self.case)

    @property
    def mass(self) -> float:
        """Sum of the density over all fluid cells."""
        return self._lbm.mass()

    @property
    def solver(self) -> Any:
        """The compiled solver itself."""
        return self._lbm


def _table_of(key: str) -> str:
    for table in ("lbm", "machine", "exchange"):
        if key in type(Case.model_fields[table].default).model_fields:
            return table
    # An unknown key is refused, with the nearest name, when the case is parsed.
    return "lbm"
