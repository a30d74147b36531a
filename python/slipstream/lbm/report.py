"""Texts and tables about a flow by lattice Boltzmann."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group

from slipstream.base.terminal import table
from slipstream.flow.loads import Load
from slipstream.flow.permeability import Permeability
from slipstream.flow.profiles import Comparison
from slipstream.lbm.case import LbmCase
from slipstream.results import record


def facts(case: LbmCase) -> list[tuple[str, str]]:
    """Names and values of the method and the flow, for the banner of a run."""
    scales = case.scales
    lbm, force, converter = case.lbm, case.physics.force, case.converter
    speed, time = f"{scales.reference_velocity:.4g} cells a step", f"{scales.steps_per_time:.6g} steps"
    unit = "a volume"
    if converter:
        speed = f"{case.physics.reference_velocity:.4g} m/s = {speed}"
        time = f"{scales.steps_per_time * converter.time:.6g} s = {time}"
        unit = "N/m^3"
    sides = [f"{side} {boundary.kind}" for side, boundary in case.boundaries.given()]
    layout = "" if lbm.layout == "auto" else f" {lbm.layout}"
    in_place = ", one array in place" if lbm.streaming == "in_place" else ""
    moments = ", by ten moments a cell" if lbm.representation == "moments" else ""
    eddies = "" if lbm.smagorinsky is None else f", Smagorinsky's constant {lbm.smagorinsky:g}"
    return [
        ("method", f"{lbm.lattice} {lbm.collision} {lbm.precision}{layout}{moments}{in_place}{eddies}"),
        ("sides", ", ".join(sides)),
        ("bodies", ", ".join(case.bodies)),
        ("Reynolds number", f"{scales.reynolds:.6g}"),
        ("reference velocity", f"{speed}; length / reference velocity = {time}"),
        ("tau", f"{scales.tau:.5f}"),
        ("Mach number", f"{scales.mach:.3f}"),
        ("force", "({:g}, {:g}, {:g}) ".format(*force) + unit if any(force) else ""),
        ("grid Reynolds number", f"{scales.grid_reynolds:.2f}"),
    ]


def conversion(case: LbmCase) -> Group | None:
    """Table of the SI values of one lattice unit, and the dimensionless numbers; None for a case in cells and steps."""
    if case.converter is None:
        return None
    scales = case.scales
    rows = [(name, f"{value:.6g}", unit) for name, value, unit in case.converter.rows()]
    numbers = {
        "Reynolds number": scales.reynolds,
        "Mach number": scales.mach,
        "tau": scales.tau,
        "grid Reynolds number": scales.grid_reynolds,
    }
    rows += [(name, f"{value:.6g}", "-") for name, value in numbers.items()]
    return table("one lattice unit in SI", ["", "value", "unit"], rows)


def loads(found: Mapping[str, Load], case: LbmCase) -> Group:
    """Table of forces on the bodies, moments about given points, and coefficients for given areas."""
    rows = []
    for name, entry in found.items():
        moments = ["moment", "moment_coefficient"] if case.bodies[name].about else []
        for quantity in ("force", "coefficient", *moments):
            if quantity in entry:
                rows.append((name, quantity.replace("_", " "), *(f"{part:.6g}" for part in entry[quantity])))
    unit = "N, moments in N m" if case.si else "density 1 x cells^4 / steps^2, moments times cells"
    unit += "; of a depth of one cell" if case.lbm.lattice == "D2Q9" else ""
    return table(f"loads on bodies (forces in {unit})", ["body", "", "x", "y", "z"], rows, left=2)


def permeability(found: Permeability, case: LbmCase) -> str:
    """Text on the permeability of a periodic bed."""
    area, speed = ("m^2", "m/s") if case.si else ("cells^2", "cells a step")
    return (
        f"permeability {found.permeability:.5g} {area} along the force, from the superficial velocity "
        f"{found.superficial_velocity:.5g} {speed}; {100 * found.solid_share:.1f} % solid"
    )


_POINTS = ["profile", "place", "reference", "computed", "error, % of reference velocity"]
_EXTREMA = ["extremum", "value", "place", "reference", "place", "error, %"]


def _rows_of_points(found: Mapping[str, Any]) -> list[list[Any]]:
    return [
        [p["line"].replace("_of_", "(") + ")", f"{p['place']:.4f}", f"{p['reference']:.5f}", f"{p['computed']:.5f}",
         f"{p['error_percent']:+.2f}"]
        for p in found["points"]
    ]  # fmt: skip


def _rows_of_extrema(found: Mapping[str, Any]) -> list[list[Any]]:
    known = [("reference", ".5f"), ("reference_place", ".4f"), ("error_percent", "+.2f")]
    return [
        [e["name"], f"{e['value']:.5f}", f"{e['place']:.4f}",
         *(None if e[key] is None else f"{e[key]:{form}}" for key, form in known)]
        for e in found.get("extrema", [])
    ]  # fmt: skip


def comparison(result: Comparison) -> list[Group | str]:
    """Tables on the comparison of velocity profiles with published ones: every point, the largest error, the
    extrema."""
    parts: list[Group | str] = []
    found = result.as_dict()
    if result.reference:
        title = f"against {result.reference.title}, Re {result.reference.reynolds:g}"
        parts.append(table(title, _POINTS, _rows_of_points(found)))
        parts.append(f"largest error of all points: {result.largest_percent:.2f} % of the reference velocity")
    shown = 6 if any(entry.reference is not None for entry in result.extrema) else 3
    extrema = [row[:shown] for row in _rows_of_extrema(found)]
    parts.append(table("extrema of the cubic interpolants", _EXTREMA[:shown], extrema))
    return parts


def compared(folder: Path) -> list[tuple[str, list[str], list[list[Any]]]]:
    """Tables on the comparison with published profiles, from the file of a finished run. Raises CaseError if it is
    damaged."""
    found = record.read_json(folder / "comparison.json")
    parts = []
    if reference := found.get("reference"):
        title = f"Against {reference['title']}: {reference['citation']}"
        parts.append((title, _POINTS, _rows_of_points(found)))
    if rows := _rows_of_extrema(found):
        title = "Extrema of the cubic interpolants, in the reference velocity and the length"
        parts.append((title, _EXTREMA, rows))
    return parts
