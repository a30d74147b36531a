"""Remedies for unstable flows and checkerboard oscillations (stripes). Tests run each of them."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from slipstream.flow.zigzag import Zigzag
from slipstream.lbm.case import LbmCase
from slipstream.lbm.cautions import GRID_REYNOLDS_HIGH, INLET_MAGIC
from slipstream.lbm.checks import problems
from slipstream.lbm.scales import top_speed
from slipstream.lbm.tables import BY_MAGIC

#: Largest grid Reynolds number at an inlet that was observed to be stable after only the collision's magic parameter
#: (lbm.magic) was lowered to INLET_MAGIC (0.05).
_INLET_REYNOLDS_HELD = 20.0
_EDDIES = 0.1
#: Amplitude of a checkerboard oscillation over the mean speed, above which a flow counts as striped. Without stripes,
#: taylor_green had 2.1 %, because it hardly resolves the turbulence. Other flows of cases/ had at most 0.13 %. Flows
#: with stripes had 4 to 24 %.
STRIPES_HIGH = 0.03


def remedies(case: LbmCase) -> list[dict[str, Any]]:
    """Changes of keys of [lbm] that may stabilise a flow, the cheapest first, without those in use."""
    return [keys for keys in _candidates(case) if not _in_use(case, keys) and not problems(case.changed(lbm=keys))]


def _candidates(case: LbmCase) -> Iterator[dict[str, Any]]:
    lbm = case.lbm
    inlet = any(boundary.kind == "velocity" for _, boundary in case.boundaries.given())
    slow = top_speed(case) * case.scales.grid_reynolds <= _INLET_REYNOLDS_HELD
    if inlet and slow and lbm.collision in BY_MAGIC and lbm.magic > INLET_MAGIC:
        yield {"magic": INLET_MAGIC}
    if lbm.lattice == "D3Q19":
        yield {"representation": "moments", "collision": "recursive"}
    if lbm.lattice == "D3Q27":
        yield {"collision": "cumulant", "smagorinsky": _EDDIES}
    elif lbm.representation == "moments":
        yield {"smagorinsky": _EDDIES}
    elif inlet:
        yield {"collision": "TRT", "magic": INLET_MAGIC, "smagorinsky": _EDDIES}
    else:
        yield {"collision": "MRT", "smagorinsky": _EDDIES}


def _in_use(case: LbmCase, keys: dict[str, Any]) -> bool:
    now = case.lbm.model_dump()
    return all(now[key] == value or (key == "smagorinsky" and (now[key] or 0) > value) for key, value in keys.items())


def against_stripes(case: LbmCase) -> list[dict[str, Any]]:
    """Changes of keys of [lbm] that may suppress checkerboard oscillations, without those in use."""
    return [keys for keys in _smoothing(case) if not _in_use(case, keys) and not problems(case.changed(lbm=keys))]


def _smoothing(case: LbmCase) -> Iterator[dict[str, Any]]:
    """Changes of keys that damp checkerboard oscillations. These are odd moments with a long relaxation time, magic /
    (3 viscosity) + 1/2. With magic = viscosity it is below 1."""
    lbm, short = case.lbm, float(f"{case.scales.viscosity:.2g}")
    if lbm.collision in BY_MAGIC and lbm.magic > short:
        yield {"magic": short} if lbm.collision == "MRT" else {"collision": "MRT", "magic": short}
    if lbm.lattice == "D3Q19":
        yield {"representation": "moments", "collision": "recursive"}
    if lbm.lattice == "D3Q27":
        yield {"collision": "cumulant"}


def _named(found: Sequence[dict[str, Any]]) -> list[str]:
    return [" and ".join(f"lbm.{key} = {json.dumps(value)}" for key, value in keys.items()) for keys in found]


def of_stripes(case: LbmCase, found: Zigzag) -> str:
    """A warning of checkerboard oscillations; empty if there are none."""
    if not found.share > STRIPES_HIGH:
        return ""
    named = _named(against_stripes(case))
    remedy = f"flows like this one lost them with {', or with '.join(named)}" if named else "take more cells"
    return (
        f"stripes: {found.component} goes up and down from cell to cell along {found.axis}, by "
        f"{100 * found.share:.2g} % of the mean speed, and sound flows by {100 * STRIPES_HIGH:g} % at most; {remedy}"
    )


def in_words(case: LbmCase) -> str:
    """Text on the changes of keys that may stabilise a flow."""
    found = _named(remedies(case))
    cells = math.ceil(case.scales.reynolds / GRID_REYNOLDS_HIGH)
    found.append(f"{cells} cells along the length" if cells > case.scales.length else "more cells along the length")
    return "flows like this one held with " + ", or with ".join(found)
