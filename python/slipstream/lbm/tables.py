"""[lbm]: the method, as a case file names it."""

from typing import Any

from pydantic import model_validator

from slipstream.lbm import own_table

#: Collision models that only the moment representation supports.
BY_MOMENTS = frozenset({"regularised", "recursive"})
#: Collision models for which `lbm.magic` sets the relaxation rate of odd moments.
BY_MAGIC = frozenset({"TRT", "MRT"})


class LbmTable(own_table.LbmTable):
    """[lbm]: the lattice Boltzmann method."""

    @property
    def tile_cells(self) -> tuple[int, int]:
        """Number of cells along x and y that a thread block updates (key `tile`); zeros for "auto"."""
        width, height = (0, 0) if self.tile == "auto" else map(int, self.tile.split("x"))
        return width, height

    @model_validator(mode="before")
    @classmethod
    def _collision_of_moments(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("representation") == "moments":
            return {"collision": "recursive", **given}
        return given
