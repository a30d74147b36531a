"""Setups of `slipstream bench exchange`: sizes, sequences of routes, packing schemes, and reference values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.routes import DRIVEN_BY_HOST, LIBRARIES
from slipstream.base.routes import NAMES as ROUTES

Triple = tuple[int, int, int]

#: Names of the parts of `slipstream bench exchange`, in the order of measurement.
PARTS = ("must", "ladder", "schemes", "scaling")
#: Message routes of the part "ladder". Its exchanges may use one base route at first, then one more route at a time.
#: The routes `PAPER` are those that Pearson et al. 2020 add to either base.
BASES = tuple(name for name in reversed(ROUTES) if name in DRIVEN_BY_HOST)
PAPER = ("colocated", "peer", "kernel")
RUNGS = (*PAPER, *(name for name in ROUTES if name not in {*PAPER, *BASES, *LIBRARIES}))
#: Packing schemes, with their names in Risso's thesis (4.2) and in this library. The first scheme existed before the
#: thesis.
SCHEMES: Mapping[str, str] = {
    "GPUPackInfo": "gpu_pack_info",
    "asynchronous GPUPackInfo": "gpu_pack_info_async",
    "GPUBufferedScheme": "gpu_buffered",
}

PEARSON = "Pearson et al.: Node-aware stencil communication for heterogeneous supercomputers, 2020, fig. 12"
RISSO = "J. V. Tozatti Risso: Scalable GPU communication framework for stencil based applications, 2017, 6"
STENCIL = (
    "cwpearson/stencil, the library of Pearson et al. 2020, on 4 x H200 by as many ranks: host clock, trimean of 30"
)

#: Sides of cubes in Pearson et al. 2020: a cube of 750^3 cells per GPU, and 1191^3 in total for four GPUs.
PAPER_SIDE, IN_ALL = 750, 1191

#: Target times in microseconds of a periodic halo exchange between 2 x 2 x 1 H200 GPUs. Keys: clock, and cells along
#: the side of a GPU's cube, or of the whole cube. The exchange has four f32 quantities, radius 3 and 26 neighbours.
AT_MOST_US = {
    "events": {64: 12.0, 128: 20.0, 256: 60.0, 512: 185.0, IN_ALL: 510.0},
    "host": {64: 25.0, 128: 35.0, 256: 75.0, 512: 200.0, IN_ALL: 530.0},
}
#: Times of the library cwpearson/stencil in microseconds, by ranks and routes.
STENCIL_US = {
    (4, "all"): {64: 119.0, 128: 133.0, 256: 298.0, 512: 921.0, IN_ALL: 2472.0},
    (4, "staged"): {64: 410.0, 128: 1114.0, 256: 3322.0, 512: 21661.0, IN_ALL: 51864.0},
    (1, "all"): {64: 205.0, 256: 353.0},
    (1, "staged"): {256: 10075.0},
}
#: Factor by which an exchange may exceed its target time if one rank drives all four GPUs. Then target times in
#: microseconds for cubes of 512^3 cells: on one GPU, and with copies through host memory (route `staged`).
ONE_RANK = 1.3
ONE_GPU_US, STAGED_US, WHERE = 100.0, 5000.0, 512
#: Targets: microseconds of host time in begin(), and seconds of a set-up with a warm tuner cache until the first
#: begin() returns.
BEGIN_US, WARM_SETUP_S = 10.0, 1.0


@dataclass(frozen=True)
class Scale:
    """Sizes of the exchanges that a run of the benchmark measures."""

    sizes: tuple[int, ...]  #: sides of the cubes per device, in cells
    cube: int  #: side of a device's share of a cube that all devices divide
    strong: tuple[int, ...]  #: sides of cubes that increasing numbers of devices divide (strong scaling)


SCALES = {"host": Scale((32, 64), 48, (64,)), "cuda": Scale((64, 128, 256, 512), PAPER_SIDE, (512, IN_ALL))}
QUICK = Scale((8,), 10, (16,))


@dataclass(frozen=True)
class Setup:
    """An exchange to measure: grid, routes and other options."""

    part: str
    cells: Triple
    grid: Triple
    routes: tuple[str, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)  #: additional input columns of the exchange's rows
    knobs: Mapping[str, Any] = field(default_factory=dict)
    clocks: tuple[str, ...] = ("events", "host")
    #: route after which the setup's row in the table of results is named; no row is kept if no message travels by it
    named_for: str = ""

    @property
    def largest_block(self) -> Triple:
        x, y, z = (-(-n // parts) for n, parts in zip(self.cells, self.grid, strict=True))
        return x, y, z


def device_grid(devices: int) -> Triple:
    """Grid of devices, such as 2 x 2 x 1 for 4 and 2 x 1 x 1 for 2: prime factors, largest first, each to the axis with
    the fewest parts.
    """
    counts, factor, factors = [1, 1, 1], 2, []
    while devices > 1:
        if devices % factor:
            factor += 1
        else:
            factors.append(factor)
            devices //= factor
    for part in reversed(factors):
        counts[counts.index(min(counts))] *= part
    return counts[0], counts[1], counts[2]


def travels_by(routes: Iterable[str]) -> str:
    """Names of the routes of messages, in the order of `ROUTES`."""
    used = set(routes)
    return "+".join(name for name in ROUTES if name in used) or "-"


def cubes(side: int, grid: Triple) -> Triple:
    """Extent of a grid that gives each device one cube."""
    return side * grid[0], side * grid[1], side * grid[2]


def cube_of(side: int, devices: int) -> Triple:
    """Number of cells along each axis of a cube, for about `side`^3 cells on each of `devices` devices."""
    edge = round(side * devices ** (1 / 3))
    return edge, edge, edge


def label(nodes: int, ranks: int, devices: int, edge: int, gpu_mpi: bool) -> str:
    """Names a configuration as Pearson et al. 2020 do: nodes, ranks and GPUs per node, side of the domain, `ca` for
    GPU-aware MPI."""
    return f"{nodes}n/{ranks // nodes}r/{devices // nodes}g/{edge}" + ("/ca" if gpu_mpi else "")


def parse_routes(text: str, here: Sequence[str]) -> tuple[str, ...]:
    """Expands `+a,-b` to all available routes, including a, without b. Without signs: exactly the named routes."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    names = [word.lstrip("+-") for word in words]
    if unknown := [name for name in names if name not in ROUTES]:
        raise CaseError(
            f"--routes: no route is named {', '.join(unknown)}; choose among {', '.join(ROUTES)}",
            ErrorCode.NOT_FOUND,
            option="routes",
            unknown=", ".join(unknown),
        )
    signs = {word[0] in "+-" for word in words}
    if len(signs) > 1:
        raise CaseError(f"--routes={text}: either all with a sign, as in +direct,-staged, or none", option="routes")
    removed = {name for name, word in zip(names, words, strict=True) if word.startswith("-")}
    wanted = set(names) - removed
    if missing := [name for name in ROUTES if name in wanted and name not in here]:
        raise CaseError(
            f"--routes={text}: {', '.join(missing)} cannot be used here (slipstream info routes says why), "
            f"but {', '.join(here)} can",
            ErrorCode.UNAVAILABLE,
            option="routes",
            missing=", ".join(missing),
        )
    chosen = wanted if signs == {False} else set(here) - removed
    if not chosen:
        raise CaseError(f"--routes={text} leaves no route", option="routes")
    return tuple(name for name in ROUTES if name in chosen)


def must(scale: Scale, grid: Triple, routes: tuple[str, ...], name: str) -> Iterator[Setup]:
    """Halo exchanges to be timed and compared with target times. For each number of cells, all allowed message routes
    are used. For one number of cells there is also an exchange by the route `staged` alone, which copies messages
    through host memory."""
    devices = grid[0] * grid[1] * grid[2]
    for cells in dict.fromkeys([*(cubes(side, grid) for side in scale.sizes), cube_of(scale.cube, devices)]):
        yield Setup("must", cells, grid, routes, {"routes": name})
    if "staged" in routes:
        side = WHERE if WHERE in scale.sizes else max(scale.sizes)
        yield Setup("must", cubes(side, grid), grid, ("staged",), {"routes": "staged"})


def ladders(allowed: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Sets of allowed message routes, as (first route, label of the added route, all routes). Each set adds one route
    to the set before. A route by a communication library is combined only with kernels that copy within a device."""
    for base in (base for base in BASES if base in allowed):
        routes: tuple[str, ...] = (base,)
        yield base, "alone", routes
        for rung in (rung for rung in RUNGS if rung in allowed):
            routes = (*routes, rung)
            yield base, f"+ {rung}", routes
    for library in (library for library in LIBRARIES if library in allowed):
        yield library, "+ kernel", (library, "kernel")


def ladder(scale: Scale, grid: Triple, nodes: int, ranks: int, allowed: Sequence[str]) -> Iterator[list[Setup]]:
    """Exchanges of all sizes, smallest first, for each set of allowed message routes, which grows by one at a time. The
    host's clock times them, as in Pearson et al."""
    devices = grid[0] * grid[1] * grid[2]
    for base, rung, routes in ladders(allowed):
        setups = []
        for side in sorted({*scale.sizes, scale.cube}):
            cells = cube_of(side, devices)
            named = label(nodes, ranks, devices, cells[0], base == "gpu_mpi")
            inputs = {"label": named, "base": base, "rung": rung, "routes": "+".join(routes)}
            named_for = base if base in LIBRARIES else routes[-1]
            setups.append(Setup("ladder", cells, grid, routes, inputs, clocks=("host",), named_for=named_for))
        yield setups


def schemes(scale: Scale, grid: Triple, allowed: Sequence[str]) -> Iterator[list[Setup]]:
    """Exchanges by the three packing schemes of Risso's thesis; copies within a device are not messages there
    either."""
    for name, scheme in SCHEMES.items():
        (base,), knobs = (found := core().scheme(scheme))["routes"], {k: v for k, v in found.items() if k != "routes"}
        if base not in allowed:
            continue
        routes = (base, "kernel")
        inputs = {"scheme": name, "base": base, "routes": "+".join(routes), **knobs}
        yield [
            Setup("schemes", cubes(side, grid), grid, routes, inputs, knobs, ("host",), base) for side in scale.sizes
        ]


def scaling(scale: Scale, grid: Triple, routes: tuple[str, ...], name: str) -> Iterator[Setup]:
    """Exchanges for weak and strong scaling: constant cells per device, and constant total cells."""
    for side in scale.sizes:
        yield Setup("scaling", cubes(side, grid), grid, routes, {"scaling": "weak", "routes": name})
    for side in scale.strong:
        yield Setup("scaling", (side, side, side), grid, routes, {"scaling": "strong", "routes": name})


def size_name(cells: Triple, grid: Triple) -> int | None:
    """Side in cells of each device's cube, or of the whole cube, by which the target times of exchanges are listed.
    None for other shapes.
    """
    side = min(n // count for n, count in zip(cells, grid, strict=True))
    if cells == cubes(side, grid):
        return side
    return IN_ALL if cells == (IN_ALL, IN_ALL, IN_ALL) else None


def at_most_us(setup: Setup, ranks: int, clock: str) -> float | None:
    """Time in microseconds within which a halo exchange should finish on H200 GPUs, with four f32 quantities and
    radius 3; None if there is no such target."""
    size = size_name(setup.cells, setup.grid)
    if size is None:
        return None
    if setup.routes == ("staged",):
        return STAGED_US if (setup.grid, size, clock) == ((2, 2, 1), WHERE, "host") else None
    if setup.grid == (1, 1, 1):
        return ONE_GPU_US if (size, clock) == (WHERE, "events") else None
    if setup.grid != (2, 2, 1) or ranks not in (1, 4) or size not in AT_MOST_US[clock]:
        return None
    return AT_MOST_US[clock][size] * (1.0 if ranks == 4 else ONE_RANK)


def stencil_us(setup: Setup, ranks: int, clock: str) -> float | None:
    """Time of the library cwpearson/stencil in microseconds, for the same exchange on four H200."""
    size = size_name(setup.cells, setup.grid)
    if size is None or setup.grid != (2, 2, 1) or clock != "host":
        return None
    return STENCIL_US.get((ranks, "staged" if setup.routes == ("staged",) else "all"), {}).get(size)
