"""The table [lbm] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.keys import Count, Positive, Table


class LbmTable(Table):
    """[lbm]: the method."""

    in_units: ClassVar[Mapping[str, str]] = {
        "-": "magic smagorinsky",
        "bytes": "alignment",
        "planes": "chunk",
    }

    lattice: Literal["D2Q9", "D3Q19", "D3Q27"] = Field("D3Q19", description="Set of velocities.")
    representation: Literal["populations", "moments"] = Field(
        "populations",
        description="What a cell holds: its populations, or the ten moments that a regularised collision leaves of "
        "them (D3Q19, two arrays along x): about half of the memory and of the time of a step.",
    )
    collision: Literal["SRT", "TRT", "MRT", "cumulant", "regularised", "recursive"] = Field(
        "TRT",
        description="By populations: one relaxation time, two, one for each group of moments, or cumulant (D3Q27 "
        "only). By moments: regularised, of second order, or recursive, with terms of third; left out: recursive.",
    )
    magic: Positive = Field(
        0.1875, description="TRT and MRT: (tau+ - 1/2)(tau- - 1/2); 3/16 puts walls exactly half-way between cells."
    )
    smagorinsky: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="Large eddies only: Smagorinsky's constant, 0.1 to 0.2 as a rule; the filter is one cell wide. "
        "Left out: no model of eddies.",
    )
    precision: Literal["f16", "f32", "f64"] = Field(
        "f32", description="Number format of the populations, or moments; f16 is computed with in f32."
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
        description="Bytes to which the first interior cell of each row is aligned, a power of two; auto: 256 on "
        "GPUs, 64 on the host.",
    )
    tile: Literal["auto", "64x4", "32x8", "64x8", "32x16"] = Field(
        "auto",
        description="By moments: cells along x and y that a team of threads takes, in f16 64x8 or 32x16, else 64x4 or "
        "32x8; on the host whole rows, as many as the tile is high. auto: what suits the precision, or the fastest "
        "where exchange.tune measures. On GPUs blocks with a resting wall at a side take what suits the precision (64 "
        "cells wide, f64: 32) in any case. The same bits.",
    )
    chunk: Count | Literal["auto"] = Field(
        "auto",
        description="By moments: planes along z that a team goes through at most; auto: as for tile. The same bits.",
    )
