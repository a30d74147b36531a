"""From a case and a machine to a plan and a solver, with the refusals on the way. All calls are collective."""

import math
from dataclasses import dataclass
from typing import Any

from slipstream.base.core import as_case_error, core, on_all_ranks
from slipstream.base.errors import CaseError
from slipstream.base.terminal import show_extent
from slipstream.case import blocks
from slipstream.case.blocks import check_blocks
from slipstream.case.case import Case
from slipstream.flow import initial
from slipstream.geometry import bodies

#: Number formats that take less memory, by that of a case, the nearest first.
_SMALLER_FORMATS = {"f64": ("f32", "f16"), "f32": ("f16",)}


@dataclass(frozen=True)
class Setup:
    """A case on a machine, cut and placed, not yet allocated."""

    case: Case
    machine: Any
    plan: dict[str, Any]
    options: dict[str, Any]  #: what the compiled solver reads


def prepare(case: Case, machine: Any, check_memory: bool = True) -> Setup:
    """Plans the case on the machine. Raises CaseError where it cannot be cut or does not fit."""
    case = blocks.share_blocks(case, len(machine.devices()))
    check_blocks(case, len(machine.devices()))
    options = case.options()
    if case.exchange.placement == "measured":
        with as_case_error("exchange.placement: "):
            options["measured_gb_per_s"] = core().measure_rates(machine)
    with as_case_error():
        plan = core().plan(machine, options)
    if case.bodies:
        with on_all_ranks():
            links = bodies.link_memory(case, plan["blocks"])
        plan["arrays"] += [{"device": d, "array": "links of bodies", "bytes": n} for d, n in links.items()]
    setup = Setup(case, machine, plan, options)
    if check_memory and memory_problem(setup) and case.bodies and case.lbm.solids != "dense":
        # Bodies take their time, so that only a plan that does not fit without them asks for them.
        with on_all_ranks():
            made = bodies.make(case)
        with as_case_error():
            setup = Setup(case, machine, core().plan(machine, options, made), options)
    if check_memory and (message := memory_problem(setup)):
        raise CaseError(message)
    return setup


def _smaller(case: Case) -> list[dict[str, str]]:
    """Keys of [lbm] that would take less memory, what costs the least first: in place no bit changes."""
    in_place = {} if case.lbm.streaming == "in_place" else {"streaming": "in_place"}
    changes = [in_place] if in_place else []
    for precision in _SMALLER_FORMATS.get(case.lbm.precision, ()):
        changes += [{"precision": precision}, *([{"precision": precision} | in_place] if in_place else [])]
    return changes


def needed_per_device(plan: dict[str, Any], devices: int) -> list[int]:
    """Bytes of all arrays, by device."""
    needed = [0] * devices
    for array in plan["arrays"]:
        needed[array["device"]] += array["bytes"]
    return needed


def memory_problem(setup: Setup) -> str:
    """Empty where everything fits; otherwise what is needed, what is there, and what would fit."""
    available = [device["memory"] for device in setup.machine.devices()]
    needed = needed_per_device(setup.plan, len(available))
    if all(n <= a for n, a in zip(needed, available, strict=True)):
        return ""
    largest = core().largest_grid(setup.machine, setup.options)
    remedies = [f"the largest grid that fits is {show_extent(largest)}"]
    for change in _smaller(setup.case):
        plan = core().plan(setup.machine, setup.options | change)
        if all(n <= a for n, a in zip(needed_per_device(plan, len(available)), available, strict=True)):
            said = " and ".join(f'lbm.{key} = "{value}"' for key, value in change.items())
            remedies.append(f"{said} would fit")
            break
    smallest = max(1, min(available))
    more = math.ceil(sum(needed) / smallest)
    remedies.append(f"or use about {more} such devices")
    return (
        f"grid.cells: {show_extent(setup.case.grid.cells)} cells do not fit: needs {_show_memory(needed)}, has "
        f"{_show_memory(available)}; {'; '.join(remedies)}"
    )


def _show_memory(amounts: list[int]) -> str:
    """`8 x 9728 MB`, or the largest where they differ."""
    top = max(amounts)
    return f"{len(amounts)} x {'up to ' if min(amounts) != top else ''}{top / 1e6:.0f} MB"


def solver(setup: Setup, trace: Any = None) -> Any:
    """Allocates and initialises the solver: fluid at rest, density 1, or the flow that the case gives.

    What fails where memory is taken may fail on one rank only, so it is no CaseError: the command line takes the other
    ranks down.
    """
    with on_all_ranks():
        made = bodies.make(setup.case) if setup.case.bodies else None
    lbm = core().Lbm(setup.machine, setup.options, trace, made)
    start(lbm, setup.case)
    guard = setup.case.guard
    if guard.every:
        lbm.guard(guard.every, guard.density, setup.case.spacing)
    return lbm


def start(lbm: Any, case: Case) -> None:
    """Puts the fluid of a new solver, or of one with new solid cells, into the flow that the case gives."""
    if case.initial:
        # Each rank asks for its own cells alone, and an expression may have no value in one of them.
        with on_all_ranks():
            lbm.start_from(initial.starter(case))
