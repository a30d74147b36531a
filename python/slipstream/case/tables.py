"""The tables of a case file; `case` puts them together.

Lengths are in cells, speeds in cells per step, unless a name says otherwise; the density is 1. With units.system = "SI"
the keys of [physics] are in metres and seconds.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from slipstream.base.keys import Count, Finite, Positive, Table

Extent = tuple[Count, Count, Count]
ExtentOrZero = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


def _rim_form(value: Any) -> str:
    return "word" if isinstance(value, str) else "widths"


#: Cells per axis, or "auto"; told apart first, so that a mistake is one error.
Rim = Annotated[
    Annotated[ExtentOrZero, Tag("widths")] | Annotated[Literal["auto"], Tag("word")],
    Discriminator(_rim_form),
]
RIM_FORMS = frozenset({"widths", "word"})

#: A route, alone or with a sign.
_ROUTES = ("kernel", "direct", "peer", "colocated", "nccl", "nvshmem", "gpu_mpi", "staged")
_ROUTE, _NAME, _WORD = rf"^[+-]?({'|'.join(_ROUTES)})$", r"^[A-Za-z0-9_.-]+$", r"^[A-Za-z0-9_-]+$"
_SLOW = r"^(none|[0-9.eE+-]+ GB/s(, [0-9.eE+-]+ us)?)$"
RouteName = Annotated[str, Field(pattern=_ROUTE)]
CodingName = Literal["raw", "cast", "cast to f32", "cast to f16", "cast to bf16"]
#: A rate and a latency; their bounds are the engine's to tell.
ThrottleText = Annotated[str, Field(pattern=_SLOW)]
BodyName = Annotated[str, Field(pattern=_WORD)]
#: What must match a pattern, in the words of a message.
PATTERNS = {
    _ROUTE: f"should be a route, alone or with + or - before it: {', '.join(_ROUTES)}",
    _SLOW: "should be a rate and a latency, as '12.5 GB/s, 2 us', or 'none'",
    _NAME: "should be of letters, digits, '_', '-' and '.' alone",
    _WORD: "should be a name of letters, digits, '_' and '-' alone",
}


class CaseTable(Table):
    """[case]: what this is."""

    name: Annotated[str, Field(min_length=1, pattern=_NAME)] = Field(
        "case", description="Short name; the default output folder is results/<name>."
    )
    description: str = Field("", description="One sentence for the banner and the pictures.")


class GridTable(Table):
    """[grid]: the cells."""

    cells: Extent = Field(description="Cells along x, y and z; nz = 1 for a 2-D lattice.")
    periodic: tuple[bool, bool, bool] = Field((False, False, False), description="Axes that close on themselves.")


class LbmTable(Table):
    """[lbm]: the method."""

    lattice: Literal["D2Q9", "D3Q19", "D3Q27"] = Field("D3Q19", description="Set of velocities.")
    collision: Literal["SRT", "TRT", "MRT", "cumulant"] = Field(
        "TRT", description="One relaxation time, two, one for each group of moments; cumulant: D3Q27 only."
    )
    magic: Positive = Field(
        0.1875,
        description="TRT and MRT: (tau+ - 1/2)(tau- - 1/2); 3/16 puts walls exactly half-way between cells.",
    )
    smagorinsky: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="Large eddies only: Smagorinsky's constant, 0.1 to 0.2 as a rule; the filter is one cell wide. "
        "Left out: no model of eddies.",
    )
    precision: Literal["f16", "f32", "f64"] = Field(
        "f32", description="Number format of the populations; f16 is computed with in f32."
    )
    streaming: Literal["two", "in_place"] = Field(
        "two", description="Two arrays of populations, or one that is updated in place: half the memory, the same bits."
    )
    solids: Literal["auto", "dense", "flags", "sparse"] = Field(
        "auto",
        description="Cells inside of bodies: stored and computed, stored and skipped, or left out; auto: by their "
        "share in each block, or the fastest where exchange.tune measures. The same bits.",
    )
    layout: Literal["auto", "soa", "aos", "soa_z"] = Field(
        "auto",
        description="Populations in arrays of their own with rows along x, side by side, or in arrays of their own "
        "with rows along z; auto: along x, on GPUs along z where devices share x and blocks are not cut in z.",
    )
    alignment: Annotated[int, Field(ge=4, le=4096)] | Literal["auto"] = Field(
        "auto",
        description="Bytes to which the first interior cell of each row is aligned, a power of two; auto: 256 on GPUs, "
        "64 on the host.",
    )


class UnitsTable(Table):
    """[units]: in which ones [physics], run.time and output.every_time are written, and the files of the run. Ratios
    (time_units, residual, output.every, guard.density, and without speeds velocities in the lid speed) stay ratios."""

    system: Literal["lattice", "SI"] = Field("lattice", description="Cells and steps, or metres, seconds and kg.")
    cell: Positive | None = Field(None, description="SI: edge of a cell in m.")
    density: Positive | None = Field(None, description="SI: of the fluid at rest in kg/m^3; water 998, air 1.2.")
    lattice_speed: Positive | None = Field(
        None,
        description="SI: the lid speed in cells per step, from which the step follows in s. "
        "Left out: 6.4 / length in cells, at most 0.1. Either this or step.",
    )
    step: Positive | None = Field(None, description="SI: a step in s. Either this or lattice_speed.")
    speeds: Literal["m/s"] | None = Field(
        None,
        description="SI: the velocities of [walls], [boundaries], [initial] and [exact] are in m/s, with them "
        "initial.pressure in Pa and the time of [exact] in s. Left out: in units of the lid speed.",
    )


class PhysicsTable(Table):
    """[physics]: the flow, in lattice units or in SI as units.system says."""

    reynolds: Positive | None = Field(None, description="Lid speed x length / viscosity. Either this or viscosity.")
    viscosity: Positive | None = Field(None, description="Kinematic viscosity in lattice units; SI: m^2/s.")
    force: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="On all of the fluid, per volume, in lattice units: at density 1 the acceleration in cells per "
        "step squared; SI: N/m^3.",
    )
    lid_speed: Positive | None = Field(
        None,
        description="Speed of the lid in cells per step; the Mach number is sqrt(3) times it. "
        "Left out: 6.4 / length, at most 0.1, so that the error of compressibility falls with that of the grid. "
        "SI: m/s, to be given.",
    )
    pressure_drop: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0),
        description="Of a periodic axis: pressure at its low end less that at its high end, in lattice units (a third "
        "of the density); SI: Pa.",
    )
    length: Positive | str | None = Field(
        None,
        description="Of the Reynolds number, in cells; SI: m; or an expression in the box's sides Lx, Ly, Lz: "
        '"Lx/(2*pi)". Left out: from the lid to its opposite.',
    )


class RunTable(Table):
    """[run]: when to stop, whichever comes first."""

    steps: Count | None = Field(None, description="At most so many steps.")
    time_units: Positive | None = Field(None, description="At most so many times length / lid speed.")
    time: Positive | None = Field(None, description="SI: at most so many seconds of the flow.")
    residual: Positive | None = Field(
        None,
        description="Steady: largest change of velocity per length / lid speed, over the lid speed, below this. Where "
        "a force, pressure or slower sides drive the flow, over its own speed (the root of the mean square) if less.",
    )
    check_every: Count | None = Field(None, description="Steps between residuals. Left out: length / lid speed.")


class ExchangeTable(Table):
    """[exchange]: how halos travel."""

    routes: list[RouteName] = Field(
        [],
        description='Routes that may be used; none named: all; "+direct" adds one to those before it, or to all, '
        '"-staged" takes one away.',
    )
    tune: Literal["rules", "measure"] = Field(
        "rules", description="Routes by rules, or the fastest by measurement, remembered on disk."
    )
    retune: bool = Field(False, description="Measure again, whatever is remembered.")
    coding: CodingName = Field(
        "raw",
        description='How values travel between blocks: as they are, or with "cast" rounded, f64 to f32 and f32 to f16 '
        '("cast to bf16": to that). A value that is too large is an error. Bits depend on it, and not on routes.',
    )
    throttle: ThrottleText | None = Field(
        None,
        description='A slow network on one host, as "12.5 GB/s, 2 us"; then messages between devices travel by staged '
        "or gpu_mpi.",
    )
    pack: Literal["fused", "per_direction", "memcpy3d", "zero_copy"] | None = Field(
        None,
        description="How staged and gpu_mpi pack: one kernel, one a message, copies, or (staged) straight into host "
        "memory. Left out, as the keys down to chunk: fused, or what was measured.",
    )
    streams: Literal["one", "per_direction"] | None = Field(
        None, description="Whether what belongs to one message alone shares a stream with others."
    )
    sync: bool | None = Field(None, description="Let the host wait after every packing and unpacking.")
    grouping: Literal["devices", "nodes"] | None = Field(
        None, description="Between nodes, one message for each pair of devices, or of nodes."
    )
    teams: Annotated[int, Field(ge=0)] | None = Field(None, description="Thread blocks of a launch, at most; 0: many.")
    chunk: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Bytes of a message that are sent at once; 0: by its size."
    )
    overlap: Literal["auto", "on", "off"] = Field(
        "auto",
        description='Interior cells while the halos travel; "auto": between GPUs, unless blocks are cut across rows.',
    )
    rim: Rim = Field(
        (0, 0, 0),
        description="Width of the rim that waits for halos, per axis; 0: one layer, or on GPUs along rows what fills a "
        'sector of memory; "auto": the fastest by measurement, as with overlap = "auto" whether to overlap, remembered '
        "on disk.",
    )
    rim_processors: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Multiprocessors of a GPU that the rim's kernels may fill at once, about; 0: all, or with "
        'rim = "auto" the fastest.',
    )
    placement: Literal["trivial", "random", "theoretical", "measured"] = Field(
        "theoretical", description="Which block goes to which device: by the links' rated or measured rates."
    )
    placement_seed: Annotated[int, Field(ge=0)] = Field(0, description="Of random.")
    blocks_per_device: Extent = Field((1, 1, 1), description="Blocks of each device per axis.")
    block: ExtentOrZero = Field(
        (0, 0, 0),
        description="Cells of a block; how many blocks there are, and each device has, follows. Zeros: "
        "blocks_per_device counts.",
    )
    node_grid: ExtentOrZero = Field((0, 0, 0), description="Nodes per axis; zeros: by bisection.")
    device_grid: ExtentOrZero = Field((0, 0, 0), description="Devices of a node per axis; zeros: by bisection.")
    wait_limit: Positive = Field(60.0, description="Seconds after which a missing message is an error.")


class OutputTable(Table):
    """[output]: what stays."""

    folder: str | None = Field(None, description="Left out: results/<name>.")
    fields: bool = Field(True, description="Velocity, density, pressure and flags as fields.vtkhdf, for ParaView.")
    every: Positive | None = Field(
        None, description="Length / lid speed between fields, from the start on. Left out: the last only."
    )
    every_time: Positive | None = Field(
        None, description="SI: seconds of the flow between fields, from the start on. Or every."
    )
    profiles: bool = Field(True, description="Centreline profiles as profiles.csv, and the comparison.")
    pictures: bool = Field(True, description="profiles.png and streamlines.png.")
    report: bool = Field(True, description="report.html, the run on one page.")
    energy: bool = Field(False, description="Energy and dissipation over time as energy.csv, a row per residual.")
    reference: Literal["auto", "none", "ghia1982", "botella1998", "albensoeder2005", "taylor_green1600"] = Field(
        "auto", description="Published flow to compare with; auto: the best cavity for this Reynolds number, if any."
    )


class CheckpointTable(Table):
    """[checkpoint]: from what a run goes on (run --restart)."""

    every: Count | None = Field(None, description="Steps between checkpoints. Left out: only at the end of the run.")
    final: bool = Field(
        True,
        description="One at the end, from which the run goes on with more steps; false: only where a signal or the "
        "clock ends it.",
    )
    keep: Count = Field(2, description="Checkpoints that stay, the newest; one more is on the disk for a while.")
    folder: str | None = Field(
        None, description="They lie in its subfolder of the case's name. Left out: checkpoints in output.folder."
    )
    snapshot: Literal["pinned", "device", "mpi"] = Field(
        "pinned",
        description="Where values wait until they are written: pinned host memory, or as much device memory again, "
        "which holds up the steps much less; mpi: from there by MPI's own files, where MPI takes device memory.",
    )
    wall_clock_limit: Positive | None = Field(
        None, description="Seconds after which the run makes a checkpoint and ends; leave it time to write."
    )


class GuardTable(Table):
    """[guard]: when a run is given up."""

    every: Annotated[int, Field(ge=0)] = Field(100, description="Steps between inspections of all cells; 0: none.")
    density: tuple[Finite, Finite] = Field((0.2, 5.0), description="Lowest and highest density of a sound flow.")
