"""Checks of combinations of keys of an incompressible flow on spectral elements."""

from collections.abc import Iterator

from slipstream.base.errors import CaseError, Fault, missing, unsupported
from slipstream.case import problems as shared
from slipstream.case.sides import SIDES
from slipstream.sem import checks
from slipstream.sem.checks import Given, numbered
from slipstream.sem.flow.case import FlowCase
from slipstream.sem.flow.tables import FlowSideTable


def problems(case: FlowCase) -> list[Fault]:
    found = [*checks.sides(case, "boundaries", case.boundaries, _condition), *_steps(case), *_cavity(case)]
    found += [*checks.exchange(case), *checks.output(case)]
    return found or [*_expressions(case)]


def _condition(key: str, entry: FlowSideTable) -> Iterator[Fault]:
    if (entry.kind == "velocity") != (entry.velocity is not None):
        said = 'goes with kind = "velocity": give both, or neither'
        yield unsupported(f"{key}.velocity", said, other="kind", needed="velocity")


def _steps(case: FlowCase) -> Iterator[Fault]:
    table, known = case.sem, case.exact is not None and case.exact.velocity is not None
    if table.order < 2 or table.order > 11:
        yield Fault("flows have orders 2 to 11", key="sem.order", given=table.order, allowed="2 to 11")
    if table.filter_modes > table.order:
        allowed = f"1 to {table.order}"
        said = "there are no more than sem.order"
        yield Fault(said, key="sem.filter_modes", given=table.filter_modes, allowed=allowed)
    if "filter_modes" in table.model_fields_set and not table.filter:
        yield missing("sem.filter_modes", "belongs to sem.filter, which is missing", other="sem.filter")
    if "degree" in table.model_fields_set and table.preconditioner == "jacobi":
        yield unsupported("sem.degree", "belongs to p-multigrid", other="sem.preconditioner", needed="schwarz")
    if "restart" in table.model_fields_set and table.method != "fgmres":
        yield unsupported("sem.restart", 'belongs to method = "fgmres"', other="sem.method", needed="fgmres")
    yield from shared.end(case)
    if case.initial and (case.initial.flow is None) == (case.initial.velocity is None):
        yield Fault("give either a flow or a velocity", key="initial", needed="flow or velocity")
    if table.start == "exact" and not known:
        said = '"exact" takes the times before the start from exact.velocity, which is missing'
        yield missing("sem.start", said, other="exact")
    if table.start == "exact" and case.initial:
        yield unsupported("initial", 'sem.start = "exact" begins from [exact]; drop one of the two', other="sem.start")
    if case.output.reference == "taylor_green1600" and not case.is_reference_flow:
        said = 'belongs to initial.flow = "taylor_green" with sem.viscosity = 1/1600 in a periodic box of edges 2 pi'
        yield unsupported("output.reference", said, other="initial.flow", needed="taylor_green")


def _cavity(case: FlowCase) -> Iterator[Fault]:
    try:
        found = case.published_cavity
    except CaseError as error:
        yield Fault(Fault.of(error), key="output.reference")
        return
    if found is None:
        return
    conditions = {side: parts[0] for side, parts in zip(SIDES, case.conditions, strict=True)}
    lid = conditions.pop("y+")
    still = all(part.kind == "velocity" and part.velocity == (0, 0, 0) for part in conditions.values())
    if lid.velocity != (1, 0, 0) or not still or case.sem.lengths != (1, 1, 1) or case.sem.force:
        said = "belongs to a cube of edge 1, at rest but for its lid y+ of speed 1 along x"
        yield unsupported("output.reference", said, other="sem")


def _expressions(case: FlowCase) -> Iterator[Fault]:
    """Faults of expressions that have no value at some of a few points of the box."""

    def of_side(key: str, entry: FlowSideTable) -> list[Given]:
        return numbered(f"{key}.velocity", entry.velocity, 0.0)

    others = numbered("initial.velocity", case.initial.velocity if case.initial else None)
    if case.exact:
        others += [*numbered("exact.velocity", case.exact.velocity, 0.0), ("exact.pressure", case.exact.pressure, 0.0)]
    others += numbered("sem.force", case.sem.force, 0.0)
    yield from checks.expressions(case, {"boundaries": case.boundaries}, of_side, others)
