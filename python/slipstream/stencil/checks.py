"""Checks of combinations of keys of a finite-difference case."""

from collections.abc import Iterator

import numpy as np

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case import problems as shared
from slipstream.stencil.case import StencilCase

#: Keys of [exchange] that implicit runs do not support, because their grid is cut into slabs and values travel uncoded.
_NOT_OF_SLABS = ("blocks_per_device", "block", "node_grid", "device_grid", "placement", "coding", "measure_errors")


def problems(case: StencilCase) -> list[Fault]:
    found = [*_shapes(case), *shared.end(case), *_together(case), *_belongs(case), *_sides(case)]
    found += [*_implicit(case), *_points(case)]
    return found or [*_expressions(case)] or [*_time_step(case)]


def _shapes(case: StencilCase) -> Iterator[Fault]:
    nx, ny, nz = case.grid.cells
    if nx == 1:
        yield Fault("a stencil needs more than one cell along x", key="grid.cells", needed="nx > 1")
    if ny == 1 and nz > 1:
        said = "a case in two dimensions has its cells along x and y: nz = 1"
        yield Fault(said, key="grid.cells", needed="nz = 1")
    yield from shared.counts(case)
    if case.exchange.rim == "auto" or any(case.exchange.rim) or case.exchange.rim_processors:
        said = "the boundary region of a stencil is what a step reaches; leave rim and rim_processors out"
        yield unsupported("exchange.rim", said, other="stencil")
    for axis, n in zip("xyz", case.grid.cells, strict=True):
        if n > 1 and n < case.radius:
            said = f"a step reaches {case.radius} cells, and the axis {axis} has {n}"
            yield Fault(said, key="grid.cells", needed=case.radius, available=n, axis=axis)


def _implicit(case: StencilCase) -> Iterator[Fault]:
    table = case.stencil
    if not case.implicit:
        said, schemes = 'belongs to time = "backward_euler" and "crank_nicolson"', "backward_euler, crank_nicolson"
        keys = ("tolerance", "absolute_tolerance", "most_iterations", "not_converged")
        yield from shared.unused(case, "stencil", keys, said, other="stencil.time", needed=schemes)
        return
    if table.time_step is None:
        said = f'is missing: time = "{table.time}" is stable for all; say which it shall take'
        yield missing("stencil.time_step", said, other="stencil.time")
    said = "implicit steps exchange in each iteration; leave the key out"
    yield from shared.unused(case, "stencil", ["steps_per_exchange"], said, other="stencil.time")
    said = "implicit runs are cut into slabs, and values travel as they are, for rounded ones would keep a solve from "
    said += "its tolerance; leave it out"
    yield from shared.unused(case, "exchange", _NOT_OF_SLABS, said, other="stencil.time")


def _together(case: StencilCase) -> Iterator[Fault]:
    coding = case.exchange.coding
    if case.stencil.steps_per_exchange == "auto" and coding != "raw":
        said = f'"auto" goes with exchange.coding = "raw" alone: with "{coding}" bits depend on the steps; give their '
        said += "number"
        yield unsupported("stencil.steps_per_exchange", said, other="exchange.coding", needed="raw")


def _belongs(case: StencilCase) -> Iterator[Fault]:
    own, other = ("heat", "wave") if case.stencil.equation == "heat" else ("wave", "heat")
    keys = {"heat": ("order", "speed", "absorbing"), "wave": ("points", "diffusivity", "time")}[own]
    facts = {"other": "stencil.equation", "needed": other}
    yield from shared.unused(case, "stencil", keys, f'belongs to equation = "{other}"', **facts)
    if own == "heat" and case.sources:
        yield unsupported("sources", 'belong to equation = "wave"', **facts)
    if own == "heat" and case.initial and case.initial.rate != 0:
        yield unsupported("initial.rate", 'belongs to equation = "wave"', **facts)


def _sides(case: StencilCase) -> Iterator[Fault]:
    wrong, right = ("free", "insulated") if case.stencil.equation == "heat" else ("insulated", "free")
    other = "wave" if case.stencil.equation == "heat" else "heat"
    kinds: dict[str, str] = {"stencil.sides": case.stencil.sides}
    for side, table in case.boundaries.given():
        axis = "xyz".index(side[0])
        kinds[f"boundaries.{side}.kind"] = table.kind
        if not case.bounds(axis):
            why, by = ("is periodic", "grid.periodic") if case.grid.periodic[axis] else ("has one cell", "grid.cells")
            said = f"the axis {side[0]} {why} and has no sides; drop one of the two"
            yield unsupported(f"boundaries.{side}", said, other=by)
    for key, kind in kinds.items():
        if kind == wrong:
            said = f'"{wrong}" belongs to equation = "{other}"; for {case.stencil.equation} say "{right}"'
            yield unsupported(key, said, other="stencil.equation", needed=right)
    layers = case.stencil.absorbing
    fixed = [[kind == "fixed" for kind in case.sides[2 * a : 2 * a + 2]] for a in range(3) if case.bounds(a)]
    if layers and fixed and not any(map(any, fixed)):
        said = "layers lie in front of fixed sides, and all sides are free; fix a side"
        yield unsupported("stencil.absorbing", said, other="stencil.sides")
    for axis, n in enumerate(case.grid.cells):
        depth = layers * case.sides[2 * axis : 2 * axis + 2].count("fixed")
        if case.bounds(axis) and n < depth:
            at = "a side" if depth == layers else "both sides"
            said = f"{layers} layers at {at} do not fit into {n} cells along {'xyz'[axis]}"
            yield Fault(said, key="stencil.absorbing", needed=depth, available=n, axis="xyz"[axis])


def _points(case: StencilCase) -> Iterator[Fault]:
    for table, points in (("sources", case.sources), ("receivers", case.receivers)):
        for name, point in points.items():
            if any(not 0 <= c < n for c, n in zip(case.cell_of(point.at), case.grid.cells, strict=True)):
                size = " x ".join(f"{n * case.spacing:g}" for n in case.grid.cells)
                yield Fault(f"lies outside of the box of {size}", key=f"{table}.{name}.at", allowed=size)


def _expressions(case: StencilCase) -> Iterator[Fault]:
    """Faults of expressions that are undefined at a cell of a coarse sample of the grid."""
    cells = [np.unique(np.linspace(0, n - 1, min(n, 9)).round()) for n in case.grid.cells]
    tried: list[tuple[str, float | str, dict[str, float]]] = [("stencil.speed", case.stencil.speed, {})]
    if case.initial:
        tried += [("initial.value", case.initial.value, {}), ("initial.rate", case.initial.rate, {})]
    if case.exact:
        tried.append(("exact.value", case.exact.value, {"t": 1.0}))
    for key, given, more in tried:
        try:
            values = case.values(given, cells, **more)
        except ValueError as error:
            yield Fault(Fault.of(error), key=key)
            continue
        if key == "stencil.speed" and values.min() <= 0:
            least = f"{values.min():g}"
            said = f"waves need a speed above 0; here it reaches {least}"
            yield Fault(said, key=key, value=least, allowed="> 0")


def _time_step(case: StencilCase) -> Iterator[Fault]:
    given, is_heat = case.stencil.time_step, case.stencil.equation == "heat"
    try:
        limit = case.stable_time_step
    except ValueError as error:  # the speed of waves has no value in a cell that was not sampled
        yield Fault(Fault.of(error), key="stencil.speed")
        return
    if given is not None and given > limit * (1 + 1e-12) and not case.implicit:
        said = f"{given:g} is above {limit:.6g}, the largest for which the scheme is stable; take at most that, or "
        said += "larger cells"
        said += ', or time = "backward_euler" or "crank_nicolson", which have no limit' if is_heat else ""
        remedy = "implicit" if is_heat else None
        yield Fault(said, key="stencil.time_step", allowed=f"<= {limit:.6g}", remedy=remedy)
