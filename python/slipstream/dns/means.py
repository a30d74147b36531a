"""Means of a turbulent flow over a window of time, and published relations."""

from collections.abc import Mapping

import numpy as np

Array = np.ndarray


def window(times: Array, since: float | None) -> Array:
    """Mask of the rows from the time `since` on; None: the second half of the run. The last row is always in it."""
    mask: Array = times >= min(times[-1] / 2 if since is None else since, times[-1])
    return mask


def c_epsilon_when_steady(taylor_reynolds: Array) -> Array:
    """C_epsilon of steady isotropic turbulence as a function of the Reynolds number Re_lambda of the Taylor scale.

    The fit 0.2 (1 + sqrt(1 + (92 / Re_lambda)^2)) of Donzis, Sreenivasan & Yeung (2005), J. Fluid Mech. 532, 199.
    """
    return 0.2 * (1 + np.hypot(1, 92 / taylor_reynolds))


def findings(column: Mapping[str, Array], since: float | None) -> dict[str, float]:
    """Means over the rows of a window, as NAME.mean; a column that lacks a number there has none.

    turnovers: length of the window in turnover times integral_scale / velocity of its first row.
    c_epsilon.ratio: mean of C_epsilon over c_epsilon_when_steady of the same row.
    """
    chosen = window(column["time"], since)
    inside = {name: values[chosen] for name, values in column.items() if name not in ("step", "time", "budget_error")}
    known = {name: values for name, values in inside.items() if np.isfinite(values).all()}
    found = {f"{name}.mean": float(values.mean()) for name, values in known.items()}
    times = column["time"][chosen]
    if {"integral_scale", "velocity"} <= known.keys() and known["integral_scale"][0] > 0:
        found["turnovers"] = float((times[-1] - times[0]) * known["velocity"][0] / known["integral_scale"][0])
    if {"c_epsilon", "taylor_reynolds"} <= known.keys() and (known["taylor_reynolds"] > 0).all():
        found["c_epsilon.ratio"] = float((known["c_epsilon"] / c_epsilon_when_steady(known["taylor_reynolds"])).mean())
    return found
