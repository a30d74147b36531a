"""Checks of combinations of keys of an incompressible flow on spectral elements."""

from collections.abc import Iterator

import numpy as np

from slipstream.base.errors import CaseError, Fault, missing, unsupported
from slipstream.base.toml_text import Path
from slipstream.case.sides import SIDES
from slipstream.sem import checks
from slipstream.sem.checks import Problem
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.flow.tables import FlowSideTable, Parts


def problems(case: FlowCase) -> list[Problem]:
    found = [*_sides(case), *_steps(case), *_cavity(case), *checks.exchange(case), *checks.output(case)]
    return found or [*_expressions(case)]


def _sides(case: FlowCase) -> Iterator[Problem]:
    for side, entry in case.boundaries.given():
        if case.grid.periodic[SIDES.index(side) // 2]:
            yield (
                ("boundaries", side),
                unsupported(
                    f"the axis {side[0]} is periodic and has no sides; drop one of the two", other="grid.periodic"
                ),
            )
        else:
            yield from _conditions(("boundaries", side), entry)


def _conditions(path: Path, entry: FlowSideTable) -> Iterator[Problem]:
    if (entry.kind == "velocity") != (entry.velocity is not None):
        yield (
            (*path, "velocity"),
            unsupported('goes with kind = "velocity": give both, or neither', other="kind", needed="velocity"),
        )
    if entry.where is not None and entry.otherwise is None:
        yield (*path, "otherwise"), missing("is missing: say what holds on the other faces", other="where")
    if entry.where is None and entry.otherwise is not None:
        yield (*path, "where"), missing("is missing: without it the condition holds on all faces", other="otherwise")
    if entry.otherwise is not None:
        yield from _conditions((*path, "otherwise"), entry.otherwise)


def _steps(case: FlowCase) -> Iterator[Problem]:
    table, known = case.sem, case.exact is not None and case.exact.velocity is not None
    if table.order < 2 or table.order > 11:
        yield ("sem", "order"), Fault("flows have orders 2 to 11", given=table.order, allowed="2 to 11")
    if table.filter_modes > table.order:
        yield (
            ("sem", "filter_modes"),
            Fault("there are no more than sem.order", given=table.filter_modes, allowed=f"1 to {table.order}"),
        )
    if "filter_modes" in table.model_fields_set and not table.filter:
        yield ("sem", "filter_modes"), missing("belongs to sem.filter, which is missing", other="sem.filter")
    if "degree" in table.model_fields_set and table.preconditioner == "jacobi":
        yield (
            ("sem", "degree"),
            unsupported("belongs to p-multigrid", other="sem.preconditioner", needed="schwarz"),
        )
    if "restart" in table.model_fields_set and table.method != "fgmres":
        yield ("sem", "restart"), unsupported('belongs to method = "fgmres"', other="sem.method", needed="fgmres")
    if case.run.steps is None and case.run.time is None:
        yield ("run",), missing("give steps or time, so that the run ends", needed="steps or time")
    if case.initial and (case.initial.flow is None) == (case.initial.velocity is None):
        yield ("initial",), Fault("give either a flow or a velocity", needed="flow or velocity")
    if table.start == "exact" and not known:
        yield (
            ("sem", "start"),
            missing('"exact" takes the times before the start from exact.velocity, which is missing', other="exact"),
        )
    if table.start == "exact" and case.initial:
        yield (
            ("initial",),
            unsupported('sem.start = "exact" begins from [exact]; drop one of the two', other="sem.start"),
        )
    if case.output.reference == "taylor_green1600" and not case.is_reference_flow:
        yield (
            ("output", "reference"),
            unsupported(
                'belongs to initial.flow = "taylor_green" with sem.viscosity = 1/1600 in a periodic box of edges 2 pi',
                other="initial.flow",
                needed="taylor_green",
            ),
        )


def _cavity(case: FlowCase) -> Iterator[Problem]:
    if case.output.reference != "albensoeder2005":
        return
    path = ("output", "reference")
    try:
        found = case.published_cavity
    except CaseError as error:
        yield path, Fault.of(error)
        return
    assert found is not None
    conditions = {side: parts[0] for side, parts in zip(SIDES, case.conditions, strict=True)}
    lid = conditions.pop("y+")
    still = all(part.kind == "velocity" and part.velocity == (0, 0, 0) for part in conditions.values())
    if lid.velocity != (1, 0, 0) or not still or case.sem.lengths != (1, 1, 1) or case.sem.force:
        yield (
            path,
            unsupported("belongs to a cube of edge 1, at rest but for its lid y+ of speed 1 along x", other="sem"),
        )


def _expressions(case: FlowCase) -> Iterator[Problem]:
    """Faults of expressions that have no value at some of a few points of the box."""
    places = checks.some_places(case)
    for n, given in enumerate(case.sem.map or ()):
        yield from checks.tried(case, ("sem", "map", str(n)), given, places, None)
    try:
        there = case.mapped(places)
    except ValueError:
        return
    for side, entry in case.boundaries.given():
        axis, end = "xyz".index(side[0]), side[1] == "+"
        here = there[places[:, axis] == (case.sem.lengths[axis] if end else 0.0)]
        yield from _side_expressions(case, ("boundaries", side), entry, here)
    if case.initial:
        yield from _parts(case, ("initial", "velocity"), case.initial.velocity, there, None)
    if case.exact:
        yield from _parts(case, ("exact", "velocity"), case.exact.velocity, there, 0.0)
        if case.exact.pressure is not None:
            yield from checks.tried(case, ("exact", "pressure"), case.exact.pressure, there, 0.0)
    yield from _parts(case, ("sem", "force"), case.sem.force, there, 0.0)


def _parts(
    case: FlowCase, path: Path, parts: Parts | None, places: np.ndarray, time: float | None
) -> Iterator[Problem]:
    for n, given in enumerate(parts or ()):
        yield from checks.tried(case, (*path, str(n)), given, places, time)


def _side_expressions(case: FlowCase, path: Path, entry: FlowSideTable, places: np.ndarray) -> Iterator[Problem]:
    if entry.where is None:  # a condition restricted by `where` may have no velocity elsewhere
        yield from _parts(case, (*path, "velocity"), entry.velocity, places, 0.0)
        return
    yield from checks.tried(case, (*path, "where"), entry.where, places, None)
    if entry.otherwise is not None:
        yield from _side_expressions(case, (*path, "otherwise"), entry.otherwise, places[:0])
