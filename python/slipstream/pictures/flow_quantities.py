"""Speed, vorticity, density, pressure and the parts of the velocity in a plane of a flow."""

from collections.abc import Mapping

import numpy as np

from slipstream.case.flow_case import FlowCase
from slipstream.flow import derived
from slipstream.pictures.planes import Plane
from slipstream.pictures.quantity import Quantity, speed

Array = np.ndarray


def density_at_rest(case: FlowCase) -> float:
    """Density of the fluid at rest, in the unit of the files."""
    return case.converter.density if case.converter else 1.0


def pressure(case: FlowCase, density: Array) -> Array:
    """Pressure above that at rest, p = c_s^2 rho with c_s^2 = 1/3 in the lattice; in Pa, or over rho U^2."""
    above = (density - density_at_rest(case)) / 3.0
    if case.converter:
        return above * case.converter.velocity**2
    return above / case.scales.reference_velocity**2


def _density_above_rest(case: FlowCase, density: Array) -> Array:
    rest = density_at_rest(case)
    return density - rest if case.si else density / rest - 1.0


def quantities(case: FlowCase) -> Mapping[str, Quantity]:
    """Quantities of a flow that pictures show, by their names in `slipstream plot`."""
    unit = case.field_units

    def part(n: int) -> Quantity:
        return Quantity(lambda plane: plane.vectors("velocity")[..., n], lambda _: unit.speed("uvw"[n]))

    def vorticity(plane: Plane) -> Array:
        return derived.plane_vorticity(case, plane.vectors("velocity"), plane.solid, plane.axes)

    return {
        "speed": speed(unit.speed()),
        "vorticity": Quantity(vorticity, unit.vorticity, usual=True),
        "density": Quantity(
            lambda plane: _density_above_rest(case, plane.field("density")[..., 0]), lambda _: unit.density, usual=True
        ),
        "pressure": Quantity(lambda plane: pressure(case, plane.field("density")[..., 0]), lambda _: unit.pressure),
        **{name: part(n) for n, name in enumerate("uvw")},
    }
