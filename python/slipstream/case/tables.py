"""The tables of a case file that do not depend on its solver; `case` puts them together."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from slipstream.base.keys import SIZE_PATTERN, Count, Finite, Positive, Table, WaitLimit
from slipstream.base.routes import DRIVEN_BY_HOST
from slipstream.base.routes import NAMES as ROUTES

Extent = tuple[Count, Count, Count]
ExtentOrZero = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


def _rim_form(value: Any) -> str:
    return "word" if isinstance(value, str) else "widths"


#: Type of the key `rim`, the width of the boundary region of a block: cells per axis, or "auto". A list or a word
#: selects which of the two types is checked, so that a mistake gives one error.
Rim = Annotated[
    Annotated[ExtentOrZero, Tag("widths")] | Annotated[Literal["auto"], Tag("word")],
    Discriminator(_rim_form),
]
RIM_FORMS = frozenset({"widths", "word"})

#: Regular expressions: name of a message route with an optional + or -, and name of a body.
_ROUTE, _WORD = rf"^[+-]?({'|'.join(ROUTES)})$", r"^[A-Za-z0-9_-]+$"
_NAME = r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
_SLOW = r"^(none|[0-9.eE+-]+ GB/s(, [0-9.eE+-]+ us)?)$"
RouteName = Annotated[str, Field(pattern=_ROUTE)]
#: Type of an expected range for a result of a run: its lowest and its highest value.
Range = tuple[Finite, Finite]
ExpectedTable = dict[Annotated[str, Field(min_length=1)], Range]
_BITS = r"(, rate [0-9.]+)?(, block [0-9]+)?(, max error [0-9.eE+-]+)?"
_CODING = rf"^(raw|cast( to (f32|f16|bf16))?|(blockfloat|zfp){_BITS}|auto(, max error [0-9.eE+-]+)?)$"
CodingName = Annotated[str, Field(pattern=_CODING)]
#: Type of a throttle: text with a rate and a latency, whose bounds the engine checks.
ThrottleText = Annotated[str, Field(pattern=_SLOW)]
BodyName = Annotated[str, Field(pattern=_WORD)]
#: Sentences for error messages that say what text each regular expression accepts.
PATTERNS = {
    _ROUTE: f"should be a route, alone or with + or - before it: {', '.join(ROUTES)}",
    _CODING: "should be 'raw', 'cast', 'cast to f32', 'cast to f16', 'cast to bf16', 'blockfloat' or 'zfp', the last "
    "two with ', rate BITS', ', block VALUES' or ', max error NUMBER' behind them",
    _SLOW: "should be a rate and a latency, as '12.5 GB/s, 2 us', or 'none'",
    SIZE_PATTERN: "should be a size with its unit, as '8 GiB' or '512 MiB'",
    _NAME: "should be of letters, digits, '_', '-' and '.' alone, and not of dots alone",
    _WORD: "should be a name of letters, digits, '_' and '-' alone",
}


class CaseTable(Table):
    """[case]: the name and description of the case."""

    name: Annotated[str, Field(pattern=_NAME)] = Field(
        "case", description="Short name of the case; also the name of its folder of results, results/<name>."
    )
    description: str = Field("", description="One sentence for the banner and the pictures.")


class GridTable(Table):
    """[grid]: the numbers of cells and the periodic axes."""

    in_units: ClassVar[Mapping[str, str]] = {"cells": "cells"}

    cells: Extent = Field(description="Numbers of cells along x, y and z; nz = 1 for a two-dimensional grid.")
    periodic: tuple[bool, bool, bool] = Field((False, False, False), description="Periodic axes, in the order x, y, z.")


class RunTable(Table):
    """[run]: limits of a run, which ends at the first one reached."""

    in_units: ClassVar[Mapping[str, str]] = {
        "steps": "steps check_every",
        "the case's time": "time",
        "1 / the case's time": "residual",
    }

    steps: Count | None = Field(None, description="The run ends after this number of steps.")
    time: Positive | None = Field(None, description="The run ends at this time, in the case's unit of time.")
    residual: Positive | None = Field(
        None, description="The run ends when the largest change per unit of time is below this value."
    )
    check_every: Count | None = Field(
        None, description="Steps between measurements of the change. Left out: a twentieth of the run."
    )


class ExchangeTable(Table):
    """[exchange]: how blocks exchange halos."""

    in_units: ClassVar[Mapping[str, str]] = {
        "thread blocks": "teams",
        "bytes": "chunk",
        "cells": "rim block",
        "multiprocessors": "rim_processors",
        "-": "placement_seed",
        "blocks": "blocks_per_device",
        "nodes": "node_grid",
        "devices": "device_grid",
        "s": "wait_limit",
    }

    routes: list[RouteName] = Field(
        [],
        description='Routes that may be used; empty: all. "+direct" adds a route to those before it, or to all; '
        '"-staged" removes one.',
    )
    tune: Literal["rules", "measure"] = Field(
        "rules",
        description='"rules": fixed rules choose the route; "measure": the fastest measured route, cached on disk.',
    )
    retune: bool = Field(False, description="Measure again even if a result is cached.")
    coding: CodingName = Field(
        "raw",
        description='Number format of values in messages, such as "raw", "cast", "blockfloat", "zfp, rate 16" or '
        '"auto, max error 1e-6". "raw" copies values. "cast" rounds f64 to f32 and f32 to f16; "cast '
        'to bf16" rounds to bf16. "blockfloat" and "zfp" code blocks of values, for instance "zfp, '
        'rate 16" or "zfp, max error 1e-6". "auto, max error 1e-6" takes the fastest that keeps the '
        "error; a restart takes that of the checkpoint. A value that is too large is an error. The "
        "bits of results depend on the coding, but not on the route.",
    )
    measure_errors: bool = Field(
        False,
        description="Report the largest error of coded values. Values are then read twice.",
    )
    throttle: ThrottleText | None = Field(
        None,
        description='Rate and latency of a slow network to emulate on one host, such as "12.5 GB/s, 2 us". '
        f"Messages between devices then use the route {' or '.join(DRIVEN_BY_HOST)}.",
    )
    poison: bool = Field(
        False,
        description="For debugging: ghosts and messages hold NaN (integers: -1) until values arrive. Slow; the "
        "same bits.",
    )
    pack: Literal["fused", "per_direction", "memcpy3d", "zero_copy"] | None = Field(
        None,
        description=f"How the routes {' and '.join(DRIVEN_BY_HOST)} pack: by one kernel, one kernel per message, "
        "copies, or straight into host memory (staged). Left out: fused, or the measured choice. The "
        "following keys down to chunk have similar defaults.",
    )
    streams: Literal["one", "per_direction"] | None = Field(
        None, description='"one": all messages share a stream; "per_direction": each message has its own stream.'
    )
    sync: bool | None = Field(None, description="The host waits after each packing and unpacking.")
    grouping: Literal["devices", "nodes"] | None = Field(
        None, description="Between nodes, one message for each pair of devices, or for each pair of nodes."
    )
    mpi: Literal["sends", "alltoallv", "ialltoallv", "put_fence", "put_lock"] | None = Field(
        None,
        description=f"MPI calls of the routes {' and '.join(DRIVEN_BY_HOST)}: sends and receives, or one "
        "collective call or epoch for all messages.",
    )
    teams: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Largest number of thread blocks in a launch; 0: many."
    )
    chunk: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Bytes per part in which a message is sent; 0: chosen by its size."
    )
    overlap: Literal["auto", "on", "off"] = Field(
        "auto",
        description='Compute interior cells during the exchange; "auto": between GPUs, unless blocks are cut '
        "across rows.",
    )
    rim: Rim = Field(
        (0, 0, 0),
        description='Width of the boundary region that waits for halos, per axis; 0: default width; "auto": the '
        "fastest. The default width is one layer; along rows on GPUs it fills a sector of memory. "
        '"auto" measures, caches the result on disk, and with overlap = "auto" also decides whether '
        "to overlap.",
    )
    rim_processors: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Approximate number of a GPU's multiprocessors that kernels of the boundary region may fill; "
        '0: all. With rim = "auto" 0 takes the fastest number.',
    )
    placement: Literal["trivial", "random", "theoretical", "measured"] = Field(
        "theoretical",
        description="Assignment of blocks to devices; theoretical and measured: by rated or measured rates of links.",
    )
    placement_seed: Annotated[int, Field(ge=0)] = Field(0, description='Seed of the placement "random".')
    blocks_per_device: Extent = Field((1, 1, 1), description="Number of blocks of each device along each axis.")
    block: ExtentOrZero = Field(
        (0, 0, 0),
        description="Cells of a block along each axis, which determine the number of blocks; zeros: see "
        "blocks_per_device.",
    )
    node_grid: ExtentOrZero = Field((0, 0, 0), description="Number of nodes along each axis; zeros: by bisection.")
    device_grid: ExtentOrZero = Field(
        (0, 0, 0), description="Number of a node's devices along each axis; zeros: by bisection."
    )
    wait_limit: WaitLimit = Field(60.0, description="Seconds after which a missing message is an error; inf: never.")


#: Keys of [exchange] by subject, because no solver needs all of them.
EXCHANGE_PARTS = {
    "blocks": ("blocks_per_device", "block", "node_grid", "device_grid", "placement", "placement_seed"),
    "coding": ("coding", "measure_errors"),
    "halos": ("overlap",),
    "rim": ("rim", "rim_processors"),
    "messages": (
        "routes", "tune", "retune", "throttle", "pack", "streams", "sync", "grouping", "mpi", "teams", "chunk",
        "wait_limit", "poison",
    ),
}  # fmt: skip


class OutputTable(Table):
    """[output]: the files that a run writes."""

    in_units: ClassVar[Mapping[str, str]] = {"the case's time": "every"}

    folder: str | None = Field(None, description="Folder of the results. Left out: results/<name>.")
    fields: bool = Field(True, description="Write the fields to fields.vtkhdf, for ParaView.")
    every: Positive | None = Field(
        None, description="Time between fields, from the start of the run. Left out: the last only."
    )
    pictures: bool = Field(True, description="Draw pictures of the results.")
    report: bool = Field(True, description="Write report.html, a page about the run.")

    @model_validator(mode="before")
    @classmethod
    def _every_means_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("every") is not None:
            return {"fields": True} | given
        return given


class CheckpointTable(Table):
    """[checkpoint]: files from which a run can continue (run --restart)."""

    in_units: ClassVar[Mapping[str, str]] = {"steps": "every", "files": "keep", "s": "wall_clock_limit"}

    every: Count | None = Field(None, description="Steps between checkpoints. Left out: only at the end of the run.")
    final: bool = Field(
        True,
        description="Write a checkpoint at the end of the run; false: only if a signal or wall_clock_limit ends it.",
    )
    keep: Count = Field(
        2,
        description="Number of checkpoints that are kept, the newest ones. One more exists while a checkpoint is "
        "written.",
    )
    folder: str | None = Field(
        None,
        description="Folder of the checkpoints, with a subfolder of the case's name. Left out: checkpoints in "
        "output.folder.",
    )
    convert: bool = Field(
        False,
        description="A restart may convert a checkpoint that stores the same flow in another form. The solver "
        "must know the conversion. It may lose content, which the run reports.",
    )
    snapshot: Literal["pinned", "device", "mpi"] = Field(
        "pinned",
        description="Where values wait until they are written: pinned host memory, device memory, or MPI's files "
        "from device memory. A copy in device memory delays steps much less, but needs as much "
        'memory again. "mpi" requires an MPI that accepts device memory.',
    )
    wall_clock_limit: Positive | None = Field(
        None, description="Seconds after which the run writes a checkpoint and ends; leave time for the write."
    )


class GuardTable(Table):
    """[guard]: checks that end a diverged run."""

    in_units: ClassVar[Mapping[str, str]] = {"steps": "every"}

    every: Annotated[int, Field(ge=0)] = Field(
        100, description="Steps between checks of all cells for invalid values; 0: no checks."
    )
