"""Lattice Boltzmann from Python: a Simulation is a box of fluid with walls, marched in time.

Collective: on several ranks, every rank makes the same calls.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

import numpy as np
from rich.console import Console

from slipstream.base import terminal
from slipstream.base.core import core
from slipstream.base.errors import ArgumentError, CaseError, ErrorCode
from slipstream.case.case import Case
from slipstream.exchange.options import check
from slipstream.exchange.records import Block
from slipstream.flow import energy, loads, profiles, zigzag
from slipstream.flow.loads import Load
from slipstream.flow.profiles import Comparison, Profile
from slipstream.flow.zigzag import Zigzag
from slipstream.geometry import bodies as solids
from slipstream.lbm import cautions, running
from slipstream.lbm.case import LbmCase
from slipstream.lbm.fields import Fields
from slipstream.lbm.options import (
    Bodies,
    Boundaries,
    Checkpoint,
    Domain,
    Guard,
    Initial,
    Options,
    Units,
    Vector,
    Walls,
    velocity_of,
)
from slipstream.run import checkpoint
from slipstream.run.live import LiveLine
from slipstream.run.march import Outcome, march
from slipstream.run.simulation import NEVER, CaseSimulation, plain

if TYPE_CHECKING:
    from slipstream._lbm import Lbm  # noqa: F401 (the base class names it)


class Energy(NamedTuple):
    """Means over the fluid: kinetic energy u^2 / 2, and its dissipation by viscosity, also by that of an LES model."""

    kinetic: float
    dissipation: float


class Simulation(CaseSimulation[LbmCase, "Lbm"]):
    """A flow in a box of cells; where nothing else drives it, a cavity whose lid y+ moves along +x.

    Lengths are in cells, speeds in cells per step. The force acts on all of the fluid, in density 1 x cells per step
    squared. A `pressure_drop` belongs to periodic axes, and is a third of the density's. Times given to `run` are in
    length / reference velocity. Walls are named x-, x+, y-, y+, z-, z+ with velocities in units of the reference
    velocity. Sides that are neither named nor periodic rest. The lid moves only if none of `walls`, `boundaries`,
    `bodies`, `initial`, `domain`, `periodic`, `force` and `pressure_drop` is given.

    These arguments are tables of a case file:

    - `boundaries`: {"x-": {"kind": "velocity", "velocity": ("4*y*(Ly-y)/Ly^2", 0, 0)}}.
    - `bodies`: {"ball": {"shape": "sphere", "centre": (9, 8, 8), "radius": 5}}.
    - `initial`: {"velocity": ("sin(2*pi*y/Ly)", 0, 0)}, in the reference velocity; by default the fluid is at rest.
    - `guard`: {"every": 50, "density": (0.5, 2)}, the limits at which `run` gives up.
    - `checkpoint`: {"every": 5000, "folder": "kept"}, which `run` makes on its way.
    - `domain`: the box around the meshes of the bodies, in place of `cells`.
    - `units`: {"system": "SI", "cell": 0.001, "density": 998}. Arguments and results are then in m, s and kg.

    In SI, `reference_velocity` is in m/s, `viscosity` in m^2/s, `length` and places of bodies in m, `force` in N/m^3,
    `pressure_drop` and the `pressure` of a side in Pa. Velocities of walls, boundaries and `initial` stay ratios to the
    reference velocity, or are in m/s with "speeds": "m/s" in `units`.

    Keyword arguments beyond these are keys of a case file's [lbm], [machine] and [exchange]: precision="f64",
    collision="SRT", lattice="D3Q27", smagorinsky=0.1, backend="cuda", devices_per_rank=2, routes=["staged"]. Type
    checkers know these keys and those of the tables, by the types of slipstream.lbm.

    Raises TypeError for unknown keywords, and CaseError for flows that this method cannot compute. Like `slipstream
    run` it warns of flows that may become unstable, and of bodies thinner than a cell, through which fluid passes.
    """

    _case_type: ClassVar[type[Case]] = LbmCase

    def __init__(
        self,
        cells: Sequence[int] | None = None,
        reynolds: float | None = None,
        reference_velocity: float | None = None,
        *,
        viscosity: float | None = None,
        length: float | str | None = None,
        walls: Walls | None = None,
        periodic: Sequence[bool] | None = None,
        force: Vector | None = None,
        pressure_drop: Vector | None = None,
        boundaries: Boundaries | None = None,
        bodies: Bodies | None = None,
        initial: Initial | None = None,
        units: Units | None = None,
        domain: Domain | None = None,
        guard: Guard | None = None,
        checkpoint: Checkpoint | None = None,
        **options: Unpack[Options],
    ) -> None:
        check("a Simulation", Simulation, options, Options)
        extents = plain(cells)
        if isinstance(extents, list) and len(extents) == 2:
            extents = [*extents, 1]
        lattice = "D2Q9" if isinstance(extents, list) and extents[2:] == [1] else "D3Q19"
        own = (walls, boundaries, bodies, initial, domain, periodic, force, pressure_drop)
        if all(given is None for given in own):
            in_si = isinstance(units, Mapping) and bool(units.get("speeds"))
            walls = {"y+": (reference_velocity if in_si and reference_velocity else 1.0, 0.0, 0.0)}
        physics: dict[str, object] = {
            "reynolds": reynolds,
            "viscosity": viscosity,
            "reference_velocity": reference_velocity,
            "length": length,
            "force": force,
            "pressure_drop": pressure_drop,
        }
        given: dict[str, Any] = {"boundaries": boundaries, "bodies": bodies, "initial": initial, "units": units}
        given |= {"domain": domain, "guard": guard, "checkpoint": checkpoint, "walls": walls}
        if isinstance(walls, Mapping):
            given["walls"] = {side: {"velocity": velocity_of(side, velocity)} for side, velocity in walls.items()}
        needed = {"grid": {"periodic": periodic, "cells": extents}, "physics": physics}
        self._begin(self._case_of({"lattice": lattice, **options}, needed, **given))

    def _begin(self, case: LbmCase) -> None:
        super()._begin(case)
        self._flow = checkpoint.Flow.of(case, self.machine.devices()[0]["backend"])
        _warn([*cautions.of_flow(case), *solids.thin_places(self._engine, case)], above=2)
        self._files: dict[Path, Fields] = {}
        self._mass: float | None = None  # mass of the fluid before the first step of the whole run
        self._restored_in: Path | None = None  # folder of the checkpoint from which the run was restored

    def run(
        self,
        until: float | None = None,
        *,
        steps: int | None = None,
        steady: float | None = None,
        quiet: bool = False,
    ) -> Outcome:
        """Advances to the time `until` (length / reference velocity; s in SI), by `steps` more steps, or until the
        residual is below `steady`. By default the run ends as the case file says.

        The residual is the largest change of velocity per length / reference velocity, relative to the reference
        velocity. If nothing moves at the reference velocity, it is relative to the flow's own speed (docs/lbm.md,
        "Steady"). With `steady` alone there is no other end. Shows a live line unless quiet. Makes the checkpoints that
        `checkpoint` asks for. Its time limit, SIGTERM, SIGUSR1 or SIGINT (Ctrl-C) end the run with a last checkpoint,
        and the outcome states the reason.

        Raises ValueError without any end, and slipstream.run.march.Diverged if the flow becomes unsound. Warns if
        `steady` may never be met, and if the mass has drifted.
        """
        case = self.case
        last = NEVER
        if until is None and steps is None and steady is None:
            if case.run.steps == NEVER:
                raise ArgumentError(
                    "run(until=...), run(steps=...) or run(steady=...): say when to stop",
                    ErrorCode.NOT_FOUND,
                    argument="until, steps, steady",
                )
            last, steady = case.last_step, case.run.residual
        if until is not None:
            last = round(until / self._time)
        if steps is not None:
            last = min(last, self.step + steps)
        case = case.model_copy(update={"run": case.run.model_copy(update={"residual": steady})})
        _warn(cautions.of_end(case))
        if self._mass is None:
            self._mass = self._engine.mass()
        console = Console(quiet=True) if quiet else terminal.console(core().rank())
        keeper = self._keeper(console)
        try:
            with LiveLine(console) as line:
                outcome = march(
                    running.LbmRun(self._engine, case),
                    case,
                    last,
                    self._setup.plan["bytes_per_cell"],
                    line.show,
                    keeper=keeper,
                )
            if keeper:
                keeper.finish()
        finally:
            if keeper:
                keeper.release()
        drifted = cautions.drift(case, self._engine.mass() / self._mass - 1.0)
        _warn([drifted] if drifted else [])
        return outcome

    def _keeper(self, console: Console) -> checkpoint.Keeper | None:
        """The object that writes checkpoints during a run, if the case asks for them."""
        wanted = self.case.checkpoint
        if not (wanted.every or wanted.wall_clock_limit):
            return None
        assert self._mass is not None
        keeper, folder = checkpoint.Keeper(self.case, self._flow, console), self.case.checkpoint_folder
        try:
            keeper.watch(self._engine, self._mass, None)
            step = None if self._goes_on_in(folder) else self.step
            checkpoint.check_folder(folder, "checkpoint.folder", self._flow, step=step)
        except BaseException:
            keeper.release()
            raise
        return keeper

    def save(self, folder: str | Path | None = None) -> str:
        """Writes a checkpoint into a folder, by default the checkpoint folder of the case, and returns its path. Other
        Simulations of the same flow, and `slipstream run --restart` of the same case, can continue from it. They give
        the same bits on any number of ranks and devices.

        If this Simulation was restored from a checkpoint of that folder, those of later steps there are deleted. Raises
        CaseError if a run writes into the folder, or if it holds checkpoints of another flow. CaseError is raised, too,
        if the folder holds checkpoints of later steps and this Simulation was not restored from one of its checkpoints.
        Raises RunError if the checkpoint cannot be written.
        """
        into = None if folder is None else Path(folder)
        goes_on = self._goes_on_in(into or self.case.checkpoint_folder)
        return checkpoint.save(self._engine, self.case, self._flow, into, goes_on)

    def _goes_on_in(self, folder: Path) -> bool:
        """Whether this simulation was restored from a checkpoint in the given folder."""
        return self._restored_in == folder.absolute()

    def restore(self, path: str | Path = "last") -> None:
        """Continues from a checkpoint; "last": the newest in the checkpoint folder of the case. Raises CaseError if it
        is of another flow, or damaged. With checkpoint={"convert": True} it may be of the other representation; a
        warning tells what is lost."""
        found = checkpoint.find(self.case, self._flow, str(path))
        found.fill(self._engine)
        self._mass, self._restored_in = found.mass, Path(found.path).parent.absolute()
        if found.lost:
            _warn([f"converted from the checkpoint {found.path}; lost: {found.lost}"])

    def write(self, path: str | Path) -> None:
        """Adds velocity, density, pressure and flags of this step to a VTKHDF file for ParaView, as `slipstream run`
        does. The first call creates the file, and replaces an existing one; later calls append to it.

        Units are `length`, length / reference velocity and the reference velocity; in SI m, s, m/s, kg/m^3 and Pa. The
        pressure is above that at rest, over density x reference velocity^2. ParaView leaves solid cells out. Between
        two calls the file is complete. Raises RuntimeError if it cannot be written.
        """
        path = Path(path).absolute()
        if path not in self._files:
            self._files[path] = Fields(self._engine, self.case, path)
        self._files[path].write()

    @property
    def _time(self) -> float:
        """Length of a step, in the unit of time of the caller."""
        return self.case.time_step

    @property
    def time(self) -> float:
        """Current time in length / reference velocity; in SI in s."""
        return self.step * self._time

    @property
    def velocity(self) -> np.ndarray | None:
        """Velocity of all cells as [z][y][x][component] in cells per step, in SI m/s, on rank 0; None elsewhere."""
        return self._gathered("velocity")

    @property
    def density(self) -> np.ndarray | None:
        """Density of all cells as [z][y][x][1], 1 on average, in SI kg/m^3, on rank 0; None elsewhere."""
        return self._gathered("density")

    def _gathered(self, field: str) -> np.ndarray | None:
        found = self._engine.gather(field, (0, 0, 0), self.case.grid.cells)
        if found is None:
            return None
        values, converter = np.asarray(found), self.case.converter
        return values * getattr(converter, field) if converter else values

    def arrays(self, field: str = "velocity") -> list[tuple[Block, Any]]:
        """This rank's blocks with their arrays [z][y][x][component]: NumPy on the host, DLPack on the GPU. They are not
        copied to the host, and so have units of cells and steps in every system of units."""
        return [(Block.of(block), array) for block, array in self._engine.arrays(field)]

    def set_solid(self, mask: np.ndarray) -> None:
        """Makes the cells where mask[z][y][x] is true solid walls at rest, in place of any `bodies`. The mask covers
        the whole grid and is the same on every rank. The fluid starts anew: at rest, or from `initial`.

        Raises CaseError after the first step, and for a mask of another shape. It also refuses masks that leave no
        fluid in the box or at a side through which it flows.
        """
        if self.step:
            raise CaseError(
                f"set_solid: {self.step} steps were made; set solid cells before the first one",
                ErrorCode.WRONG_STATE,
                argument="set_solid",
                step=self.step,
            )
        mask, cells = np.ascontiguousarray(mask, dtype=bool), self.case.grid.cells
        if mask.shape != cells[::-1]:
            raise CaseError(
                f"set_solid: the mask is {list(mask.shape)}; it must be [z][y][x] = {list(cells[::-1])}",
                ErrorCode.MISMATCH,
                argument="set_solid",
                given=list(mask.shape),
                needed=list(cells[::-1]),
            )

        def solid_cells(low: Sequence[int], high: Sequence[int]) -> int:
            return int(np.count_nonzero(mask[tuple(slice(a, b) for a, b in zip(low[::-1], high[::-1], strict=True))]))

        solids.check_room(self.case, solid_cells, "solid cells")
        self._engine.set_solid(mask)
        self._files.clear()  # the flow begins anew, so the next write replaces its files
        self._mass = None
        running.fill(self._engine, self.case)

    def profiles(self) -> tuple[Profile, Profile] | None:
        """Velocity along x = z = 1/2 and y = z = 1/2, in units of the reference velocity, on rank 0; nan in solid
        cells."""
        return profiles.profiles(self._engine, self.case)

    def compare(self) -> Comparison | None:
        """Compares the velocity profiles of a cavity with the most accurate published ones at this Reynolds number; on
        rank 0."""
        lines = self.profiles()
        return None if lines is None else profiles.compare(lines, profiles.reference_for(self.case))

    def spanwise(self) -> float | None:
        """Largest |w| of the mean of the two middle planes z, in units of the reference velocity, on rank 0. Symmetric
        flows have 0. Solid cells do not count; nan if there is no fluid."""
        return profiles.spanwise(self._engine, self.case)

    def zigzag(self) -> Zigzag:
        """The largest checkerboard oscillation of a velocity component, relative to the mean speed. A value above 0.03
        shows stripes. Collective."""
        return zigzag.measure(self._engine)

    def energy(self) -> Energy:
        """Mean energy and dissipation of this step, in units of the reference velocity and the length; in SI m^2/s^2,
        m^2/s^3. Collective.
        """
        return Energy(*energy.measure(self._engine, self.case))

    def loads(self, about: Sequence[float] | None = None) -> dict[str, Load]:
        """Forces and moments of the fluid on walls and bodies. Names are x-, ..., those of `bodies`, and "solid" for
        set_solid. `force` and `moment` are three numbers each, in cells and steps at density 1, in SI N and N m. The
        pressure at rest is left out.

        Moments are about the point `about`, in cells (in SI m) from the low corner of the box. The default is the
        body's own `about`, or that corner. A body with an `area` has a `coefficient`, force / (reference_velocity^2
        area / 2). With a point it also has a `moment_coefficient`, moment / (reference_velocity^2 area length / 2).
        Collective.
        """
        return loads.measure(self._engine, self.case, about)

    @property
    def mass(self) -> float:
        """Mass: sum of the density over all fluid cells; in SI kg."""
        converter = self.case.converter
        return self._engine.mass() * (converter.density * converter.length**3 if converter else 1.0)


def _warn(texts: Sequence[str], above: int = 1) -> None:
    """Warns on rank 0. The warning names the line of code that is `above` levels up the call stack."""
    for text in texts if core().rank() == 0 else []:
        warnings.warn(text, stacklevel=2 + above)
