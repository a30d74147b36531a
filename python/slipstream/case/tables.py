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


#: Cells per axis, or "auto"; discriminated first, so that a mistake gives one error.
Rim = Annotated[
    Annotated[ExtentOrZero, Tag("widths")] | Annotated[Literal["auto"], Tag("word")],
    Discriminator(_rim_form),
]
RIM_FORMS = frozenset({"widths", "word"})

#: Patterns of a route, alone or with a sign, and of other words.
_ROUTE, _WORD = rf"^[+-]?({'|'.join(ROUTES)})$", r"^[A-Za-z0-9_-]+$"
_NAME = r"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
_SLOW = r"^(none|[0-9.eE+-]+ GB/s(, [0-9.eE+-]+ us)?)$"
RouteName = Annotated[str, Field(pattern=_ROUTE)]
#: Lowest and highest expected value of a finding.
Range = tuple[Finite, Finite]
ExpectedTable = dict[Annotated[str, Field(min_length=1)], Range]
_BITS = r"(, rate [0-9.]+)?(, block [0-9]+)?(, max error [0-9.eE+-]+)?"
_CODING = rf"^(raw|cast( to (f32|f16|bf16))?|(blockfloat|zfp){_BITS}|auto(, max error [0-9.eE+-]+)?)$"
CodingName = Annotated[str, Field(pattern=_CODING)]
#: Text with a rate and a latency; the engine checks their bounds.
ThrottleText = Annotated[str, Field(pattern=_SLOW)]
BodyName = Annotated[str, Field(pattern=_WORD)]
#: Descriptions of patterns, for messages.
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
    """[case]: what this is."""

    name: Annotated[str, Field(pattern=_NAME)] = Field(
        "case", description="Short name; the default output folder is results/<name>."
    )
    description: str = Field("", description="One sentence for the banner and the pictures.")


class GridTable(Table):
    """[grid]: the cells."""

    in_units: ClassVar[Mapping[str, str]] = {"cells": "cells"}

    cells: Extent = Field(description="Cells along x, y and z; nz = 1 in two dimensions.")
    periodic: tuple[bool, bool, bool] = Field((False, False, False), description="Axes that close on themselves.")


class RunTable(Table):
    """[run]: when to stop, whichever comes first."""

    in_units: ClassVar[Mapping[str, str]] = {
        "steps": "steps check_every",
        "the case's time": "time",
        "1 / the case's time": "residual",
    }

    steps: Count | None = Field(None, description="At most so many steps.")
    time: Positive | None = Field(None, description="At most so long, in the case's unit of time.")
    residual: Positive | None = Field(None, description="Steady: largest change in a unit of time below this.")
    check_every: Count | None = Field(
        None, description="Steps between looks at the change. Left out: a twentieth of the run."
    )


class ExchangeTable(Table):
    """[exchange]: how halos travel."""

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
        description='Routes that may be used; none named: all; "+direct" adds one to those before it, or to all, '
        '"-staged" takes one away.',
    )
    tune: Literal["rules", "measure"] = Field(
        "rules", description="Routes by rules, or the fastest by measurement, cached on disk."
    )
    retune: bool = Field(False, description="Measure again, whatever is cached.")
    coding: CodingName = Field(
        "raw",
        description='How values travel between blocks: as they are, or with "cast" rounded, f64 to f32 and f32 to f16 '
        '("cast to bf16": to that), or coded in blocks: "blockfloat", "zfp, rate 16", "zfp, max error 1e-6"; '
        'or "auto, max error 1e-6": that with which steps are fastest, raw or one that keeps the error; from a '
        "checkpoint on, that of the checkpoint. A value that is too large is an error. Bits depend on it, and not on "
        "routes.",
    )
    measure_errors: bool = Field(
        False,
        description="The report says how far coded values are from what they were, at the cost of reading them twice.",
    )
    throttle: ThrottleText | None = Field(
        None,
        description='A slow network on one host, as "12.5 GB/s, 2 us"; then messages between devices travel by '
        f"{' or '.join(DRIVEN_BY_HOST)}.",
    )
    poison: bool = Field(
        False,
        description="For finding errors: ghosts and messages are no numbers (integers: -1) until values have arrived. "
        "Slow; the same bits.",
    )
    pack: Literal["fused", "per_direction", "memcpy3d", "zero_copy"] | None = Field(
        None,
        description=f"How {' and '.join(DRIVEN_BY_HOST)} pack: one kernel, one a message, copies, or (staged) straight "
        "into host memory. Left out, as the keys down to chunk: fused, or what was measured.",
    )
    streams: Literal["one", "per_direction"] | None = Field(
        None, description="Whether what belongs to one message alone shares a stream with others."
    )
    sync: bool | None = Field(None, description="Let the host wait after every packing and unpacking.")
    grouping: Literal["devices", "nodes"] | None = Field(
        None, description="Between nodes, one message for each pair of devices, or of nodes."
    )
    mpi: Literal["sends", "alltoallv", "ialltoallv", "put_fence", "put_lock"] | None = Field(
        None,
        description=f"How {' and '.join(DRIVEN_BY_HOST)} go from rank to rank: by sends and receives, or in one call "
        "for all.",
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
        description="Width of the boundary region that waits for halos, per axis; 0: one layer, or on GPUs along rows "
        "what fills a "
        'sector of memory; "auto": the fastest by measurement, as with overlap = "auto" whether to overlap, cached '
        "on disk.",
    )
    rim_processors: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Multiprocessors of a GPU that the boundary region's kernels may fill at once, about; 0: all, or "
        "with "
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
    """[output]: what stays."""

    in_units: ClassVar[Mapping[str, str]] = {"the case's time": "every"}

    folder: str | None = Field(None, description="Folder of the results. Left out: results/<name>.")
    fields: bool = Field(True, description="Fields as fields.vtkhdf, for ParaView.")
    every: Positive | None = Field(None, description="Time between fields, from the start on. Left out: the last only.")
    pictures: bool = Field(True, description="Pictures of what was found.")
    report: bool = Field(True, description="report.html, the run on one page.")

    @model_validator(mode="before")
    @classmethod
    def _every_means_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("every") is not None:
            return {"fields": True} | given
        return given


class CheckpointTable(Table):
    """[checkpoint]: from what a run goes on (run --restart)."""

    in_units: ClassVar[Mapping[str, str]] = {"steps": "every", "files": "keep", "s": "wall_clock_limit"}

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
    convert: bool = Field(
        False,
        description="A restart may take a checkpoint of the same flow in another form, where its solver knows a way, "
        "and loses what the new form does not hold; the run says what that is.",
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

    in_units: ClassVar[Mapping[str, str]] = {"steps": "every"}

    every: Annotated[int, Field(ge=0)] = Field(100, description="Steps between inspections of all cells; 0: none.")
