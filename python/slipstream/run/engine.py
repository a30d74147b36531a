"""Plans a case on a machine, and checks that it fits. All calls are collective."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipstream.base.core import as_case_error, core
from slipstream.base.errors import CaseError, ErrorCode, Fault
from slipstream.base.terminal import show_extent
from slipstream.case import blocks
from slipstream.case.blocks import check_blocks
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.machine.told import Plan

if TYPE_CHECKING:
    from slipstream._core import Machine


@dataclass(frozen=True)
class Setup:
    """A case on a machine: partitioned and placed, but not yet allocated."""

    case: Case
    machine: "Machine"
    plan: Plan
    options: dict[str, Any]  #: options of the case as the compiled solver reads them


def prepare(case: Case, machine: "Machine", check_memory: bool = True) -> Setup:
    """Plans the case on the machine. Raises CaseError if it cannot be partitioned or does not fit the memory."""
    case = blocks.share_blocks(case, len(machine.devices()))
    check_blocks(case, len(machine.devices()))
    options = case.options()
    if case.exchange.placement == "measured":
        with as_case_error("exchange.placement"):
            options["measured_gb_per_s"] = core().measure_rates(machine)
    solver = solver_of(case)
    # A coding that is still to be measured may become raw, which needs most memory.
    planned = options | ({"coding": "raw"} if case.exchange.coding.startswith("auto") else {})
    plan = solver.plan(case, machine, planned)
    setup = Setup(case, machine, plan, options)
    if check_memory and not fits(plan, machine):
        setup = Setup(case, machine, solver.plan(case, machine, planned, thorough=True), options)
    if check_memory and (message := memory_problem(setup)):
        raise CaseError(message)
    return setup


def needed_per_device(plan: Plan, devices: int) -> list[int]:
    """Bytes of all arrays of the plan, by device."""
    needed = [0] * devices
    for array in plan["arrays"]:
        needed[array["device"]] += array["bytes"]
    return needed


def fits(plan: Plan, machine: "Machine") -> bool:
    available = [device["memory"] for device in machine.devices()]
    on_devices = all(n <= a for n, a in zip(needed_per_device(plan, len(available)), available, strict=True))
    return on_devices and _fits_host(plan)


def _fits_host(plan: Plan) -> bool:
    there = plan.get("host_memory", 0)
    return not there or plan["host_bytes"] <= there


def memory_problem(setup: Setup) -> str:
    """Text on a lack of memory: needed, available, and what would fit. Empty if everything fits."""
    if fits(setup.plan, setup.machine):
        return ""
    case, machine, solver = setup.case, setup.machine, solver_of(setup.case)
    available = [device["memory"] for device in machine.devices()]
    needed = needed_per_device(setup.plan, len(available))
    remedies = [f"the largest grid that fits is {show_extent(solver.largest_grid(machine, setup.options))}"]
    remedy = None
    for change in solver.smaller(case):
        table = getattr(case, case.solver).model_copy(update=change)
        smaller = case.model_copy(update={case.solver: table})
        if fits(solver.plan(smaller, machine, setup.options | smaller.options()), machine):
            said = " and ".join(f'{case.solver}.{key} = "{value}"' for key, value in change.items())
            remedies.append(f"{said} would fit")
            remedy = said
            break
    where = ""
    if _fits_host(setup.plan):
        more = math.ceil(sum(needed) / max(1, min(available)))
        remedies.append(f"or use about {more} such devices")
    else:
        needed, available = [setup.plan["host_bytes"]], [setup.plan["host_memory"]]
        where = " of host memory a node"
        remedies.append("or use more nodes")
    said = f"grid.cells: {show_extent(case.grid.cells)} cells do not fit: needs {_show_memory(needed)}, has "
    said += f"{_show_memory(available)}{where}; {'; '.join(remedies)}"
    return Fault(
        said,
        ErrorCode.OUT_OF_MEMORY,
        key="grid.cells",
        given=list(case.grid.cells),
        needed=max(needed),
        available=min(available),
        remedy=remedy,
        largest=show_extent(solver.largest_grid(machine, setup.options)),
    )


def _show_memory(amounts: list[int]) -> str:
    """Amounts of memory as text: `8 x 9728 MB`, or only the largest if they differ."""
    top = max(amounts)
    return f"{len(amounts)} x {'up to ' if min(amounts) != top else ''}{top / 1e6:.0f} MB"
