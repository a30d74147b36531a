"""A case of lattice Boltzmann, and the options of its compiled solver."""

from typing import Any, ClassVar

from slipstream.case.case import Conversion
from slipstream.case.flow_case import FlowCase
from slipstream.lbm.tables import BY_MAGIC, LbmTable

#: Keys of [lbm] that change no bit of a flow, so that a restart may change them.
FREE_KEYS = frozenset(
    {"lbm.streaming", "lbm.solids", "lbm.layout", "lbm.alignment", "lbm.tile", "lbm.chunk"},
)


class LbmCase(FlowCase):
    """A case file of a flow that lattice Boltzmann computes."""

    solver: ClassVar[str] = "lbm"

    lbm: LbmTable = LbmTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in FREE_KEYS

    @classmethod
    def unread(cls, values: dict[str, Any]) -> frozenset[str]:
        return frozenset() if values.get("lbm.collision") in BY_MAGIC else frozenset({"lbm.magic"})

    @classmethod
    def conversion(cls, before: dict[str, Any], now: dict[str, Any]) -> Conversion | None:
        to = now.get("lbm.representation")
        if before.get("lbm.representation") == to:
            return None
        lost = (
            "of the 19 populations of a cell all but density, momentum and second-order tensor"
            if to == "moments"
            else "terms of third order in the populations of a cell"
        )
        return Conversion(frozenset({"lbm.representation", "lbm.collision", "lbm.magic"}), lost)

    def refined(self, n: int) -> dict[str, Any] | None:
        """The keys that refine the grid by n. Lattice speeds shrink with the cells, so that the compressibility error
        falls with that of the grid. Forces follow, and the Reynolds number stays. Bodies cannot be refined."""
        if self.bodies:
            return None
        return {
            "grid.cells": [cells if cells <= 2 else n * cells for cells in self.grid.cells],
            "physics.reference_velocity": self.scales.reference_velocity / n,
            "physics.force": [part / n**3 for part in self.force],
            "run.check_every": self.check_every * n * n,
        }

    def options(self) -> dict[str, Any]:
        """All options as the flat dictionary that the compiled solver reads; velocities of walls are in cells per
        step."""
        scales, lbm = self.scales, self.lbm
        velocities = {side: self.wall_velocity(side) for side, _ in self.walls.given()}
        walls = {
            side: tuple(part * scales.reference_velocity for part in velocity) for side, velocity in velocities.items()
        }
        return {
            "cells": self.grid.cells,
            "periodic": self.grid.periodic,
            # The key lbm.chunk is passed as tile_planes, because [exchange] has a key `chunk`, too.
            **lbm.model_dump(exclude={"chunk"}),
            "alignment": 0 if lbm.alignment == "auto" else lbm.alignment,
            "tile": lbm.tile_cells,
            "tile_planes": 0 if lbm.chunk == "auto" else lbm.chunk,
            "viscosity": scales.viscosity,
            "force": self.force,
            "density_drop": self.density_drop,
            "walls": walls,
            "boundaries": {side: self.boundary_options(side, b) for side, b in self.boundaries.given()},
            **self.exchange_options("blocks", "coding", "halos", "rim", "messages"),
        }
