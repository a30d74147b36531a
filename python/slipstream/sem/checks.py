"""Checks of combinations of keys of a spectral-element case."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case import problems as shared
from slipstream.case.sides import SIDES, SidesTable
from slipstream.case.tables import EXCHANGE_PARTS
from slipstream.sem.case import SemCase, Unknown
from slipstream.sem.elements_case import ElementsCase, Expression, parts
from slipstream.sem.own_table import SolveTable
from slipstream.sem.tables import SideTable

#: An expression with its key and the time at which it is tried; None: it does not depend on time.
Given = tuple[str, Expression | None, float | None]

#: Suffixes of an unknown's name in checkpoints, for its values in this step and the two before it.
_LEVELS = ("", "1", "2")
#: Keys of [exchange] that solvers on elements do not support, with the reason.
_NOT_OURS = {
    **dict.fromkeys(EXCHANGE_PARTS["blocks"], "elements are dealt out in order, and nothing is cut"),
    **dict.fromkeys(EXCHANGE_PARTS["rim"], "belongs to solvers with halos"),
    "overlap": "sums travel while elements within a device are computed, always",
    **dict.fromkeys(EXCHANGE_PARTS["coding"], "rounded sums would keep a solve from its tolerance"),
}
_OF_DIFFUSION = 'belongs to equation = "diffusion"; this one is solved in one step'


def problems(case: SemCase) -> list[Fault]:
    found = [*_names(case), *_equation(case), *exchange(case), *output(case)]
    for unknown in case.unknowns:
        found += [*_sides(case, unknown), *_solution(case, unknown)]
    return found or [*_expressions(case)]


def _names(case: SemCase) -> Iterator[Fault]:
    taken = {f"u{level}" for level in _LEVELS}
    for name in case.sem.scalars:
        names = {f"{name}{level}" for level in _LEVELS}
        if taken & names:
            said = "is the name of another field: those of earlier steps have 1 and 2 behind the unknown's"
            yield Fault(said, key=f"sem.scalars.{name}", given=name)
        taken |= names


def sides(
    case: ElementsCase, key: str, table: SidesTable[Any], of_condition: Callable[[str, Any], Iterator[Fault]]
) -> Iterator[Fault]:
    """Faults in a table of boundary conditions: of its sides of the box, and of each condition on a side."""
    for side, entry in table.given():
        if case.grid.periodic[SIDES.index(side) // 2]:
            said = f"the axis {side[0]} is periodic and has no sides; drop one of the two"
            yield unsupported(f"{key}.{side}", said, other="grid.periodic")
            continue
        for at, part in parts(entry, f"{key}.{side}"):
            yield from of_condition(at, part)
            if part.where is not None and part.otherwise is None:
                yield missing(f"{at}.otherwise", "is missing: say what holds on the other faces", other="where")
            if part.where is None and part.otherwise is not None:
                said = "is missing: without it the condition holds on all faces"
                yield missing(f"{at}.where", said, other="otherwise")


def _sides(case: SemCase, unknown: Unknown) -> Iterator[Fault]:
    given = dict(unknown.boundaries.given())
    for n, side in enumerate(SIDES):
        if side not in given and not case.grid.periodic[n // 2]:
            said = f"is missing: give a value or a flux there, or make the axis {side[0]} periodic (grid.periodic)"
            yield missing(f"{unknown.sides}.{side}", said, needed="value or flux")
    yield from sides(case, unknown.sides, unknown.boundaries, _condition)


def _condition(key: str, entry: SideTable) -> Iterator[Fault]:
    if (entry.value is None) == (entry.flux is None):
        yield Fault("give either a value (Dirichlet) or a flux (Neumann)", key=key, needed="value or flux")
    if entry.transfer is not None and entry.flux is None:
        said = "belongs to a flux: diffusivity du/dn + transfer u = flux"
        yield unsupported(f"{key}.transfer", said, other="flux", needed="flux")


def _solution(case: SemCase, unknown: Unknown) -> Iterator[Fault]:
    """Faults of an unknown's keys that contradict the equation or one another."""
    table = case.sem.scalars[unknown.name] if unknown.path else case.sem
    own, at = unknown.own, unknown.path or "sem"

    def changed(key: str) -> bool:
        return bool(getattr(table, key) != SolveTable.model_fields[key].default)

    if case.sem.equation == "helmholtz" and not own["reaction"]:
        said = 'is missing: equation = "helmholtz" has reaction u with a factor above 0'
        yield missing(f"{at}.reaction", said, other="sem.equation")
    if case.sem.equation != "helmholtz" and changed("reaction"):
        said = 'belongs to equation = "helmholtz"'
        yield unsupported(f"{at}.reaction", said, other="sem.equation", needed="helmholtz")
    if changed("degree") and own["preconditioner"] == "jacobi":
        said = "belongs to preconditioners made of polynomials"
        yield unsupported(f"{at}.degree", said, other=f"{at}.preconditioner", needed="chebyshev")
    if changed("restart") and own["method"] != "fgmres":
        yield unsupported(f"{at}.restart", 'belongs to method = "fgmres"', other=f"{at}.method", needed="fgmres")
    only_of_diffusion = ["projection"] if changed("projection") else []
    only_of_diffusion += ["initial"] if unknown.path and unknown.initial is not None else []
    for key in only_of_diffusion if not case.marches else ():
        yield unsupported(f"{at}.{key}", _OF_DIFFUSION, other="sem.equation", needed="diffusion")
    if unknown.path and case.sem.start == "exact":
        if unknown.exact is None:
            said = 'is missing: sem.start = "exact" takes the times before the start from it'
            yield missing(f"{at}.exact", said, other="sem.start")
        if unknown.initial is not None:
            said = 'sem.start = "exact" begins from exact; drop one of the two'
            yield unsupported(f"{at}.initial", said, other="sem.start")


def _equation(case: SemCase) -> Iterator[Fault]:
    table = case.sem
    if not case.marches:
        facts = {"other": "sem.equation", "needed": "diffusion"}
        keys = ["time_step", "time_order", "start", "velocity", "target_courant"]
        yield from shared.unused(case, "sem", keys, _OF_DIFFUSION, **facts)
        if case.initial:
            yield unsupported("initial", 'belongs to equation = "diffusion"', **facts)
        keys = ["time", "residual"] + ([] if case.run.steps == 1 else ["steps"])
        yield from shared.unused(case, "run", keys, _OF_DIFFUSION, **facts)
        return
    if table.target_courant is not None and table.velocity is None:
        yield missing("sem.velocity", "is missing: its Courant number is kept to", other="sem.target_courant")
    if table.time_step is None:
        yield missing("sem.time_step", 'is missing: equation = "diffusion" goes over time', other="sem.equation")
    yield from shared.end(case)
    if case.initial and (case.initial.value is None) == (case.initial.file is None):
        yield Fault("give either a value or a file", key="initial", needed="value or file")
    if table.start == "exact" and case.exact is None:
        said = '"exact" takes the times before the start from [exact], which is missing'
        yield missing("sem.start", said, other="exact")
    if table.start == "exact" and case.initial:
        yield unsupported("initial", 'sem.start = "exact" begins from [exact]; drop one of the two', other="sem.start")


def output(case: Any) -> Iterator[Fault]:
    if case.output.nek != "no" and not case.output.fields:
        yield unsupported("output.nek", "is a file for each frame of output.fields", other="output.fields")


def exchange(case: ElementsCase) -> Iterator[Fault]:
    for key, why in _NOT_OURS.items():
        yield from shared.unused(case, "exchange", [key], f"{why}; leave the key out", other="sem")


def _expressions(case: SemCase) -> Iterator[Fault]:
    """Faults of expressions that have no value at some of a few points of the box."""
    time = 0.0 if case.marches else None

    def of_side(key: str, entry: SideTable) -> list[Given]:
        values: list[Given] = [(f"{key}.{kind}", getattr(entry, kind), time) for kind in ("value", "flux")]
        return [*values, (f"{key}.transfer", entry.transfer, None)]

    others = numbered("sem.velocity", case.sem.velocity, time)
    for one in case.unknowns:
        at = one.path or "sem"
        others += [(one.key("initial"), one.initial, None), (one.key("exact"), one.exact, time)]
        others += [(f"{at}.{key}", one.own[key], None) for key in ("diffusivity", "reaction")]
        others.append((f"{at}.source", one.source, time))
    yield from expressions(case, {one.sides: one.boundaries for one in case.unknowns}, of_side, others)


def numbered(key: str, given: Sequence[Expression] | None, time: float | None = None) -> list[Given]:
    """Components of a vector that a case gives as expressions. Each comes with its key, and with the time at which a
    check evaluates it."""
    return [(f"{key}.{n}", part, time) for n, part in enumerate(given or ())]


def expressions(
    case: ElementsCase,
    boundaries: Mapping[str, SidesTable[Any]],
    of_side: Callable[[str, Any], Iterable[Given]],
    others: Iterable[Given],
) -> Iterator[Fault]:
    """Finds expressions of a case that have no value at some of a few points of the box. It tries the expressions for
    the box's shape (sem.map) and those of all boundary conditions. `of_side` lists the expressions of one boundary
    condition in a table of `boundaries`. `others`: further expressions to try."""
    axes = [np.linspace(0, edge, 5) for edge in case.sem.lengths]
    places = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    yield from _tried(case, numbered("sem.map", case.sem.map), places)
    try:
        there = case.mapped(places)
    except ValueError:
        return
    for key, table in boundaries.items():
        for side, entry in table.given():
            axis, end = "xyz".index(side[0]), side[1] == "+"
            here = there[places[:, axis] == (case.sem.lengths[axis] if end else 0.0)]
            for at, part in parts(entry, f"{key}.{side}"):
                if part.where is None:
                    yield from _tried(case, of_side(at, part), here)
                else:  # a boundary value may be undefined on faces where `where` does not apply it, so it is not tried
                    yield from _tried(case, [(f"{at}.where", part.where, None)], here)
                    here = here[:0]
    yield from _tried(case, others, there)


def _tried(case: ElementsCase, expressions: Iterable[Given], places: np.ndarray) -> Iterator[Fault]:
    for key, given, time in expressions:
        try:
            if given is not None:
                case.values(given, places, time)
        except ValueError as error:
            yield Fault(Fault.of(error), key=key)
