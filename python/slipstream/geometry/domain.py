"""Computes the box of a case from its bodies ([domain])."""

import json
import math
from typing import Any

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.body import Body
from slipstream.case.flow_tables import DomainTable
from slipstream.geometry.bodies import read


def fitted(data: dict[str, Any]) -> dict[str, Any]:
    """The same case with grid.cells and exchange.block instead of [domain], its bodies moved into the box. Raises
    CaseError, or pydantic's ValidationError of the table."""
    table = DomainTable.model_validate_json(json.dumps(data["domain"]))
    grid, units, bodies = data.get("grid", {}), data.get("units", {}), data.get("bodies", {})
    if "cells" in grid:
        raise CaseError("grid.cells says how large the box is, too; drop one of the two", other="grid.cells")
    if "block" in data.get("exchange", {}):
        raise CaseError("exchange.block follows from domain.block; drop it", other="exchange.block")
    edge, unit = (units.get("cell"), "m") if units.get("system") == "SI" else (1.0, "cells")
    if not isinstance(edge, (int, float)) or edge <= 0:
        raise CaseError(
            "a case in SI needs units.cell, the edge of a cell in m", ErrorCode.NOT_FOUND, other="units.cell"
        )
    names = table.bodies or [name for name, body in bodies.items() if "mesh" in body]
    low, high = [math.inf] * 3, [-math.inf] * 3
    for name in names:
        if "mesh" not in bodies.get(name, {}):
            raise CaseError(
                f"'{name}' is no body with a mesh; there are {_list(bodies)}",
                ErrorCode.NOT_FOUND,
                given=name,
                allowed=_list(bodies),
            )
        with as_case_error(f"bodies.{name}"):
            corners = read(Body.model_validate_json(json.dumps(bodies[name]))).bounds()
        low, high = list(map(min, low, corners[0])), list(map(max, high, corners[1]))
    if not names:
        raise CaseError("no body of the case has a mesh; give grid.cells instead", ErrorCode.NOT_FOUND, other="bodies")
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
            return body  # a body whose position is no vector is kept: the parser refuses it later, with file and line
        places[name] = [a - b for a, b in zip(place, origin, strict=True)]
    return body | places
