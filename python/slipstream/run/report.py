"""What is said of a plan and a run. Everything here takes numbers and returns text or rich tables."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group

from slipstream.base.terminal import ROWS, count, megabytes, show_counts, show_extent, table
from slipstream.case.case import Case
from slipstream.case.solver import solver_of
from slipstream.flow.permeability import Permeability
from slipstream.flow.profiles import Comparison
from slipstream.machine import predict
from slipstream.machine.topology import link_summary
from slipstream.run.engine import Setup, needed_per_device


def physics(case: Case) -> list[tuple[str, str]]:
    scales, cells = case.scales, case.grid.cells
    lbm, force, converter = case.lbm, case.physics.force, case.converter
    speed, time, unit = f"{scales.lid_speed:.4g} cells a step", f"{scales.steps_per_time:.6g} steps", "a volume"
    if converter:
        speed = f"{case.physics.lid_speed:.4g} m/s = {speed}"
        time = f"{scales.steps_per_time * converter.time:.6g} s = {time}"
        unit = "N/m^3"
    sides = [f"{side} {boundary.kind}" for side, boundary in case.boundaries.given()]
    layout = "" if lbm.layout == "auto" else f" {lbm.layout}"
    in_place = ", one array in place" if lbm.streaming == "in_place" else ""
    eddies = "" if lbm.smagorinsky is None else f", Smagorinsky's constant {lbm.smagorinsky:g}"
    return [
        ("case", case.case.name + (f": {case.case.description}" if case.case.description else "")),
        ("grid", f"{show_extent(cells)} = {case.cell_count:,} cells".replace(",", " ")),
        ("method", f"{lbm.lattice} {lbm.collision} {lbm.precision}{layout}{in_place}{eddies}"),
        *([("sides", ", ".join(sides))] if sides else []),
        *([("bodies", ", ".join(case.bodies))] if case.bodies else []),
        ("Reynolds number", f"{scales.reynolds:.6g}"),
        ("lid speed", f"{speed}; length / lid speed = {time}"),
        ("tau", f"{scales.tau:.5f}"),
        ("Mach number", f"{scales.mach:.3f}"),
        *([("force", "({:g}, {:g}, {:g}) {}".format(*force, unit))] if any(force) else []),
        ("grid Reynolds number", f"{scales.grid_reynolds:.2f}"),
        ("ends", _ending(case)),
    ]


def conversion(case: Case) -> Group | None:
    """What one lattice unit is in SI, and the numbers that are the same in both; None for a case in cells and steps."""
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


def loads(found: dict[str, dict[str, Any]], case: Case) -> Group:
    """Forces on the bodies, moments about the points that were given, and their coefficients where an area was."""
    rows = []
    for name, entry in found.items():
        moments = ["moment", "moment_coefficient"] if case.bodies[name].about else []
        for quantity in ("force", "coefficient", *moments):
            if quantity in entry:
                rows.append((name, quantity.replace("_", " "), *(f"{part:.6g}" for part in entry[quantity])))
    unit = "N, moments in N m" if case.si else "density 1 x cells^4 / steps^2, moments times cells"
    unit += "; of a depth of one cell" if case.lbm.lattice == "D2Q9" else ""
    return table(f"loads on bodies (forces in {unit})", ["body", "", "x", "y", "z"], rows, left=2)


def permeability(found: Permeability, case: Case) -> str:
    """Of a periodic bed."""
    area, speed = ("m^2", "m/s") if case.si else ("cells^2", "cells a step")
    return (
        f"permeability {found.permeability:.5g} {area} along the force, from the superficial velocity "
        f"{found.superficial_velocity:.5g} {speed}; {100 * found.solid_share:.1f} % solid"
    )


def _ending(case: Case) -> str:
    seconds = f", {case.last_step * case.converter.time:.4g} s" if case.converter else ""
    last = f"step {case.last_step} ({case.last_step / case.scales.steps_per_time:.4g} length / lid speed{seconds})"
    return f"residual below {case.run.residual:g}, or {last}" if case.run.residual else last


def facts(setup: Setup, prediction: predict.Prediction, build: dict[str, Any]) -> list[tuple[str, str]]:
    """Everything one wants to know before the first step."""
    machine, plan = setup.machine, setup.plan
    found = machine.devices()
    names = sorted({entry["name"] for entry in found})
    needed = needed_per_device(plan, len(found))
    counts: dict[str, int] = {}
    for message in plan["messages"]:
        counts[message["route"]] = counts.get(message["route"], 0) + 1
    routes = ", ".join(f"{route} x {count}" for route, count in sorted(counts.items())) or "none (one block)"
    split = _split(plan)
    return [
        ("slipstream", f"{build['version']}, commit {build['commit']}, {build['mpi']}"),
        *physics(setup.case),
        (
            "devices",
            f"{len(found)} x {', '.join(names)} on {count(machine.ranks, 'rank')}, {count(machine.nodes, 'node')}",
        ),
        ("links", link_summary(machine)),
        ("blocks", f"{len(plan['blocks'])}: nodes x devices x blocks = {split}"),
        ("routes", routes),
        ("memory", f"{megabytes(max(needed))} MB a device, of {megabytes(min(d['memory'] for d in found))}"),
        ("populations", f"{plan['layout']}, rows along {'z' if plan['layout'] == 'soa_z' else 'x'}"),
        ("bytes a cell", f"{plan['bytes_per_cell']} read and written a step"),
        ("predicted", f"{prediction.mlups(setup.case.cell_count):.0f} MLUPS, {prediction.step * 1e3:.3g} ms a step"),
        *(("warning", text) for text in solver_of(setup.case).warnings(setup.case)),
    ]


def _split(plan: dict[str, Any]) -> str:
    return " x ".join(show_counts(plan["partition"][level]) for level in ("nodes", "devices", "blocks"))


def blocks(plan: dict[str, Any]) -> Group:
    rows = [
        (b["id"], b["device"], b["rank"], *(f"{lo}..{hi}" for lo, hi in zip(b["lo"], b["hi"], strict=True)))
        for b in plan["blocks"][:ROWS]
    ]
    more = len(plan["blocks"]) - len(rows)
    split = _split(plan)
    title = f"blocks: nodes x devices x blocks = {split}" + (f" (and {more} more)" if more else "")
    return table(title, ["block", "device", "rank", "x", "y", "z"], rows)


def placement(plan: dict[str, Any]) -> str:
    cost, trivial = plan["placement_cost"], plan["trivial_cost"]
    gain = f", {100 * (1 - cost / trivial):.1f} % below the trivial order" if trivial else ""
    return f"placement: cost {cost:.4g}{gain}"


def memory(plan: dict[str, Any], machine: Any) -> Group:
    found = machine.devices()
    names = list(dict.fromkeys(array["array"] for array in plan["arrays"]))
    amounts = {(array["device"], array["array"]): 0 for array in plan["arrays"]}
    for array in plan["arrays"]:
        amounts[array["device"], array["array"]] += array["bytes"]
    needed = needed_per_device(plan, len(found))
    rows = [
        (d, *(megabytes(amounts.get((d, name), 0)) for name in names), megabytes(needed[d]), megabytes(entry["memory"]))
        for d, entry in list(enumerate(found))[:ROWS]
    ]
    return table("memory of each device, MB", ["device", *names, "all", "there is"], rows)


def messages(entries: Sequence[dict[str, Any]], title: str) -> Group:
    """Neighbours with their routes; with times where the entries have them."""
    timed = any(entry.get("seconds") is not None for entry in entries)
    columns = ["from", "to", "route", "why", "bytes"] + (["us", "GB/s"] if timed else [])
    rows: list[list[Any]] = []
    for entry in entries[:ROWS]:
        row = [entry["source"], entry["target"], entry["route"], entry["reason"], entry["bytes"]]
        if timed:
            seconds = entry.get("seconds")
            row += [f"{seconds * 1e6:.1f}", f"{entry['bytes'] / seconds / 1e9:.2f}"] if seconds else ["-", "-"]
        rows.append(row)
    more = len(entries) - len(rows)
    return table(title + (f" (and {more} more)" if more else ""), columns, rows, left=4)


def phases(entries: Sequence[dict[str, Any]]) -> Group:
    whole = next((entry["seconds"] for entry in entries if entry["name"] == "all"), 0.0)
    rows = [
        (
            entry["name"],
            entry["calls"],
            f"{entry['seconds']:.2f}",
            f"{1e3 * entry['seconds'] / entry['calls']:.3f}" if entry["calls"] else "-",
            f"{100 * entry['seconds'] / whole:.1f}" if whole else "-",
        )
        for entry in entries
    ]
    return table("phases", ["phase", "calls", "s", "ms a call", "%"], rows)


def prediction(setup: Setup, predicted: predict.Prediction) -> Group:
    source = "measured here" if predicted.measured else "rated"
    rows = [
        (f"cells (bytes over the memory's rate, {source})", f"{predicted.compute * 1e3:.4g}"),
        ("halos (bytes over the links' rates)", f"{predicted.exchange * 1e3:.4g}"),
        (f"step ({'the longer' if predicted.overlap else 'the sum'})", f"{predicted.step * 1e3:.4g}"),
    ]
    mlups = predicted.mlups(setup.case.cell_count) if predicted.step else 0.0
    return table(f"predicted step: {mlups:.0f} MLUPS", ["part", "ms"], rows)


def expected(entries: Sequence[dict[str, Any]]) -> Group:
    """What the case expects, and whether it came so."""
    rows = [
        (
            entry["quantity"],
            f"{entry['low']:g} to {entry['high']:g}",
            "not found" if entry["value"] is None else f"{entry['value']:.6g}",
            "yes" if entry["met"] else "NO",
        )
        for entry in entries
    ]
    return table("expected of this case", ["quantity", "range", "found", "met"], rows)


def comparison(result: Comparison) -> list[Group | str]:
    """What the run is worth: every reference point, the largest distance, the extrema."""
    parts: list[Group | str] = []
    if result.reference:
        rows = [
            (
                p.line.replace("_of_", "(") + ")",
                f"{p.place:.4f}",
                f"{p.reference:.5f}",
                f"{p.computed:.5f}",
                f"{p.error_percent:+.2f}",
            )
            for p in result.points
        ]
        title = f"against {result.reference.title}, Re {result.reference.reynolds:g}"
        parts.append(table(title, ["profile", "place", "reference", "computed", "error, % of lid speed"], rows))
        parts.append(f"largest error of all points: {result.largest_percent:.2f} % of the lid speed")
    published = any(entry.reference is not None for entry in result.extrema)
    columns = ["extremum", "value", "place"] + (["reference", "place", "error, %"] if published else [])
    extrema: list[list[Any]] = []
    for entry in result.extrema:
        row: list[Any] = [entry.name, f"{entry.value:.5f}", f"{entry.place:.4f}"]
        if published:
            if entry.reference is None:
                row += [None] * 3
            else:
                row += [f"{entry.reference:.5f}", f"{entry.reference_place:.4f}", f"{entry.error_percent:+.2f}"]
        extrema.append(row)
    parts.append(table("extrema of the cubic interpolants", columns, extrema))
    return parts
