"""The table [dns] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypedDict

from pydantic import Field

from slipstream.base.keys import Count, Positive, Size, Table, Vector


class DnsTable(Table):
    """[dns]: the flow and its discretisation."""

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

    viscosity: Annotated[float, Field(ge=0)] = Field(
        description="Kinematic viscosity; for the Taylor-Green vortex 1 / Reynolds number."
    )
    time_step: Positive = Field(description="The time step, which is constant; with courant the largest one.")
    courant: Positive | None = Field(
        None,
        description="Each step is as long as this Courant number allows for the velocity at its start. Left out: all "
        "steps have the length time_step.",
    )
    lengths: tuple[Positive, Positive, Positive] = Field(
        (6.283185307179586, 6.283185307179586, 6.283185307179586), description="Edges of the box along x, y, z."
    )
    dealiasing: Literal["two_thirds", "spherical", "phase_shift"] = Field(
        "two_thirds",
        description="Retained modes: 3 |k_a| < n_a, or the sum of (k_a / n_a)^2 < 2/9; phase_shift: the latter, on "
        "shifted grids. The grid is shifted at every stage, which cancels aliases along one axis.",
    )
    schmidt: tuple[Positive, ...] = Field(
        (), description="Schmidt or Prandtl number of each passive scalar: viscosity / diffusivity."
    )
    gradients: tuple[Vector, ...] | None = Field(
        None, description="Mean gradient of each scalar. Left out: none, and scalars are zero."
    )
    scheme: Literal["rk2", "rk4"] = Field(
        "rk4",
        description="Runge-Kutta method: Heun's of order 2, or the classical one of order 4. Both integrate viscosity "
        "exactly.",
    )
    precision: Literal["f32", "f64"] = Field("f64", description="Number format.")
    forcing: Literal["power", "energy", "stochastic"] = Field(
        "power",
        description="power: the lowest shells get forcing_power; energy: their energy is constant; stochastic: random "
        "accelerations. The last kind is that of Eswaran & Pope (1988).",
    )
    forcing_acceleration: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="stochastic: standard deviation of the real and of the imaginary part of a mode's acceleration.",
    )
    forcing_time: Annotated[float, Field(ge=0)] = Field(
        0.0, description="stochastic: correlation time of the accelerations."
    )
    forcing_seed: Annotated[int, Field(ge=0)] = Field(
        1, description="stochastic: seed of the accelerations, which are the same on any number of devices."
    )
    forcing_power: Annotated[float, Field(ge=0)] = Field(
        0.0, description="power: power per mass that the lowest shells get; 0: the flow decays."
    )
    forcing_shells: Count = Field(
        2,
        description="Number of forced shells: |k| <= forcing_shells + 1/2, in units of the lowest wave number. The "
        "lowest wave number is 2 pi / (longest edge).",
    )
    rotation: Vector = Field(
        (0.0, 0.0, 0.0), description="Angular velocity of the frame of reference; its Coriolis force acts on the flow."
    )
    largest_courant: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="The run ends if the Courant number in a row of statistics.csv is above this; 0: no limit. Left "
        "out: 1.3 for rk4, 0.5 for rk2.",
    )
    budget: bool = Field(
        False,
        description="Compute the energy budget of every step: power of the forcing and dissipation. budget_error is "
        "the largest error of a step, relative to the energy that is dissipated in it.",
    )
    process_grid: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | Literal["measured"] = Field(
        (0, 0),
        description="Number of devices along the two axes that are cut: [1, p] gives slabs. Zeros: slabs if every "
        "device gets one. 'measured': the grid with the fastest transforms, which is cached.",
    )
    store: bool | None = Field(
        None,
        description="Transforms store their results directly in the memory of other devices if possible, without "
        "packing. Left out: where measurements found it faster.",
    )
    device_memory: Size | None = Field(
        None,
        description='Memory to use of each device, such as "8 GiB"; the arrays are then in host memory. Requires '
        "slabs.",
    )
    host_copies: Literal["measured", "single", "pitched", "kernel", "mixed"] = Field(
        "measured", description="With device_memory: how rows are copied between host and device."
    )
    synchronous: bool = Field(
        False, description="With device_memory: copies do not overlap with computation, for comparison."
    )
    overlap: bool = Field(
        False, description="Send one component while the next is transformed, with twice the work arrays and messages."
    )


class DnsKeywords(TypedDict, total=False):
    """Keys of [dns] that may be left out."""

    courant: float
    lengths: Sequence[float]
    dealiasing: Literal["two_thirds", "spherical", "phase_shift"]
    schmidt: Sequence[float]
    gradients: Sequence[Sequence[float]]
    scheme: Literal["rk2", "rk4"]
    precision: Literal["f32", "f64"]
    forcing: Literal["power", "energy", "stochastic"]
    forcing_acceleration: float
    forcing_time: float
    forcing_seed: int
    forcing_power: float
    forcing_shells: int
    rotation: Sequence[float]
    largest_courant: float
    budget: bool
    process_grid: Sequence[int] | Literal["measured"]
    store: bool
    device_memory: str
    host_copies: Literal["measured", "single", "pitched", "kernel", "mixed"]
    synchronous: bool
    overlap: bool
