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
from slipstream.case.reader import Source, parse
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
    from slipstream._lbm import Lbm

    _Base = CaseSimulation[LbmCase, Lbm]
else:
    _Base = CaseSimulation


class Energy(NamedTuple):
    """Means over the fluid: u^2 / 2, and what viscosity, that of modelled eddies with it, takes of it in a unit of
    time."""

    kinetic: float
    dissipation: float


class Simulation(_Base):
    """A flow in a box of cells; where nothing else drives it, a cavity whose lid y+ moves along +x.

    Lengths are in cells, speeds in cells per step, the force on all of the fluid in density 1 x cells per step squared;
    a `pressure_drop` belongs to periodic axes and is a third of the density's; times given to `run` are in length / lid
    speed. Walls are named x-, x+, y-, y+, z-, z+ with velocities in units of the lid speed; sides not named, and not
    periodic, rest. The lid moves only where none of `walls`, `boundaries`, `bodies`, `initial`, `domain`, `periodic`,
    `force` and `pressure_drop` is given.
    `boundaries` and `bodies` are the tables that a case file has under these names: boundaries={"x-": {"kind":
    "velocity", "velocity": ("4*y*(Ly-y)/Ly^2", 0, 0)}}, bodies={"ball": {"shape": "sphere", "centre": (9, 8, 8),
    "radius": 5}}; so are `initial`: {"velocity": ("sin(2*pi*y/Ly)", 0, 0)}, in the lid speed; left out: at rest;
    `guard`: {"every": 50, "density": (0.5, 2)}, when `run` gives the flow up; `checkpoint`: {"every": 5000, "folder":
    "kept"}, which `run` makes on its way; and `domain`: the box round the meshes of the bodies, in place of `cells`.
    With `units`, {"system": "SI", "cell": 0.001, "density": 998}, what is given and what the members return is in m, s
    and kg: `lid_speed` in m/s, `viscosity` in m^2/s, `length` and places of bodies in m, `force` in N/m^3,
    `pressure_drop` in Pa. Velocities of walls, boundaries and `initial` stay ratios to the lid speed, or with "speeds":
    "m/s" among the units are in m/s; a pressure side takes its `pressure` in Pa.
    Keyword arguments beyond these are keys of a case file's [lbm], [machine] and [exchange]: precision="f64",
    collision="SRT", lattice="D3Q27", smagorinsky=0.1, backend="cuda", devices_per_rank=2, routes=["staged"]. Type
    checkers know these keys and those of the tables, by the types of slipstream.lbm.
    Raises TypeError for a keyword of another name, and CaseError where the numbers do not make a flow that this method
    can compute. Warns as `slipstream run` does: of a flow that may become unstable, of bodies with places thinner than
    a cell, through which fluid passes.
    """

    _case_type: ClassVar[type[Case]] = LbmCase

    def __init__(
        self,
        cells: Sequence[int] | None = None,
        reynolds: float | None = None,
        lid_speed: float | None = None,
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
        tables = self.tables_of({"lattice": lattice, **options})
        own = (walls, boundaries, bodies, initial, domain, periodic, force, pressure_drop)
        if all(given is None for given in own):
            in_si = isinstance(units, Mapping) and bool(units.get("speeds"))
            walls = {"y+": (lid_speed if in_si and lid_speed else 1.0, 0.0, 0.0)}
        physics: dict[str, object] = {"reynolds": reynolds, "viscosity": viscosity, "lid_speed": lid_speed}
        physics |= {"length": length, "force": force, "pressure_drop": pressure_drop}
        given: dict[str, object] = {"boundaries": boundaries, "bodies": bodies, "initial": initial, "units": units}
        given |= {"domain": domain, "guard": guard, "checkpoint": checkpoint, "walls": walls}
        if isinstance(walls, Mapping):
            given["walls"] = {side: {"velocity": velocity_of(side, velocity)} for side, velocity in walls.items()}
        data = {
            "grid": {key: value for key, value in (("periodic", periodic), ("cells", extents)) if value is not None},
            "physics": {key: value for key, value in physics.items() if value is not None},
            "run": {"steps": NEVER},
            **{name: keys for name, keys in given.items() if keys is not None and keys != {}},
            **tables,
        }
        case = parse(plain(data), Source("Simulation"))
        assert isinstance(case, LbmCase)
        self._begin(case)

    def _begin(self, case: LbmCase) -> None:
        self._prepare(case, running.compiled)
        self._flow = checkpoint.Flow.of(case, self.machine.devices()[0]["backend"])
        _warn([*cautions.of_flow(case), *solids.thin_places(self._engine, case)], above=2)
        self._files: dict[Path, Fields] = {}
        self._mass: float | None = None  # before the first step of all
        self._restored_in: Path | None = None  # where the checkpoint lies

    def run(
        self,
        until: float | None = None,
        *,
        steps: int | None = None,
        steady: float | None = None,
        quiet: bool = False,
    ) -> Outcome:
        """Marches to the time `until` (length / lid speed; s in SI), for `steps` more steps, or until the residual is
        below `steady`; without any of them to the end that the case file gives.

        The residual is the largest change of velocity per length / lid speed, over the lid speed, or over the flow's
        own where nothing moves at the lid speed (docs/lbm.md, "Steady"). With `steady` alone there is no other end.
        Shows a live line unless quiet. Makes the checkpoints that `checkpoint` asks for; its clock, SIGTERM, SIGUSR1 or
        SIGINT (Ctrl-C) then end the run with one more, and the outcome says so.

        Raises ValueError where nothing says when to stop, and slipstream.run.march.Diverged where the flow is no longer
        sound; warns where `steady` may never be met, and of a mass that has changed since the start.
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
        """Where checkpoints are asked for."""
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
        """Writes a checkpoint into a folder, from which this and other Simulations of the same flow, and `slipstream
        run --restart` of the same case, can go on, with the same bits on any number of ranks and devices; returns its
        path. Left out: the checkpoint folder of the case.

        Where this Simulation was restored from a checkpoint of that folder, those of later steps there are dropped.
        Raises CaseError where a run writes into the folder, or where it holds checkpoints of another flow, or of later
        steps and this Simulation was not restored from there; RunError where the checkpoint cannot be written.
        """
        into = None if folder is None else Path(folder)
        goes_on = self._goes_on_in(into or self.case.checkpoint_folder)
        return checkpoint.save(self._engine, self.case, self._flow, into, goes_on)

    def _goes_on_in(self, folder: Path) -> bool:
        """Whether it was restored from a checkpoint in a folder."""
        return self._restored_in == folder.absolute()

    def restore(self, path: str | Path = "last") -> None:
        """Goes on from a checkpoint; "last": the newest in the checkpoint folder of the case. Raises CaseError where it
        is of another flow, or damaged; warns of what is lost where checkpoint={"convert": True} lets it be of the other
        representation."""
        found = checkpoint.find(self.case, self._flow, str(path))
        found.fill(self._engine)
        self._mass, self._restored_in = found.mass, Path(found.path).parent.absolute()
        if found.lost:
            _warn([f"converted from the checkpoint {found.path}; lost: {found.lost}"])

    def write(self, path: str | Path) -> None:
        """Adds velocity, density, pressure and flags of this step to a file that ParaView opens (VTKHDF), as
        `slipstream run` does; the first call makes the file, in place of one that is there, and later steps follow in
        it.

        Lengths are in `length`, times in length / lid speed, velocities in the lid speed, pressures above that at rest
        over density x lid speed^2; in SI in m, s, m/s, kg/m^3 and Pa. ParaView leaves solid cells out. Between two
        calls the file is whole. Raises RuntimeError where it cannot be written.
        """
        path = Path(path).absolute()
        if path not in self._files:
            self._files[path] = Fields(self._engine, self.case, path)
        self._files[path].write()

    @property
    def _time(self) -> float:
        """One step, in the unit of times."""
        return self.case.time_step

    @property
    def time(self) -> float:
        """In length / lid speed; in SI s."""
        return self.step * self._time

    @property
    def velocity(self) -> np.ndarray | None:
        """The whole field as [z][y][x][component] in cells per step, in SI m/s, on rank 0; None elsewhere."""
        return self._gathered("velocity")

    @property
    def density(self) -> np.ndarray | None:
        """The whole field as [z][y][x][1], 1 on average, in SI kg/m^3, on rank 0; None elsewhere."""
        return self._gathered("density")

    def _gathered(self, field: str) -> np.ndarray | None:
        found = self._engine.gather(field, (0, 0, 0), self.case.grid.cells)
        if found is None:
            return None
        values, converter = np.asarray(found), self.case.converter
        return values * getattr(converter, field) if converter else values

    def arrays(self, field: str = "velocity") -> list[tuple[Block, Any]]:
        """This rank's blocks with their arrays [z][y][x][component]: NumPy on the host, DLPack on the GPU, without a
        copy to the host, and so in cells and steps in every system of units."""
        return [(Block.of(block), array) for block, array in self._engine.arrays(field)]

    def set_solid(self, mask: np.ndarray) -> None:
        """Makes the cells where mask[z][y][x] is true solid walls at rest, in place of any `bodies`; the mask covers
        the whole grid and is the same on every rank. The fluid starts anew: at rest, or from `initial`.

        Raises CaseError once steps were made, and for a mask of another shape, or one that leaves no fluid in the box
        or at a side through which it flows.
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
        self._files.clear()  # those of a flow that begins anew begin anew, too
        self._mass = None
        running.fill(self._engine, self.case)

    def profiles(self) -> tuple[Profile, Profile] | None:
        """Velocity along x = z = 1/2 and y = z = 1/2, in units of the lid speed, on rank 0; nan where it is solid."""
        return profiles.profiles(self._engine, self.case)

    def compare(self) -> Comparison | None:
        """The profiles against the best published cavity of this Reynolds number, on rank 0."""
        lines = self.profiles()
        return None if lines is None else profiles.compare(lines, profiles.reference_for(self.case))

    def spanwise(self) -> float | None:
        """Largest |w| of the mean of the two middle planes z, of the fluid alone, in units of the lid speed, on rank 0:
        0 by symmetry; nan where there is no fluid."""
        return profiles.spanwise(self._engine, self.case)

    def zigzag(self) -> Zigzag:
        """The velocity that goes up and down most from cell to cell, as a share of the mean speed: stripes, where it is
        above 0.03. Collective."""
        return zigzag.measure(self._engine)

    def energy(self) -> Energy:
        """Of this step, in units of the lid speed and the length; in SI m^2/s^2 and m^2/s^3. Collective."""
        return Energy(*energy.measure(self._engine, self.case))

    def loads(self, about: Sequence[float] | None = None) -> dict[str, Load]:
        """What the fluid does to each wall and body, by its name (x-, ..., those of `bodies`; "solid" for set_solid):
        `force` and `moment`, three numbers each, in cells and steps at density 1, in SI N and N m. The pressure at rest
        is left out.

        Moments are about the point `about`, in cells (in SI m) from the low corner of the box; without it about the
        body's own `about`, or that corner. A body with an `area` has a `coefficient`, force / (lid_speed^2 area / 2),
        and where a point is given a `moment_coefficient`, moment / (lid_speed^2 area length / 2). Collective.
        """
        return loads.measure(self._engine, self.case, about)

    @property
    def mass(self) -> float:
        """Sum of the density over all fluid cells; in SI kg."""
        converter = self.case.converter
        return self._engine.mass() * (converter.density * converter.length**3 if converter else 1.0)


def _warn(texts: Sequence[str], above: int = 1) -> None:
    """On rank 0, at the line so many calls above its caller."""
    for text in texts if core().rank() == 0 else []:
        warnings.warn(text, stacklevel=2 + above)
