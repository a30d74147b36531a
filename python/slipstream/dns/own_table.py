"""The table [dns] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Positive, Size, Table, Vector


class DnsTable(Table):
    """[dns]: the flow and how it is computed."""

    in_units: ClassVar[Mapping[str, str]] = {
        "length^2 / time": "viscosity",
        "time": "time_step forcing_time",
        "-": "courant schmidt forcing_seed largest_courant",
        "length": "lengths",
        "scalar / length": "gradients",
        "length / time^2": "forcing_acceleration",
        "length^2 / time^3": "forcing_power",
        "shells": "forcing_shells",
        "1 / time": "rotation",
        "devices": "process_grid",
    }

    viscosity: Annotated[float, Field(ge=0)] = Field(description="Kinematic; of Taylor-Green 1 / Reynolds number.")
    time_step: Positive = Field(description="The same all through; with courant the longest.")
    courant: Positive | None = Field(
        None,
        description="Each step is as long as this Courant number allows for the velocity it begins with. Left out: "
        "all are time_step long.",
    )
    lengths: tuple[Positive, Positive, Positive] = Field(
        (6.283185307179586, 6.283185307179586, 6.283185307179586), description="Edges of the box along x, y, z."
    )
    dealiasing: Literal["two_thirds", "spherical", "phase_shift"] = Field(
        "two_thirds",
        description="Modes that are kept: 3 |k_a| < n_a, or the sum of (k_a / n_a)^2 < 2/9; phase_shift: these, and "
        "grids that are shifted at every stage, whose aliases along one axis cancel.",
    )
    schmidt: tuple[Positive, ...] = Field(
        (), description="Schmidt or Prandtl numbers of passive scalars, one for each: viscosity / diffusivity."
    )
    gradients: tuple[Vector, ...] | None = Field(
        None, description="Mean gradient of each scalar. Left out: there is none, and scalars are zero."
    )
    scheme: Literal["rk2", "rk4"] = Field("rk4", description="Heun's, or the classical one; viscosity exactly in both.")
    precision: Literal["f32", "f64"] = Field("f64", description="Number format.")
    forcing: Literal["power", "energy", "stochastic"] = Field(
        "power",
        description="power: the lowest shells get forcing_power; energy: they keep the energy that they begin with; "
        "stochastic: their modes are accelerated at random (Eswaran & Pope 1988).",
    )
    forcing_acceleration: Annotated[float, Field(ge=0)] = Field(
        0.0, description="stochastic: root of the variance of each real number of a mode's acceleration."
    )
    forcing_time: Annotated[float, Field(ge=0)] = Field(0.0, description="stochastic: correlation time.")
    forcing_seed: Annotated[int, Field(ge=0)] = Field(
        1, description="stochastic: the same numbers on any number of devices."
    )
    forcing_power: Annotated[float, Field(ge=0)] = Field(
        0.0, description="power: energy a time and mass put into the lowest shells; 0: the flow decays."
    )
    forcing_shells: Count = Field(
        2, description="Shells |k| <= so many + 1/2 that are forced, by the lowest wave number 2 pi / (longest edge)."
    )
    rotation: Vector = Field(
        (0.0, 0.0, 0.0), description="Angular velocity of the frame, whose Coriolis force acts on the flow."
    )
    largest_courant: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="A larger Courant number (CFL) in a row of statistics.csv ends the run; 0: any will do. Left out: "
        "1.3 for rk4, 0.5 for rk2.",
    )
    budget: bool = Field(
        False,
        description="Account for energy in every step: what the forcing puts in, what viscosity takes. budget_error "
        "is the largest error of a step by what viscosity takes in it.",
    )
    process_grid: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | Literal["measured"] = Field(
        (0, 0),
        description="Devices along the two cut axes: [1, p] are slabs. Zeros: slabs where all get some; 'measured': "
        "those whose transforms are fastest, which is cached.",
    )
    store: bool | None = Field(
        None,
        description="Transforms store their results in the other devices themselves where they can, and nothing packs "
        "them. Left out: where that was found to be faster.",
    )
    device_memory: Size | None = Field(
        None,
        description='"8 GiB": the arrays lie in the memory of the host, and so much of each device is used. Slabs.',
    )
    host_copies: Literal["measured", "single", "pitched", "kernel", "mixed"] = Field(
        "measured", description="With device_memory: how rows travel between host and device."
    )
    synchronous: bool = Field(False, description="With device_memory: no copy beside work, to compare with.")
    overlap: bool = Field(
        False, description="One component travels while the next is transformed: twice the work arrays and messages."
    )
