"""Checks of combinations of keys of a spectral-element case."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.base.toml_text import Path
from slipstream.case.sides import SIDES
from slipstream.case.tables import EXCHANGE_PARTS
from slipstream.sem.case import SemCase, Unknown
from slipstream.sem.elements_case import ElementsCase
from slipstream.sem.own_table import SolveTable
from slipstream.sem.tables import SideTable

Problem = tuple[Path, str]

#: Suffixes of an unknown's name in checkpoints, for its values in this step and the two before it.
_LEVELS = ("", "1", "2")
#: Keys of [exchange] that solvers on elements do not support, with the reason.
_NOT_OURS = {
    **dict.fromkeys(EXCHANGE_PARTS["blocks"], "elements are dealt out in order, and nothing is cut"),
    **dict.fromkeys(EXCHANGE_PARTS["rim"], "belongs to solvers with halos"),
    "overlap": "sums travel while elements within a device are computed, always",
    **dict.fromkeys(EXCHANGE_PARTS["coding"], "rounded sums would keep a solve from its tolerance"),
}


def problems(case: SemCase) -> list[Problem]:
    found = [*_names(case), *_equation(case), *exchange(case), *output(case)]
    for unknown in case.unknowns:
        found += [*_sides(case, unknown), *_solution(case, unknown)]
    return found or [*_expressions(case)]


def _names(case: SemCase) -> Iterator[Problem]:
    taken = {f"u{level}" for level in _LEVELS}
    for name in case.sem.scalars:
        names = {f"{name}{level}" for level in _LEVELS}
        if taken & names:
            yield (
                ("sem", "scalars", name),
                Fault(
                    "is the name of another field: those of earlier steps have 1 and 2 behind the unknown's", given=name
                ),
            )
        taken |= names


def _sides(case: SemCase, unknown: Unknown) -> Iterator[Problem]:
    given, table = (
        dict(unknown.boundaries.given()),
        unknown.key("boundaries", *(["boundaries"] if unknown.path else [])),
    )
    for n, side in enumerate(SIDES):
        axis, periodic = side[0], case.grid.periodic[n // 2]
        if side not in given:
            if not periodic:
                yield (
                    (*table, side),
                    missing(
                        f"is missing: give a value or a flux there, or make the axis {axis} periodic (grid.periodic)",
                        needed="value or flux",
                    ),
                )
            continue
        if periodic:
            yield (
                (*table, side),
                unsupported(
                    f"the axis {axis} is periodic and has no sides; drop one of the two", other="grid.periodic"
                ),
            )
        else:
            yield from _conditions((*table, side), given[side])


def _conditions(path: Path, entry: SideTable) -> Iterator[Problem]:
    if (entry.value is None) == (entry.flux is None):
        yield path, Fault("give either a value (Dirichlet) or a flux (Neumann)", needed="value or flux")
    if entry.transfer is not None and entry.flux is None:
        yield (
            (*path, "transfer"),
            unsupported("belongs to a flux: diffusivity du/dn + transfer u = flux", other="flux", needed="flux"),
        )
    if entry.where is not None and entry.otherwise is None:
        yield (*path, "otherwise"), missing("is missing: say what holds on the other faces", other="where")
    if entry.where is None and entry.otherwise is not None:
        yield (*path, "where"), missing("is missing: without it the condition holds on all faces", other="otherwise")
    if entry.otherwise is not None:
        yield from _conditions((*path, "otherwise"), entry.otherwise)


def _solution(case: SemCase, unknown: Unknown) -> Iterator[Problem]:
    """Faults of an unknown's keys that contradict the equation or one another."""
    table = case.sem.scalars[unknown.name] if unknown.path else case.sem
    fields, given, own = SolveTable.model_fields, table.model_fields_set, unknown.own

    def changed(key: str) -> bool:
        return key in given and getattr(table, key) != fields[key].default

    def at(key: str) -> tuple[str, ...]:
        return unknown.key("sem", key)

    if case.sem.equation == "helmholtz" and not own["reaction"]:
        yield (
            at("reaction"),
            missing('is missing: equation = "helmholtz" has reaction u with a factor above 0', other="sem.equation"),
        )
    if case.sem.equation != "helmholtz" and changed("reaction"):
        yield (
            at("reaction"),
            unsupported('belongs to equation = "helmholtz"', other="sem.equation", needed="helmholtz"),
        )
    if changed("degree") and own["preconditioner"] == "jacobi":
        yield (
            at("degree"),
            unsupported(
                "belongs to preconditioners made of polynomials",
                other=".".join(at("preconditioner")),
                needed="chebyshev",
            ),
        )
    if changed("restart") and own["method"] != "fgmres":
        yield (
            at("restart"),
            unsupported('belongs to method = "fgmres"', other=".".join(at("method")), needed="fgmres"),
        )
    only_of_diffusion = ["projection"] if changed("projection") else []
    only_of_diffusion += ["initial"] if unknown.path and unknown.initial is not None else []
    for key in only_of_diffusion if not case.marches else ():
        yield (
            at(key),
            unsupported(
                'belongs to equation = "diffusion"; this one is solved in one step',
                other="sem.equation",
                needed="diffusion",
            ),
        )
    if unknown.path and case.sem.start == "exact":
        if unknown.exact is None:
            yield (
                at("exact"),
                missing('is missing: sem.start = "exact" takes the times before the start from it', other="sem.start"),
            )
        if unknown.initial is not None:
            yield (
                at("initial"),
                unsupported('sem.start = "exact" begins from exact; drop one of the two', other="sem.start"),
            )


def _equation(case: SemCase) -> Iterator[Problem]:
    table = case.sem
    fields, given = type(table).model_fields, table.model_fields_set

    def changed(key: str) -> bool:
        return key in given and getattr(table, key) != fields[key].default

    if not case.marches:
        for key in ("time_step", "time_order", "start", "velocity", "target_courant"):
            if changed(key):
                yield (
                    ("sem", key),
                    unsupported(
                        'belongs to equation = "diffusion"; this one is solved in one step',
                        other="sem.equation",
                        needed="diffusion",
                    ),
                )
        if case.initial:
            yield (
                ("initial",),
                unsupported('belongs to equation = "diffusion"', other="sem.equation", needed="diffusion"),
            )
        for key in ("steps", "time", "residual"):
            if getattr(case.run, key) is not None and (key, case.run.steps) != ("steps", 1):
                yield (
                    ("run", key),
                    unsupported(
                        'belongs to equation = "diffusion"; this one is solved in one step',
                        other="sem.equation",
                        needed="diffusion",
                    ),
                )
        return
    if table.target_courant is not None and table.velocity is None:
        yield ("sem", "velocity"), missing("is missing: its Courant number is kept to", other="sem.target_courant")
    if table.time_step is None:
        yield (("sem", "time_step"), missing('is missing: equation = "diffusion" goes over time', other="sem.equation"))
    if case.run.steps is None and case.run.time is None:
        yield ("run",), missing("give steps or time, so that the run ends", needed="steps or time")
    if case.initial and (case.initial.value is None) == (case.initial.file is None):
        yield ("initial",), Fault("give either a value or a file", needed="value or file")
    if table.start == "exact" and case.exact is None:
        yield (
            ("sem", "start"),
            missing('"exact" takes the times before the start from [exact], which is missing', other="exact"),
        )
    if table.start == "exact" and case.initial:
        yield (
            ("initial",),
            unsupported('sem.start = "exact" begins from [exact]; drop one of the two', other="sem.start"),
        )


def output(case: Any) -> Iterator[Problem]:
    if case.output.nek != "no" and not case.output.fields:
        yield ("output", "nek"), unsupported("is a file for each frame of output.fields", other="output.fields")


def exchange(case: ElementsCase) -> Iterator[Problem]:
    for key, why in _NOT_OURS.items():
        if getattr(case.exchange, key) != type(case.exchange).model_fields[key].default:
            yield ("exchange", key), unsupported(f"{why}; leave the key out", other="sem")


def some_places(case: ElementsCase) -> np.ndarray:
    """Coordinates of a few points of the box, before the map is applied."""
    axes = [np.linspace(0, edge, 5) for edge in case.sem.lengths]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _expressions(case: SemCase) -> Iterator[Problem]:
    """Faults of expressions that have no value at some of a few points of the box."""
    places = some_places(case)
    time = 0.0 if case.marches else None
    for n, given in enumerate(case.sem.map or ()):
        yield from tried(case, ("sem", "map", str(n)), given, places, None)
    try:
        there = case.mapped(places)
    except ValueError:
        return
    for n, given in enumerate(case.sem.velocity or ()):
        yield from tried(case, ("sem", "velocity", str(n)), given, there, time)
    for unknown in case.unknowns:
        yield from _own_expressions(case, unknown, places, there, time)


def _own_expressions(
    case: SemCase, unknown: Unknown, places: np.ndarray, there: np.ndarray, time: float | None
) -> Iterator[Problem]:
    """Faults of one unknown's expressions. `there`: points of the box after the map, at which they are evaluated."""
    sides = unknown.key("boundaries", *(["boundaries"] if unknown.path else []))
    for side, entry in unknown.boundaries.given():
        axis, end = "xyz".index(side[0]), side[1] == "+"
        here = there[places[:, axis] == (case.sem.lengths[axis] if end else 0.0)]
        yield from _side_expressions(case, (*sides, side), entry, here, time)
    if unknown.initial is not None:
        yield from tried(
            case, unknown.key("initial", "initial" if unknown.path else "value"), unknown.initial, there, None
        )
    if unknown.exact is not None:
        yield from tried(case, unknown.key("exact", "exact" if unknown.path else "value"), unknown.exact, there, time)
    for key in ("diffusivity", "reaction"):
        yield from tried(case, unknown.key("sem", key), unknown.own[key], there, None)
    yield from tried(case, unknown.key("sem", "source"), unknown.source, there, time)


def _side_expressions(
    case: SemCase, path: Path, entry: SideTable, places: np.ndarray, time: float | None
) -> Iterator[Problem]:
    if entry.where is None:  # a condition restricted by `where` may have no value elsewhere
        for kind in ("value", "flux", "transfer"):
            given = getattr(entry, kind)
            if given is not None:
                yield from tried(case, (*path, kind), given, places, None if kind == "transfer" else time)
        return
    yield from tried(case, (*path, "where"), entry.where, places, None)
    if entry.otherwise is not None:
        yield from _side_expressions(case, (*path, "otherwise"), entry.otherwise, places[:0], time)


def tried(
    case: ElementsCase, path: Path, given: float | str, places: np.ndarray, time: float | None
) -> Iterator[Problem]:
    try:
        case.values(given, places, time)
    except ValueError as error:
        yield path, Fault.of(error)
