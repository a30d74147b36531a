"""Turbulence in a periodic box from Python: a Simulation is a running flow.

Collective: on several ranks, every rank makes the same calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from slipstream.base.core import as_case_error
from slipstream.case.case import Case
from slipstream.dns.case import DnsCase
from slipstream.dns.own_table import DnsKeywords
from slipstream.dns.statistics import Statistics, Transfer
from slipstream.exchange.options import check
from slipstream.run.simulation import CaseSimulation, MachineOptions

if TYPE_CHECKING:
    from slipstream._dns import Dns  # noqa: F401 (the base class names it)

Array = np.ndarray
#: Function that takes the coordinates x, y, z and returns the three velocity components, or all scalars.
Function = Callable[[Array, Array, Array], Sequence[Array | float]]


class Options(MachineOptions, DnsKeywords, total=False):
    """Keys of [dns], [machine] and [exchange]; docs/dns.md and docs/exchange.md say what they do."""


class Simulation(CaseSimulation[DnsCase, "Dns"]):
    """Incompressible flow on `cells` = (nx, ny, nz) of a periodic box with the edges `lengths`, 2 pi each without.

    `initial` is the table that a case file has under this name: {"flow": "random", "peak": 3, "energy": 0.5}. The
    default is the Taylor-Green vortex. `velocity` is a function of the places x, y, z instead. It takes three arrays
    that broadcast to [z][y][x] and returns the three components. `scalars` is a function that returns one scalar for
    each number in `schmidt`; the default is zero. Further keyword arguments are keys of a case file's [dns], [machine]
    and [exchange]: scheme="rk2", device_memory="8 GiB".

    Raises TypeError for a keyword of another name, and CaseError where the numbers do not make a flow.
    """

    _case_type: ClassVar[type[Case]] = DnsCase

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
        own = {"viscosity": viscosity, "time_step": time_step, **options}
        self._begin(self._case_of(own, {"grid": {"cells": cells}}, initial=initial))
        if velocity is not None:
            values = self._blocks(velocity)
            with as_case_error():
                self._engine.begin(values)
                self._engine.check_time_step()
                self._engine.check_forcing()
        if scalars is not None:
            values = self._blocks(scalars)
            with as_case_error():
                self._engine.begin_scalars(values)

    def _blocks(self, function: Function) -> list[Array]:
        cells, edges, blocks = self.case.grid.cells, self.case.dns.lengths, []
        for lo, hi in self._engine.boxes():
            x, y, z = (
                edge / n * np.arange(first, behind) for edge, n, first, behind in zip(edges, cells, lo, hi, strict=True)
            )
            shape = (len(z), len(y), len(x))
            components = function(x, y[:, None], z[:, None, None])
            block = np.stack([np.broadcast_to(np.float64(one), shape) for one in components], -1)
            blocks.append(np.ascontiguousarray(block))
        return blocks

    def run(self, steps: int = 1) -> None:
        """Advances the solution by `steps` time steps."""
        self._engine.advance(steps)

    @property
    def velocity(self) -> Array | None:
        """Velocity [z][y][x][component] on rank 0; None elsewhere."""
        found = self._engine.velocity()
        return None if found is None else np.asarray(found)

    def statistics(self) -> Statistics:
        """Statistics of this step, on every rank."""
        return Statistics.of(self._engine.statistics())

    def transfer(self) -> Transfer:
        """Energy transfer between shells in this step, on every rank."""
        found = self._engine.transfer()
        return Transfer(np.array(found["transfer"]), np.array(found["flux"]))
