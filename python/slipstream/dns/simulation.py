"""Turbulence in a periodic box from Python: a Simulation is a running flow.

Collective: on several ranks, every rank makes the same calls.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np

from slipstream.base.core import as_case_error
from slipstream.base.errors import ArgumentError, CaseError, ErrorCode
from slipstream.base.terminal import count, show_extent
from slipstream.case import reader
from slipstream.case.case import Case
from slipstream.case.reader import Source, parse
from slipstream.case.solver import solver_of
from slipstream.dns.case import DnsCase
from slipstream.dns.running import DnsRun
from slipstream.dns.statistics import Statistics, Transfer
from slipstream.exchange.options import check
from slipstream.machine import discovery
from slipstream.run import engine

if TYPE_CHECKING:
    from slipstream._core import Machine
    from slipstream._dns import Dns

Array = np.ndarray
#: Takes places x, y, z and returns all components.
Function = Callable[[Array, Array, Array], Sequence[Array | float]]
#: Long enough for any run.
_NEVER = 2**62


def _as_toml(value: Any) -> Any:
    """Replaces tuples by lists."""
    return [_as_toml(one) for one in value] if isinstance(value, list | tuple) else value


class Options(TypedDict, total=False):
    """Keys of [dns], [machine] and [exchange]; docs/dns.md and docs/exchange.md describe them."""

    scheme: Literal["rk2", "rk4"]
    precision: Literal["f32", "f64"]
    courant: float
    lengths: Sequence[float]
    dealiasing: Literal["two_thirds", "spherical", "phase_shift"]
    schmidt: Sequence[float]
    gradients: Sequence[Sequence[float]]
    forcing: Literal["power", "energy", "stochastic"]
    forcing_acceleration: float
    forcing_time: float
    forcing_seed: int
    forcing_power: float
    forcing_shells: int
    rotation: Sequence[float]
    largest_courant: float
    budget: bool
    process_grid: Sequence[int] | Literal["measured"]
    store: bool
    device_memory: str
    host_copies: Literal["measured", "single", "pitched", "kernel", "mixed"]
    synchronous: bool
    overlap: bool

    backend: Literal["auto", "host", "cuda"]
    devices_per_rank: int
    ranks_per_node: int
    threads: int

    routes: Sequence[str]
    tune: Literal["rules", "measure"]
    wait_limit: float


_OF_MACHINE = ("backend", "devices_per_rank", "ranks_per_node", "threads")
_OF_EXCHANGE = ("routes", "tune", "wait_limit")


class Simulation:
    """Incompressible flow on `cells` = (nx, ny, nz) of a periodic box with the edges `lengths`, by default 2 pi.

    `initial` is the table that a case file has under this name: {"flow": "random", "peak": 3, "energy": 0.5}. The
    default is the Taylor-Green vortex. `velocity` is a function of the places x, y, z instead. It takes three arrays
    that broadcast to [z][y][x] and returns the three components. `scalars` is a function that returns one scalar for
    each number in `schmidt`; the default is zero. Further keyword arguments are keys of a case file's [dns], [machine]
    and [exchange]: scheme="rk2", device_memory="8 GiB".

    Raises TypeError for a keyword of another name, and CaseError where the numbers do not make a flow.
    """

    def __init__(
        self,
        cells: Sequence[int],
        *,
        viscosity: float,
        time_step: float,
        initial: Mapping[str, float | str] | None = None,
        velocity: Function | None = None,
        scalars: Function | None = None,
        **options: Unpack[Options],
    ) -> None:
        check("a Simulation", Simulation, options, Options)
        tables: dict[str, dict[str, Any]] = {
            "dns": {"viscosity": viscosity, "time_step": time_step},
            "machine": {},
            "exchange": {},
        }
        for key, value in options.items():
            table = "machine" if key in _OF_MACHINE else "exchange" if key in _OF_EXCHANGE else "dns"
            tables[table][key] = _as_toml(value)
        data = {
            "grid": {"cells": list(cells)},
            "run": {"steps": _NEVER},
            **({"initial": dict(initial)} if initial else {}),
            **tables,
        }
        case = parse(data, Source("Simulation"))
        assert isinstance(case, DnsCase)
        self._begin(case)
        if velocity is not None:
            values = self._blocks(velocity)
            with as_case_error():
                self._dns.begin(values)
                self._dns.check_time_step()
                self._dns.check_forcing()
        if scalars is not None:
            values = self._blocks(scalars)
            with as_case_error():
                self._dns.begin_scalars(values)

    @classmethod
    def from_case(cls, case: str | Path | Case, overrides: Sequence[str] = (), variant: str | None = None) -> Self:
        """The flow of a case file, or of a case that was loaded. Its [output] is left to you: nothing is written.

        Raises CaseError that names every fault of the file and its place, or for a case of another solver.
        """
        given = isinstance(case, Case)
        if given and (overrides or variant is not None):
            raise ArgumentError(
                "overrides and variant belong to a case file, not to a case that was loaded",
                ErrorCode.WRONG_STATE,
                argument="overrides, variant",
            )
        loaded = case if isinstance(case, Case) else reader.load(case, overrides, variant)
        if not isinstance(loaded, DnsCase):
            raise CaseError(
                f"the case is of [{loaded.solver}]; a Simulation of slipstream.dns takes one of [dns]",
                ErrorCode.MISMATCH,
                given=loaded.solver,
            )
        self = cls.__new__(cls)
        self._begin(loaded)
        return self

    def _begin(self, case: DnsCase) -> None:
        #: The same flow as a case.
        self.case: DnsCase = case
        self._setup = engine.prepare(case, discovery.discover(case.machine, guest=True))
        self._dns: Dns = DnsRun(self._setup).engine

    def _blocks(self, function: Function) -> list[Array]:
        cells, edges, blocks = self.case.grid.cells, self.case.dns.lengths, []
        for lo, hi in self._dns.boxes():
            x, y, z = (
                edge / n * np.arange(first, behind) for edge, n, first, behind in zip(edges, cells, lo, hi, strict=True)
            )
            shape = (len(z), len(y), len(x))
            components = function(x, y[:, None], z[:, None, None])
            block = np.stack([np.broadcast_to(np.float64(one), shape) for one in components], -1)
            blocks.append(np.ascontiguousarray(block))
        return blocks

    def __repr__(self) -> str:
        case, backend = self.case, self.machine.devices()[0]["backend"]
        what = f"{show_extent(case.grid.cells)} cells, {solver_of(case).title(case)} on {backend} devices"
        return f"<slipstream.dns.Simulation: {what}; {count(self.step, 'step')}>"

    def run(self, steps: int = 1) -> None:
        """Advances by so many steps."""
        self._dns.advance(steps)

    @property
    def machine(self) -> "Machine":
        """The machine on which the cells are distributed."""
        return self._setup.machine

    @property
    def step(self) -> int:
        """Steps done."""
        return self._dns.step

    @property
    def time(self) -> float:
        """Time, in the units of the box and the viscosity."""
        return self._dns.time

    @property
    def velocity(self) -> Array | None:
        """The velocity [z][y][x][component] on rank 0; None elsewhere."""
        found = self._dns.velocity()
        return None if found is None else np.asarray(found)

    def statistics(self) -> Statistics:
        """Statistics of this step, on every rank."""
        return Statistics.of(self._dns.statistics())

    def transfer(self) -> Transfer:
        """Energy that moves between shells in this step, on every rank."""
        found = self._dns.transfer()
        return Transfer(np.array(found["transfer"]), np.array(found["flux"]))

    @property
    def solver(self) -> "Dns":
        """The compiled solver itself."""
        return self._dns
