"""The table [lbm] of a case file. Made by tools/from_compiled.py."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypedDict

from pydantic import Field

from slipstream.base.keys import Count, Positive, Table


class LbmTable(Table):
    """[lbm]: the lattice Boltzmann method."""

    in_units: ClassVar[Mapping[str, str]] = {"-": "magic smagorinsky", "bytes": "alignment", "planes": "chunk"}

    lattice: Literal["D2Q9", "D3Q19", "D3Q27"] = Field("D3Q19", description="Set of discrete velocities.")
    representation: Literal["populations", "moments"] = Field(
        "populations",
        description="Stored state of a cell: populations, or ten moments with a regularised collision. Moments need "
        "D3Q19 and two arrays with rows along x. They take about half of the memory and of the time of a step.",
    )
    collision: Literal["SRT", "TRT", "MRT", "cumulant", "regularised", "recursive"] = Field(
        "TRT",
        description="Collision operator: SRT, TRT, MRT or cumulant for populations; regularised or recursive for "
        "moments. Populations relax with one time (SRT), two (TRT), one per group of moments (MRT), or as cumulants "
        "(D3Q27 only). For moments, regularised has second order, and recursive, the default, third-order terms.",
    )
    magic: Positive = Field(
        0.1875,
        description="TRT and MRT: magic number (tau+ - 1/2)(tau- - 1/2); 3/16 puts walls exactly half-way between "
        "cells.",
    )
    smagorinsky: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="Smagorinsky's constant of the LES model, usually 0.1 to 0.2; the filter is one cell wide. Left "
        "out: no LES model.",
    )
    precision: Literal["f16", "f32", "f64"] = Field(
        "f32", description="Number format of the stored populations or moments; f16 is computed in f32."
    )
    streaming: Literal["two", "in_place"] = Field(
        "two",
        description="Two arrays of populations, or one that is updated in place with half of the memory. Both give "
        "the same bits.",
    )
    solids: Literal["auto", "dense", "flags", "sparse"] = Field(
        "auto",
        description="Cells inside bodies: stored and computed (dense), stored and skipped (flags), or not stored "
        '(sparse). auto: by their share in each block, or the fastest with exchange.tune = "measure". All give the '
        "same bits.",
    )
    layout: Literal["auto", "soa", "aos", "soa_z"] = Field(
        "auto",
        description="An array per population with rows along x (soa) or z (soa_z), or populations of a cell side by "
        "side (aos). auto: rows along x; on GPUs along z if devices share x and blocks are not cut in z.",
    )
    alignment: Annotated[int, Field(ge=4, le=4096)] | Literal["auto"] = Field(
        "auto",
        description="Alignment of the first interior cell of each row in bytes, a power of two; auto: 256 on GPUs, 64 "
        "on the host.",
    )
    tile: Literal["auto", "64x4", "32x8", "64x8", "32x16"] = Field(
        "auto",
        description="Moments: cells along x and y that a team of threads computes; f16 allows 64x8 and 32x16, others "
        "64x4 and 32x8. On the host a tile has whole rows, as many as its height. auto: the usual tile of the "
        'precision, or the fastest with exchange.tune = "measure". On GPUs blocks with a resting wall at a side '
        "always use the usual tile, 64 cells wide (f64: 32). All give the same bits.",
    )
    chunk: Count | Literal["auto"] = Field(
        "auto",
        description="Moments: largest number of planes along z that a team computes; auto: as for tile. All give the "
        "same bits.",
    )


class LbmKeywords(TypedDict, total=False):
    """Keys of [lbm] that may be left out."""

    lattice: Literal["D2Q9", "D3Q19", "D3Q27"]
    representation: Literal["populations", "moments"]
    collision: Literal["SRT", "TRT", "MRT", "cumulant", "regularised", "recursive"]
    magic: float
    smagorinsky: float
    precision: Literal["f16", "f32", "f64"]
    streaming: Literal["two", "in_place"]
    solids: Literal["auto", "dense", "flags", "sparse"]
    layout: Literal["auto", "soa", "aos", "soa_z"]
    alignment: int | Literal["auto"]
    tile: Literal["auto", "64x4", "32x8", "64x8", "32x16"]
    chunk: int | Literal["auto"]
