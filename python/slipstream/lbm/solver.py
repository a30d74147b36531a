"""Lattice Boltzmann as the registry has it: `slipstream.case.solver.Solver`."""

from typing import Any

from slipstream.geometry import domain
from slipstream.lbm.cautions import drift, warnings
from slipstream.lbm.checks import problems

__all__ = ["complete", "drift", "problems", "warnings"]


def complete(data: dict[str, Any]) -> dict[str, Any]:
    """With grid.cells and exchange.block in place of [domain]."""
    return domain.fitted(data) if "domain" in data else data
