"""The remedies that a failed run suggests stabilise its flow."""

import warnings
from typing import Any

import pytest
from slipstream.lbm import Simulation
from slipstream.lbm.advice import in_words, remedies
from slipstream.run.march import Diverged

Keys = dict[str, Any]

OUTLET = {"kind": "convective"}
FAST = {"x-": {"kind": "velocity", "velocity": (1, 0, 0)}, "x+": OUTLET}
SLOW = {"x-": {"kind": "velocity", "velocity": ("6*y*(Ly-y)/Ly^2", 0, 0)}, "x+": OUTLET}
RODS = [{"shape": "cylinder", "centre": centre, "radius": 4} for centre in ((16, 12, 0), (30, 11.5, 0))]
CHANNEL = {"length": 24, "boundaries": FAST, "bodies": {"rod": RODS[0]}}
RIVER = {"length": 8, "boundaries": SLOW, "bodies": {"rod": RODS[1]}}

#: Flows that diverge, with the number of steps until then, and the number of remedies.
UNSOUND: dict[str, tuple[Keys, int, int]] = {
    "cavity": ({"cells": (16, 16, 16), "reynolds": 1000}, 2000, 2),
    "cavity by SRT": ({"cells": (16, 16, 16), "reynolds": 1000, "collision": "SRT"}, 2000, 2),
    "cavity by D3Q27": ({"cells": (16, 16, 16), "reynolds": 1000, "lattice": "D3Q27"}, 2000, 1),
    "square": ({"cells": (32, 32), "reynolds": 3000}, 6000, 1),
    "square by MRT": ({"cells": (32, 32), "reynolds": 3000, "collision": "MRT"}, 6000, 1),
    "fast inlet": ({"cells": (60, 24), "reynolds": 1500, **CHANNEL}, 6000, 1),
    "fast inlet by MRT": ({"cells": (60, 24), "reynolds": 1500, "collision": "MRT", **CHANNEL}, 6000, 1),
    "slow inlet": ({"cells": (110, 24), "reynolds": 80, "reference_velocity": 0.05, **RIVER}, 12000, 2),
}


def ends(keys: Keys, steps: int) -> tuple[Simulation, str]:
    """Runs a flow for up to `steps` steps. Returns it, and the reason if it failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flow = Simulation(**({"reference_velocity": 0.1, "backend": "host"} | keys))
        try:
            flow.run(steps=steps, quiet=True)
        except Diverged as error:
            return flow, str(error)
    return flow, ""


@pytest.mark.parametrize("name", UNSOUND)
def test_every_remedy_holds_the_flow_that_diverged(name: str) -> None:
    keys, steps, count = UNSOUND[name]
    flow, why = ends(keys, steps)
    assert in_words(flow.case) in why
    found = remedies(flow.case)
    assert len(found) == count
    for remedy in found:
        assert ends(keys | remedy, steps)[1] == "", remedy


def test_cells_that_are_named_hold_the_flow_that_diverged() -> None:
    square = {"cells": (16, 16), "reynolds": 1000}
    assert "or with 50 cells along the length" in ends(square, 6000)[1]
    assert ends(square | {"cells": (50, 50)}, 20000)[1] == ""


@pytest.mark.parametrize(
    "used",
    [
        {"collision": "MRT", "smagorinsky": 0.15},
        {"representation": "moments", "collision": "recursive", "smagorinsky": 0.1},
        {"lattice": "D3Q27", "collision": "cumulant", "smagorinsky": 0.1},
    ],
    ids=str,
)
def test_what_is_in_use_is_not_advised(used: Keys) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flow = Simulation((16, 16, 16), 1000, 0.1, backend="host", **used)
    assert all(remedy.items() - used.items() - {("smagorinsky", 0.1)} for remedy in remedies(flow.case))
