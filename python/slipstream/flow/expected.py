"""What a run found, in numbers with names, against what its case expects of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slipstream.base import rows
from slipstream.case.case import Case
from slipstream.case.flow_case import FlowCase
from slipstream.flow.loads import AXES

Array = np.ndarray


def frequency(time: Array, values: Array) -> float | None:
    """Of an oscillation, by the times at which it rises through its mean; None below three such times."""
    off = values - 0.5 * (values.max() + values.min())
    rises = np.flatnonzero((off[:-1] < 0) & (off[1:] >= 0))
    if len(rises) < 3:
        return None
    at = time[rises] - off[rises] * (time[rises + 1] - time[rises]) / (off[rises + 1] - off[rises])
    return float((len(at) - 1) / (at[-1] - at[0]))


def of_loads(path: Path, case: FlowCase) -> dict[str, float]:
    """Of each body with an area: its coefficients at the end, and their mean, least and largest over the last half of
    the run; and the Strouhal number, frequency x length / lid speed, of the part across x that swings most."""
    header, lines = rows.read(path)
    columns = dict(zip(header, np.array(lines, dtype=float).T, strict=True))
    time = np.array([case.time_of(int(step)) for step in columns["step"]])
    last = time >= 0.5 * (time[0] + time[-1])
    found: dict[str, float] = {}
    for name, body in case.bodies.items():
        if body.area is None:
            continue
        parts = {axis: columns[f"{name} coefficient {axis}"] for axis in AXES}
        for axis, values in parts.items():
            late = values[last]
            kinds = {"last": values[-1], "mean": late.mean(), "least": late.min(), "largest": late.max()}
            found |= {f"{name}.{axis}.{kind}": float(value) for kind, value in kinds.items()}
        across = max("yz", key=lambda axis: np.ptp(parts[axis][last]))
        strouhal = frequency(time[last], parts[across][last])
        if strouhal is not None:
            found[f"{name}.strouhal"] = strouhal
    return found


def against(case: Case, found: Mapping[str, float]) -> list[dict[str, Any]]:
    """Each range that the case gives, with the value and whether it lies inside."""
    return [
        {"quantity": name, "low": low, "high": high, "value": found.get(name), "met": low <= found[name] <= high}
        if name in found
        else {"quantity": name, "low": low, "high": high, "value": None, "met": False}
        for name, (low, high) in case.expected.items()
    ]
