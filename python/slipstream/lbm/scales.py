"""Checks whether the method can compute with the speeds and the viscosity of a case, and suggests values."""

import math
from collections.abc import Iterator

from slipstream.base.errors import Fault
from slipstream.flow.steadiness import side_speeds
from slipstream.lbm.case import LbmCase
from slipstream.lbm.tables import BY_MAGIC

#: Relaxation time below which rounding and gradients near walls grow faster than viscosity damps them.
TAU_LOW = 0.502

#: Relaxation time below which runs become unstable if their LES model adds eddy viscosity.
TAU_LOW_WITH_EDDIES = 0.5001

#: Least distance of a relaxation time of odd moments from 1/2; the largest relaxation time is its inverse. Rounding
#: sets both.
ODD_LOW = {"f16": 1e-5, "f32": 1e-5, "f64": 1e-12}

#: Relaxation time above which the error of the bulk scheme, of order (tau - 1/2)^2, exceeds that of the grid.
TAU_HIGH = 2.0

MACH_HIGH = 0.3


def top_speed(case: LbmCase) -> float:
    """Speed of the fastest wall or inlet, in units of the reference velocity; at least 1."""
    return max([*side_speeds(case), 1.0])


def problems(case: LbmCase) -> Iterator[Fault]:
    """Faults of the physical scales of a case: velocities, relaxation times and their limits."""
    yield from _mach(case)
    yield from _tau(case)
    yield from _magic(case)


def _mach(case: LbmCase) -> Iterator[Fault]:
    mach = case.scales.mach * top_speed(case)
    if mach <= MACH_HIGH:
        return
    limit = MACH_HIGH / (math.sqrt(3.0) * top_speed(case))
    path = "physics.reference_velocity"
    remedy = f"reference_velocity <= {math.floor(limit * 1000) / 1000:g} (0.1 or less is usual)"
    if case.si:
        path, remedy = step_remedy(case, limit / case.scales.reference_velocity)
    said = f"Mach number {mach:.3f} is above {MACH_HIGH}, where a weakly compressible method stops being accurate; "
    said += f"take {remedy}"
    yield Fault(said, key=path, value=f"{mach:.3f}", allowed=f"<= {MACH_HIGH}", remedy=remedy)


def step_remedy(case: LbmCase, factor: float) -> tuple[str, str]:
    """The key that sets the length of the time step (units.step or units.lattice_speed), and the bound on it that
    changes the time step by `factor`, as text for an error."""
    key, now, unit = "lattice_speed", case.scales.reference_velocity, ""
    if case.units.step:
        key, now, unit = "step", case.units.step, " s"
    up = factor > 1
    return f"units.{key}", f"units.{key} {'>=' if up else '<='} {rounded(now * factor, up=up)}{unit}"


def _tau(case: LbmCase) -> Iterator[Fault]:
    scales = case.scales
    tau_low = TAU_LOW_WITH_EDDIES if case.lbm.smagorinsky else TAU_LOW
    if tau_low <= scales.tau <= TAU_HIGH:
        return
    is_viscosity = case.physics.viscosity is not None
    if case.si:
        remedy = _si_tau_remedies(case, tau_low)
    elif is_viscosity:
        remedy = f"{(tau_low - 0.5) / 3:.2g} <= viscosity <= {(TAU_HIGH - 0.5) / 3:.2g}"
    else:
        remedy = _tau_remedies(case, tau_low)
    allowed = f"{tau_low} to {TAU_HIGH:g}"
    said = f"tau = {scales.tau:.5f} is outside the usable range {allowed}; "
    said += f"take {remedy}" if is_viscosity and not case.si else f"{remedy} would do"
    key = "physics.viscosity" if is_viscosity else "physics.reynolds"
    yield Fault(said, key=key, value=f"{scales.tau:.5f}", allowed=allowed, remedy=remedy)


def _tau_remedies(case: LbmCase, tau_low: float) -> str:
    """Bounds of the reference velocity, the length and the Reynolds number, each for fixed values of the others."""
    scales = case.scales
    small = scales.tau < tau_low
    viscosity = ((tau_low if small else TAU_HIGH) - 0.5) / 3
    speed = scales.reynolds * viscosity / scales.length
    cells = scales.reynolds * viscosity / scales.reference_velocity
    reynolds = scales.reference_velocity * scales.length / viscosity
    remedies = [f"reynolds {'<=' if small else '>='} {rounded(reynolds, up=not small)}"]
    # Refining does not change tau if the reference velocity follows from the number of cells.
    if cells >= 4 and case.physics.reference_velocity is not None and case.physics.length is None:
        whole = math.ceil(cells) if small else math.floor(cells)
        remedies.insert(0, f"{'at least' if small else 'at most'} {whole} cells along the length")
    if speed * math.sqrt(3.0) <= MACH_HIGH:
        remedies.insert(0, f"reference_velocity {'>=' if small else '<='} {rounded(speed, up=small)}")
    return " or ".join(remedies)


def _si_tau_remedies(case: LbmCase, tau_low: float) -> str:
    """Texts on bounds of the step, the cell and the viscosity that bring tau into its range, each for fixed values of
    the other two."""
    scales, units, physics = case.scales, case.units, case.physics
    small = scales.tau < tau_low
    factor = ((tau_low if small else TAU_HIGH) - 0.5) / 3 / scales.viscosity
    sign = ">=" if small else "<="
    remedies = []
    if scales.mach * top_speed(case) * factor <= MACH_HIGH:
        remedies.append(step_remedy(case, factor)[1])
    assert units.cell is not None
    # The size of a cell changes tau only if lattice_speed, the reference velocity in cells per step, is fixed. Without
    # a viscosity or a length in metres, even then the Reynolds number and the number of cells determine tau.
    if units.lattice_speed and (physics.viscosity is not None or physics.length is not None):
        remedies.append(f"units.cell {'<=' if small else '>='} {rounded(units.cell / factor, up=not small)} m")
    if physics.viscosity is not None:
        remedies.append(f"viscosity {sign} {rounded(physics.viscosity * factor, up=small)} m^2/s")
    else:
        remedies.append(f"reynolds {'<=' if small else '>='} {rounded(scales.reynolds / factor, up=not small)}")
    return " or ".join(remedies)


def _magic(case: LbmCase) -> Iterator[Fault]:
    if case.lbm.collision not in BY_MAGIC:
        return
    factor = 3 * case.scales.viscosity
    low = ODD_LOW[case.lbm.precision]
    if not low <= case.lbm.magic / factor <= 1 / low:
        said = f"the odd moments relax with tau = 1/2 + {case.lbm.magic / factor:.3g}; take "
        said += f"{low * factor:.2g} <= magic <= {factor / low:.2g} (0.1875 is usual)"
        yield Fault(said, key="lbm.magic", allowed=f"{low * factor:.2g} <= magic <= {factor / low:.2g}")


def rounded(value: float, up: bool) -> str:
    """Rounds a bound to three digits, away from the range that it excludes."""
    if not 1e-300 < value < math.inf:
        return f"{value:g}"
    scale = 10.0 ** (math.floor(math.log10(value)) - 2)
    rounded = (math.ceil if up else math.floor)(value / scale) * scale
    return f"{rounded:.0f}" if rounded >= 100 else f"{rounded:.3g}"
