"""Units of the fields of a case, and their texts in pictures."""

from collections.abc import Sequence


class Units:
    """Units of a case that has no physical units."""

    length = ""  #: unit to print after a length

    def place(self, axis: str) -> str:
        return axis

    def at(self, axis: str, place: float) -> str:
        return f"{axis} = {place:.4g}{self.length}"

    def time(self, time: float) -> str:
        return f"t = {time:.4g}"

    def box(self, size: Sequence[float]) -> str:
        return " × ".join(f"{edge:.4g}" for edge in size) + self.length


class FlowUnits(Units):
    """Units of a flow: either length, length / reference velocity and reference velocity, or SI."""

    def __init__(self, si: bool) -> None:
        self.si = si
        self.length = " m" if si else " L"

    def place(self, axis: str) -> str:
        return f"{axis} in m" if self.si else f"{axis} / L"

    def time(self, time: float) -> str:
        return f"t = {time:.4g} s" if self.si else f"t = {time:.4g} L / U"

    def speed(self, name: str = "speed") -> str:
        return f"{name} in m/s" if self.si else f"{name} / U"

    @property
    def pressure(self) -> str:
        return r"pressure $p - p_0$ in Pa" if self.si else r"pressure $(p - p_0)\,/\,\rho_0 U^2$"

    @property
    def density(self) -> str:
        return r"density $\rho - \rho_0$ in kg/m$^3$" if self.si else r"density $\rho\,/\,\rho_0 - 1$"

    def vorticity(self, axis: str) -> str:
        return rf"vorticity $\omega_{axis}$ in 1/s" if self.si else rf"vorticity $\omega_{axis}\,L\,/\,U$"

    @property
    def q(self) -> str:
        return "1/s²" if self.si else "(U/L)²"
