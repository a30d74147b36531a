"""The box of a case that is said by its bodies, and blocks that are said by their size."""

import itertools
import json
import math
from typing import Any

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError
from slipstream.case.body import Body
from slipstream.case.flow_tables import DomainTable


def fitted(data: dict[str, Any]) -> dict[str, Any]:
    """The same case with grid.cells and exchange.block instead of [domain], its bodies moved into the box. Raises
    CaseError, or pydantic's ValidationError of the table."""
    from slipstream.geometry.bodies import read

    table = DomainTable.model_validate_json(json.dumps(data["domain"]))
    grid, units, bodies = data.get("grid", {}), data.get("units", {}), data.get("bodies", {})
    if "cells" in grid:
        raise CaseError("grid.cells says how large the box is, too; drop one of the two")
    if "block" in data.get("exchange", {}):
        raise CaseError("exchange.block follows from domain.block; drop it")
    edge, unit = (units.get("cell"), "m") if units.get("system") == "SI" else (1.0, "cells")
    if not isinstance(edge, (int, float)) or edge <= 0:
        raise CaseError("a case in SI needs units.cell, the edge of a cell in m")
    names = table.bodies or [name for name, body in bodies.items() if "mesh" in body]
    low, high = [math.inf] * 3, [-math.inf] * 3
    for name in names:
        if "mesh" not in bodies.get(name, {}):
            raise CaseError(f"'{name}' is no body with a mesh; there are {_list(bodies)}")
        with as_case_error(f"bodies.{name}: "):
            corners = read(Body.model_validate_json(json.dumps(bodies[name]))).bounds()
        low, high = list(map(min, low, corners[0])), list(map(max, high, corners[1]))
    if not names:
        raise CaseError("no body of the case has a mesh; give grid.cells instead")
    with as_case_error():
        origin, cells = core().fit_domain(
            low, high, edge, table.margin_low, table.margin_high, table.block, table.keep_low, unit
        )
    moved = {name: _moved(body, origin) for name, body in bodies.items()}
    rest = {name: keys for name, keys in data.items() if name != "domain"}
    exchange = data.get("exchange", {}) | {"block": list(table.block)}
    return rest | {"grid": grid | {"cells": list(cells)}, "bodies": moved, "exchange": exchange}


def _list(bodies: dict[str, Any]) -> str:
    return ", ".join(name for name, body in bodies.items() if "mesh" in body) or "none"


def _moved(body: dict[str, Any], origin: list[float]) -> dict[str, Any]:
    key = "translate" if "mesh" in body else "centre"
    places = {key: body.get(key, [0.0, 0.0, 0.0])} | ({"about": body["about"]} if "about" in body else {})
    for name, place in places.items():
        if not (
            isinstance(place, (list, tuple)) and len(place) == 3 and all(isinstance(n, (int, float)) for n in place)
        ):
            return body  # refused, with its place, when the case is parsed
        places[name] = [a - b for a, b in zip(place, origin, strict=True)]
    return body | places


def share_blocks(case: Any, devices: int) -> Any:
    """The case with device_grid and blocks_per_device where exchange.block says the size of a block. Raises CaseError
    where the blocks do not fill the box, or the devices cannot have equally many."""
    block, cells = case.exchange.block, case.grid.cells
    if not any(block):
        return case
    if any(b == 0 or n % b for b, n in zip(block, cells, strict=True)):
        raise CaseError(f"exchange.block: blocks of {_times(block)} cells do not fill {_times(cells)}")
    counts = [n // b for b, n in zip(block, cells, strict=True)]
    grids = [g for g in itertools.product(*map(_divisors, counts)) if math.prod(g) == devices]
    if not grids:
        raise CaseError(
            f"exchange.block: {_times(counts)} blocks of {_times(block)} cells cannot be dealt out to {devices} "
            "devices in equal boxes; take another block, or another number of devices (machine.devices_per_rank, -n)"
        )

    def cut(grid: tuple[int, ...]) -> int:
        """Cells along the cuts between devices."""
        return sum((g - 1) * math.prod(cells) // n for g, n in zip(grid, cells, strict=True))

    best = min(grids, key=cut)
    nodes = case.exchange.node_grid if any(case.exchange.node_grid) else (1, 1, 1)
    shared = {"blocks_per_device": tuple(n // g for n, g in zip(counts, best, strict=True))}
    if math.prod(nodes) == 1:
        shared["device_grid"] = best
    return case.model_copy(update={"exchange": case.exchange.model_copy(update=shared)})


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _times(extent: Any) -> str:
    return " x ".join(str(n) for n in extent)
