"""Warnings about cases that may fail, and about runs whose results are doubtful."""

import math
from collections.abc import Iterator

from slipstream.flow import energy
from slipstream.flow.steadiness import side_speeds
from slipstream.lbm.case import LbmCase
from slipstream.lbm.scales import MACH_HIGH, rounded, top_speed
from slipstream.lbm.tables import BY_MAGIC

#: Reynolds number per cell above which cavities were observed to diverge or to oscillate.
GRID_REYNOLDS_HIGH = 20.0

#: Grid Reynolds number above which inlets became unstable with lbm.magic = 3/16, but not with INLET_MAGIC.
INLET_REYNOLDS_HIGH = 10.0
INLET_MAGIC = 0.05
#: Largest change of a steady flow's velocity in f16, relative to the largest velocity, observed in small channels.
RESTLESS = 1e-3
#: A mass that has changed by a larger share since the start leads to a warning.
DRIFT_HIGH = 0.01


def warnings(case: LbmCase) -> list[str]:
    """Warnings about a case before the first step."""
    return [*of_flow(case), *of_end(case), *_interval(case), *_other_reference(case)]


def of_flow(case: LbmCase) -> list[str]:
    """Warnings about the stability of the flow, for runs and for library use."""
    return [
        *_fine_scales(case),
        *_inlet(case),
        *_driven_speed(case),
        *_loose_pressure(case),
        *_long_length(case),
    ]


def of_end(case: LbmCase) -> list[str]:
    """Warnings about flows that may never count as steady."""
    return [*_slow_force(case), *_restless(case)]


def _fine_scales(case: LbmCase) -> Iterator[str]:
    scales = case.scales
    if scales.grid_reynolds <= GRID_REYNOLDS_HIGH or case.lbm.smagorinsky:
        return
    cells = math.ceil(scales.reynolds / GRID_REYNOLDS_HIGH)
    yield (
        f"grid Reynolds number {scales.grid_reynolds:.1f} is above {GRID_REYNOLDS_HIGH:g}: the run may be unstable; "
        f"{cells} cells along the length would bring it down"
    )


def _restless(case: LbmCase) -> Iterator[str]:
    """Warns that stochastic rounding to f16 keeps changing the last digits, so that a flow may not count as steady."""
    wanted = case.run.residual
    if case.lbm.precision == "f16" and wanted is not None and wanted < RESTLESS:
        yield (
            f"run.residual = {wanted:g} may never be met: no flow in f16 stands still, its velocities go on changing "
            f"by {RESTLESS:g} of the largest; end the run by run.time_units or run.steps, or take f32"
        )


def _interval(case: LbmCase) -> Iterator[str]:
    period = case.output_period
    if period is None or period >= 1.0 or not case.output.fields:
        return
    key, unit = ("every_time", " s") if case.output.every_time else ("every", "")
    step = case.converter.time if case.converter and unit else 1.0 / case.scales.steps_per_time
    yield (
        f"output.{key} = {getattr(case.output, key):g}{unit} is shorter than a step of {step:.4g}{unit}: every step "
        "writes fields"
    )


def _inlet(case: LbmCase) -> Iterator[str]:
    """Warns of inlets at which odd moments with long relaxation times let short waves grow."""
    inlets = [side for side, boundary in case.boundaries.given() if boundary.kind == "velocity"]
    number = top_speed(case) * case.scales.grid_reynolds
    by_magic = case.lbm.collision in BY_MAGIC
    if inlets and number > INLET_REYNOLDS_HIGH and not (by_magic and case.lbm.magic <= INLET_MAGIC):
        held = f"lbm.magic = {INLET_MAGIC:g} held, or take more cells"
        yield (
            f"boundaries.{inlets[0]}: at a Reynolds number of {number:.1f} by one cell the inlet may become unstable, "
            f"as others did above {INLET_REYNOLDS_HIGH:g}; {held if by_magic else 'take more cells, or more viscosity'}"
        )


def _other_reference(case: LbmCase) -> Iterator[str]:
    if energy.of_another_flow(case):
        yield (
            f"output.reference: '{case.output.reference}' is a flow at Reynolds number 1600, and this one has "
            f"{case.scales.reynolds:g}: nothing is compared with it; take physics.reynolds = 1600 for that"
        )


def _laminar(case: LbmCase) -> tuple[float, int, float] | None:
    """Poiseuille velocity F h^2 / (8 viscosity) of a force between the nearest pair of walls, in cells a step, with h
    and F; None without walls. A force along an axis that walls close is balanced by pressure."""
    axes = list(zip(case.grid.cells, case.grid.periodic, case.force, strict=True))
    walled = [cells for cells, periodic, _ in axes if not periodic and cells > 1]
    force = math.hypot(*(part for _, periodic, part in axes if periodic))
    return (force * min(walled) ** 2 / (8 * case.scales.viscosity), min(walled), force) if walled else None


def _driven_speed(case: LbmCase) -> Iterator[str]:
    if not (found := _laminar(case)):
        return
    speed, apart, force = found
    mach = math.sqrt(3.0) * speed
    if mach <= MACH_HIGH:
        return
    unit = case.converter.force_density if case.converter else 1.0
    yield (
        f"physics.force drives a laminar flow between walls {apart} cells apart to Mach number {mach:.3g}, above "
        f"{MACH_HIGH}; unless turbulence holds the flow back, take a force of at most "
        f"{rounded(unit * force * MACH_HIGH / mach, up=False)}{' N/m^3' if case.si else ''}"
    )


def _slow_force(case: LbmCase) -> Iterator[str]:
    """Warns if a force is so weak that the first check of the residual would already find the flow steady."""
    scales, wanted, force = case.scales, case.run.residual, math.hypot(*case.force)
    if wanted is None or not force or max(side_speeds(case), default=0.0) >= 1.0:
        return
    change = force * scales.length / scales.reference_velocity**2
    if change >= wanted:
        return
    found, better = _laminar(case), "one near the speed of the flow"
    if found and found[0]:
        unit = case.converter.velocity if case.converter else 1.0
        better = f"{unit * found[0]:.3g}{' m/s' if case.si else ''}, that of a laminar flow between its walls,"
    yield (
        f"physics.force changes the velocity by {change:.2g} reference velocities in length / reference velocity at "
        f"most, less than "
        f"run.residual = {wanted:g}: nothing here is as fast as the reference velocity, by which times and the "
        f"Reynolds number "
        f"are measured. Whether the flow is steady is judged by its own speed instead; a physics.reference_velocity "
        f"of {better} "
        "gives times and a Reynolds number that say something"
    )


def _loose_pressure(case: LbmCase) -> Iterator[str]:
    """Warns of a box without a pressure boundary, because mass that enters before the flow is developed cannot leave
    it."""
    given = {boundary.kind: (side, boundary) for side, boundary in case.boundaries.given()}
    if "convective" not in given or "pressure" in given or case.initial is not None:
        return
    side, boundary = given["convective"]
    if boundary.relaxation == 0:
        yield (
            f"boundaries.{side}: relaxation = 0 leaves the pressure free, and the flow starts at rest: the mean "
            "density may drift by several percent until the flow has come through; leave relaxation out, take kind = "
            '"pressure" there, or start with the flow that comes in: [initial] velocity'
        )


def _long_length(case: LbmCase) -> Iterator[str]:
    longest = max(case.grid.cells)
    if case.si and case.scales.length > 10 * longest:
        yield (
            f"physics.length of {case.given_length:g} m is {case.scales.length / longest:.3g} times the longest side "
            "of the box: is it in metres?"
        )


def drift(case: LbmCase, share: float) -> str:
    """Advice on a run whose mass has changed by this share since the start; empty if the change is small."""
    pressures = [case.side_density(b) - 1.0 for _, b in case.boundaries.given() if b.kind == "pressure"]
    if min([0.0, *pressures]) - DRIFT_HIGH <= share <= max([0.0, *pressures]) + DRIFT_HIGH:
        return ""
    kinds = {boundary.kind for _, boundary in case.boundaries.given()}
    if pressures:
        slower = "units.lattice_speed or units.step" if case.si else "physics.reference_velocity"
        remedy = f"the pressure of the flow compresses it; a smaller {slower} makes that less by its square"
    elif "convective" in kinds:
        remedy = (
            'only a convective side holds the pressure here; take kind = "pressure" there, or start with the flow that '
            "comes in ([initial])"
        )
    elif "velocity" in kinds:
        remedy = 'what the sides of given velocity let in and out differs; make one of them kind = "pressure"'
    elif case.lbm.precision != "f64":
        rounding = f"rounding in {case.lbm.precision} did it"
        remedy = f'no side lets fluid in or out, so {rounding}; take lbm.precision = "f64"'
    elif side_speeds(case) and case.bodies:
        remedy = "a body fills the edge at which a moving wall ends; leave a cell between them"
    else:
        remedy = (
            "no side lets fluid in or out, and f64 rounds far less than that: a boundary does not keep the mass; "
            "please report the case"
        )
    return (
        f"the mass has changed by {100 * share:+.2g} % since the start, and with it the density, by which forces and "
        f"pressures are measured: {remedy}"
    )
