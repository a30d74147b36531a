"""Results of a lattice Boltzmann run as numbers, tables and pictures."""

import math
from typing import Any

from rich.console import Console

from slipstream.base.core import core
from slipstream.base.terminal import table
from slipstream.flow import energy, expected, initial, load_series, profiles
from slipstream.lbm import report
from slipstream.lbm.case import LbmCase
from slipstream.run.march import Outcome
from slipstream.run.report import expected as expected_table
from slipstream.run.troubles import Troubles


def figures(case: LbmCase, outcome: Outcome) -> dict[str, Any]:
    """Results of the flow as numbers, for comparison.json."""
    scales = case.scales
    own = {"lattice", "representation", "collision", "smagorinsky", "precision", "streaming"}
    return {
        **case.lbm.model_dump(include=own),
        "force": list(case.force),
        **_si_figures(case, outcome),
        "reynolds": scales.reynolds,
        "reference_velocity": scales.reference_velocity,
        "tau": scales.tau,
        "time_units": outcome.steps / scales.steps_per_time,
    }


def _si_figures(case: LbmCase, outcome: Outcome) -> dict[str, Any]:
    """Conversion factors of a case in SI, with units in the names."""
    converter, physics, scales = case.converter, case.physics, case.scales
    if converter is None:
        return {}
    figures = {
        "cell_m": converter.length,
        "step_s": converter.time,
        "density_kg_per_m3": converter.density,
        "length_m": scales.length * converter.length,
        "reference_velocity_m_per_s": physics.reference_velocity,
        "viscosity_m2_per_s": scales.viscosity * converter.viscosity,
        "force_n_per_m3": list(physics.force),
        "time_s": outcome.steps * converter.time,
    }
    return {"si": figures}


def results(
    lbm: Any, case: LbmCase, reference: Any, figures: dict[str, Any], console: Console, troubles: Troubles
) -> None:
    """Computes velocity profiles and their comparison with published ones, and draws pictures. Collective; rank 0
    writes."""
    folder, step, shown = case.folder, figures["steps"], case.output.profiles or case.output.pictures
    lines = profiles.profiles(lbm, case) if shown or reference else None
    result = profiles.compare(lines, reference) if lines is not None else None
    figures["findings"] = found = _findings(lbm, case, figures, result, console, troubles)
    figures["expected"] = expected.against(case, found)
    where, plane = "z", None
    if case.output.pictures:
        where = profiles.shown_plane(lbm, case)
        plane = profiles.mid_plane(lbm, case, where)
    spanwise = profiles.spanwise(lbm, case)
    figures["spanwise"] = None if spanwise is None or math.isnan(spanwise) else spanwise
    if core().rank() != 0:
        return
    if lines is not None and result is not None and shown:
        for part in report.comparison(result):
            console.print(part)
        if figures["spanwise"] and case.dimensions == 3:
            most = f"{figures['spanwise']:.1e}"
            console.print(f"spanwise velocity in the mid-plane: at most {most} of the reference velocity")
        if case.output.profiles:
            with troubles.with_data(folder / "profiles.csv", "it", step):
                profiles.write_profiles(folder / "profiles.csv", lines, case)
            with troubles.with_data(folder / "comparison.json", "it", step):
                profiles.write_json(folder / "comparison.json", result, figures)
        if plane is not None:
            from slipstream.pictures import overview

            with troubles.with_picture("profiles.png", step):
                overview.profiles(folder / "profiles.png", lines, result.reference, case)
            with troubles.with_picture("streamlines.png", step):
                overview.streamlines(folder / "streamlines.png", plane, case, where)
    if figures["expected"]:
        console.print(expected_table(figures["expected"]))


def _findings(
    lbm: Any,
    case: LbmCase,
    figures: dict[str, Any],
    result: profiles.Comparison | None,
    console: Console,
    troubles: Troubles,
) -> dict[str, float]:
    """Results of a run as numbers by name, for which the case may give ranges; on rank 0. Collective."""
    distance = initial.distance(lbm, case) if case.exact else None
    if core().rank() != 0:
        return {}
    found = {} if distance is None else {"exact.distance": distance}
    if result and result.largest_percent is not None:
        found["reference.largest_error_percent"] = result.largest_percent
    if figures["zigzag"]["share"] is not None:
        found["zigzag"] = figures["zigzag"]["share"]
    if "permeability" in figures:
        found["permeability"] = figures["permeability"]["permeability"]
    if case.bodies:
        with troubles.with_picture("summary of loads.csv", figures["steps"]):
            found |= expected.of_loads(case.folder / "loads.csv", case)
            _show_loads(case, figures["steps"], console, troubles)
    if case.output.energy:
        with troubles.with_picture(f"summary of {energy.FILE}", figures["steps"]):
            found |= _decay(case, figures, troubles)
    return found


def _show_loads(case: LbmCase, step: int, console: Console, troubles: Troubles) -> None:
    """Prints the forces on bodies over the last half of the run, and draws their picture."""
    series = load_series.read(case.folder / "loads.csv", case)
    if not series:
        return
    columns, lines = load_series.table(series, case)
    console.print(table("loads on bodies over the last half of the run", columns, lines, left=2))
    if case.output.pictures:
        with troubles.with_picture(load_series.PICTURE, step):
            from slipstream.pictures import overview

            overview.loads(case.folder / load_series.PICTURE, series, case)


def _decay(case: LbmCase, figures: dict[str, Any], troubles: Troubles) -> dict[str, float]:
    """Results on the kinetic energy over time, as numbers by name, and its picture."""
    decay, reference = energy.read(case.folder / energy.FILE, case), energy.reference_for(case)
    figures["energy"] = compared = energy.compare(decay, reference)
    if case.output.pictures:
        with troubles.with_picture(energy.PICTURE, figures["steps"]):
            from slipstream.pictures import overview

            overview.energy(case.folder / energy.PICTURE, case, decay, reference)
    return {f"energy.{name}": value for name, value in compared.items() if isinstance(value, float)}
