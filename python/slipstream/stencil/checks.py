"""Checks of combinations of keys of a finite-difference case."""

from collections.abc import Iterator

import numpy as np

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.base.keys import Table
from slipstream.base.toml_text import Path
from slipstream.case.blocks import counts_problems
from slipstream.stencil.case import StencilCase

Problem = tuple[Path, str]

#: Keys of [exchange] that implicit runs do not support, because their grid is cut into slabs and values travel uncoded.
_NOT_OF_SLABS = ("blocks_per_device", "block", "node_grid", "device_grid", "placement", "coding", "measure_errors")


def problems(case: StencilCase) -> list[Problem]:
    found = [*_shapes(case), *_run(case), *_together(case), *_belongs(case), *_sides(case)]
    found += [*_implicit(case), *_points(case)]
    return found or [*_expressions(case)] or [*_time_step(case)]


def _shapes(case: StencilCase) -> Iterator[Problem]:
    nx, ny, nz = case.grid.cells
    if nx == 1:
        yield ("grid", "cells"), Fault("a stencil needs more than one cell along x", needed="nx > 1")
    if ny == 1 and nz > 1:
        yield ("grid", "cells"), Fault("a case in two dimensions has its cells along x and y: nz = 1", needed="nz = 1")
    yield from counts_problems(case)
    if case.exchange.rim == "auto" or any(case.exchange.rim) or case.exchange.rim_processors:
        yield (
            ("exchange", "rim"),
            unsupported(
                "the boundary region of a stencil is what a step reaches; leave rim and rim_processors out",
                other="stencil",
            ),
        )
    for axis, n in zip("xyz", case.grid.cells, strict=True):
        if n > 1 and n < case.radius:
            yield (
                ("grid", "cells"),
                Fault(
                    f"a step reaches {case.radius} cells, and the axis {axis} has {n}",
                    needed=case.radius,
                    available=n,
                    axis=axis,
                ),
            )


def _run(case: StencilCase) -> Iterator[Problem]:
    if case.run.steps is None and case.run.time is None:
        yield ("run",), missing("give steps or time, so that the run ends", needed="steps or time")


def _changed(table: Table, key: str) -> bool:
    return bool(getattr(table, key) != type(table).model_fields[key].default)


def _implicit(case: StencilCase) -> Iterator[Problem]:
    table = case.stencil
    if not case.implicit:
        for key in ("tolerance", "absolute_tolerance", "most_iterations", "not_converged"):
            if _changed(table, key):
                yield (
                    ("stencil", key),
                    unsupported(
                        'belongs to time = "backward_euler" and "crank_nicolson"',
                        other="stencil.time",
                        needed="backward_euler, crank_nicolson",
                    ),
                )
        return
    if table.time_step is None:
        yield (
            ("stencil", "time_step"),
            missing(
                f'is missing: time = "{table.time}" is stable for all; say which it shall take', other="stencil.time"
            ),
        )
    if table.steps_per_exchange != 1:
        yield (
            ("stencil", "steps_per_exchange"),
            unsupported("implicit steps exchange in each iteration; leave the key out", other="stencil.time"),
        )
    for key in _NOT_OF_SLABS:
        if _changed(case.exchange, key):
            yield (
                ("exchange", key),
                unsupported(
                    "implicit runs are cut into slabs, and values travel as they are, for rounded ones would keep a "
                    "solve from its tolerance; leave it out",
                    other="stencil.time",
                ),
            )


def _together(case: StencilCase) -> Iterator[Problem]:
    if case.stencil.steps_per_exchange == "auto" and _changed(case.exchange, "coding"):
        yield (
            ("stencil", "steps_per_exchange"),
            unsupported(
                f'"auto" goes with exchange.coding = "raw" alone: with "{case.exchange.coding}" bits depend on the '
                "steps; give their number",
                other="exchange.coding",
                needed="raw",
            ),
        )


def _belongs(case: StencilCase) -> Iterator[Problem]:
    table = case.stencil
    if table.equation == "heat":
        for key in ("order", "speed", "absorbing"):
            if _changed(table, key):
                yield (
                    ("stencil", key),
                    unsupported('belongs to equation = "wave"', other="stencil.equation", needed="wave"),
                )
        if case.sources:
            yield (("sources",), unsupported('belong to equation = "wave"', other="stencil.equation", needed="wave"))
        if case.initial and case.initial.rate != 0:
            yield (
                ("initial", "rate"),
                unsupported('belongs to equation = "wave"', other="stencil.equation", needed="wave"),
            )
        return
    for key in ("points", "diffusivity", "time"):
        if _changed(table, key):
            yield (
                ("stencil", key),
                unsupported('belongs to equation = "heat"', other="stencil.equation", needed="heat"),
            )


def _sides(case: StencilCase) -> Iterator[Problem]:
    wrong, right = ("free", "insulated") if case.stencil.equation == "heat" else ("insulated", "free")
    other = "wave" if case.stencil.equation == "heat" else "heat"
    kinds: list[tuple[Path, str]] = [(("stencil", "sides"), case.stencil.sides)]
    for side, table in case.boundaries.given():
        axis = "xyz".index(side[0])
        kinds.append((("boundaries", side, "kind"), table.kind))
        if not case.bounds(axis):
            why = "is periodic" if case.grid.periodic[axis] else "has one cell"
            yield (
                ("boundaries", side),
                unsupported(
                    f"the axis {side[0]} {why} and has no sides; drop one of the two",
                    other="grid.periodic" if case.grid.periodic[axis] else "grid.cells",
                ),
            )
    for path, kind in kinds:
        if kind == wrong:
            yield (
                path,
                unsupported(
                    f'"{wrong}" belongs to equation = "{other}"; for {case.stencil.equation} say "{right}"',
                    other="stencil.equation",
                    needed=right,
                ),
            )
    layers = case.stencil.absorbing
    fixed = [[kind == "fixed" for kind in case.sides[2 * a : 2 * a + 2]] for a in range(3) if case.bounds(a)]
    if layers and fixed and not any(map(any, fixed)):
        yield (
            ("stencil", "absorbing"),
            unsupported(
                "layers lie in front of fixed sides, and all sides are free; fix a side", other="stencil.sides"
            ),
        )
    for axis, n in enumerate(case.grid.cells):
        depth = layers * case.sides[2 * axis : 2 * axis + 2].count("fixed")
        if case.bounds(axis) and n < depth:
            at = "a side" if depth == layers else "both sides"
            yield (
                ("stencil", "absorbing"),
                Fault(
                    f"{layers} layers at {at} do not fit into {n} cells along {'xyz'[axis]}",
                    needed=depth,
                    available=n,
                    axis="xyz"[axis],
                ),
            )


def _points(case: StencilCase) -> Iterator[Problem]:
    for table, points in (("sources", case.sources), ("receivers", case.receivers)):
        for name, point in points.items():
            if any(not 0 <= c < n for c, n in zip(case.cell_of(point.at), case.grid.cells, strict=True)):
                size = " x ".join(f"{n * case.spacing:g}" for n in case.grid.cells)
                yield (table, name, "at"), Fault(f"lies outside of the box of {size}", allowed=size)


def _expressions(case: StencilCase) -> Iterator[Problem]:
    """Faults of expressions that are undefined at a cell of a coarse sample of the grid."""
    cells = [np.unique(np.linspace(0, n - 1, min(n, 9)).round()) for n in case.grid.cells]
    tried: list[tuple[Path, float | str, dict[str, float]]] = [(("stencil", "speed"), case.stencil.speed, {})]
    if case.initial:
        tried += [(("initial", "value"), case.initial.value, {}), (("initial", "rate"), case.initial.rate, {})]
    if case.exact:
        tried.append((("exact", "value"), case.exact.value, {"t": 1.0}))
    for path, given, more in tried:
        try:
            values = case.values(given, cells, **more)
        except ValueError as error:
            yield path, Fault.of(error)
            continue
        if path[-1] == "speed" and values.min() <= 0:
            yield (
                path,
                Fault(
                    f"waves need a speed above 0; here it reaches {values.min():g}",
                    value=f"{values.min():g}",
                    allowed="> 0",
                ),
            )


def _time_step(case: StencilCase) -> Iterator[Problem]:
    given = case.stencil.time_step
    try:
        limit = case.stable_time_step
    except ValueError as error:  # the speed of waves has no value in a cell that was not sampled
        yield ("stencil", "speed"), Fault.of(error)
        return
    if given is not None and given > limit * (1 + 1e-12) and not case.implicit:
        other = ', or time = "backward_euler" or "crank_nicolson", which have no limit'
        yield (
            ("stencil", "time_step"),
            Fault(
                f"{given:g} is above {limit:.6g}, the largest for which the scheme is stable; take at most that, or "
                f"larger cells{other if case.stencil.equation == 'heat' else ''}",
                allowed=f"<= {limit:.6g}",
                remedy="implicit" if case.stencil.equation == "heat" else None,
            ),
        )
