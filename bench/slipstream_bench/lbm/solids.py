"""Solid cells in a box on one device, for `slipstream bench lbm_flagfield` and `lbm_simd`.

Source: Shuxin Zheng: Vectorization and communication based optimizations for waLBerla, 2023, chapter 1. It skips the
interior of a car by flags (1.2), and compares four flags at a time by __vsetne4 (1.3). Protocol as in the other
experiments: minimum of 10 times 200 steps; fewer repeats if they take more than a second.
"""

from dataclasses import dataclass

import numpy as np
from slipstream.base.core import core
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.reader import Source, parse
from slipstream.geometry import beads
from slipstream.lbm import running
from slipstream.lbm.case import LbmCase
from slipstream.machine import discovery
from slipstream.run import engine

from slipstream_bench import record
from slipstream_bench.lbm import common
from slipstream_bench.record import Row

#: The box of Zheng 2023, table 1.6: 65 536 cells, 0.6 % solid (734.668 / 739.293 of the updates are of fluid cells).
PAPER_CELLS, PAPER_SHARE = (64, 32, 32), 1.0 - 734.668 / 739.293
#: Radius of the spheres in a packing, relative to the side of the box.
SPHERE_RADIUS = 0.1


@dataclass(frozen=True)
class Choice:
    """Options that the benchmarks of solid cells share."""

    backend: str
    threads: int
    lattice: str
    collision: str
    precision: str
    streaming: str


def solids(cells: tuple[int, int, int], share: float) -> np.ndarray:
    """Mask of solid cells: a ball in the middle of the box, or from a solid fraction of 0.3 on a packing of spheres."""
    if share < 0.3:
        radius = (share * cells[0] * cells[1] * cells[2] * 3.0 / (4.0 * np.pi)) ** (1.0 / 3.0)
        return beads.mask(cells, np.asarray([cells], dtype=float) / 2.0, float(radius))
    radius = max(4.0, SPHERE_RADIUS * min(cells))
    centres = beads.pack(cells, radius, beads.count_for(share, radius, cells), seed=1)
    return beads.mask(cells, centres, radius)


def case_of(choice: Choice, cells: tuple[int, int, int], way: str, walls: bool = False) -> LbmCase:
    """A case that is periodic in all directions, or has walls at rest on all sides."""
    return parse(
        {
            "grid": {"cells": list(cells), "periodic": [not walls] * 3},
            "lbm": {
                **common.method_keys(choice),
                "streaming": choice.streaming,
                "solids": way,
            },
            "physics": {"viscosity": 0.05, "reference_velocity": 0.05, "length": float(cells[0])},
            "run": {"steps": 1},
            "machine": {"backend": choice.backend, "threads": choice.threads, "devices_per_rank": 1},
        },
        Source("bench"),
    )


def measure(
    experiment: str,
    choice: Choice,
    cells: tuple[int, int, int],
    mask: np.ndarray | None,
    way: str,
    walls: bool = False,
    by_word: bool = False,
) -> Row:
    """Measures time steps of a box, the least of several times; without a mask no cell is solid. Collective."""
    case = case_of(choice, cells, way, walls)
    setup = engine.prepare(case, discovery.discover(case.machine))
    setup.options["flags_by_word"] = by_word
    lbm = running.compiled(setup)
    if mask is not None:
        lbm.set_solid(mask)
    (seconds, repeats), steps = common.smallest_time_within(lbm, common.ENOUGH), common.STEPS
    fluid = lbm.fluid_cells()
    return {
        "ranks": 1,
        "devices": 1,
        "experiment": experiment,
        "cells_per_device": list(cells),
        "walls": walls,
        "solid_share": record.digits(1.0 - fluid / case.cell_count),
        **common.method(choice),
        "streaming": choice.streaming,
        "solids": way,
        "steps": steps,
        "repeats": repeats,
        "clock": "host",
        "time_ms": record.digits(1e3 * seconds),
        "mlups": record.digits(case.cell_count * steps / seconds / 1e6),
        "mflups": record.digits(fluid * steps / seconds / 1e6),
        "steps_per_second": record.digits(steps / seconds),
        "bytes_per_fluid_cell": record.digits(lbm.bytes_of_cells() / fluid),
    }


def check_ranks(benchmark: str) -> None:
    """Raises CaseError if there are several ranks, because the named benchmark uses one."""
    if core().size() != 1:
        raise CaseError(
            f"bench {benchmark}: one rank measures one device; drop -n",
            ErrorCode.UNSUPPORTED,
            ranks=core().size(),
            limit=1,
        )


def number(value: float | None, form: str = ".4g") -> str:
    """Text of a number in a printed table; None is "-"."""
    return "-" if value is None else format(value, form)
