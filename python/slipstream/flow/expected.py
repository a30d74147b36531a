"""Compares the findings of a run with the ranges that its case expects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slipstream.case.case import Case
from slipstream.case.flow_case import FlowCase
from slipstream.flow import load_series
from slipstream.flow.loads import AXES


def of_loads(path: Path, case: FlowCase) -> dict[str, float]:
    """Force coefficients of each body with an area, by name: the last value, and the mean, least and largest over the
    last half of the run. The Strouhal number is that of the component across the stream that oscillates most."""
    found: dict[str, float] = {}
    for one in load_series.read(path, case):
        if not one.coefficients:
            continue
        for n, axis in enumerate(AXES):
            values, late = one.values[:, n], one.values[one.late, n]
            kinds = {"last": values[-1], "mean": late.mean(), "least": late.min(), "largest": late.max()}
            found |= {f"{one.name}.{axis}.{kind}": float(value) for kind, value in kinds.items()}
        strouhal = one.strouhal(load_series.stream_axis(case))
        if strouhal is not None:
            found[f"{one.name}.strouhal"] = strouhal
    return found


def against(case: Case, found: Mapping[str, float]) -> list[dict[str, Any]]:
    """Each range of values that the case expects, with the value of the run and whether it lies inside."""
    return [
        {"quantity": name, "low": low, "high": high, "value": found.get(name),
         "met": name in found and low <= found[name] <= high}
        for name, (low, high) in case.expected.items()
    ]  # fmt: skip
