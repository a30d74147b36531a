"""`slipstream bench lbm_imbalance`: a cavity of two blocks, split along each axis (Risso 2017)."""

import argparse
from collections.abc import Iterator, Sequence

from rich.console import Console

from slipstream_bench.lbm import splits
from slipstream_bench.lbm.splits import Experiment, Setup

AXES = {"x": (2, 1, 1), "y": (1, 2, 1), "z": (1, 1, 2)}


def setups(cells: Sequence[int], most: int, least: int) -> Iterator[Setup]:
    for n in cells:
        yield from (Setup(f"split in {axis}", str(n), n, split) for axis, split in AXES.items())


def refusal(devices: int, ranks: int) -> str:
    if devices < 2:
        return "needs two devices; take --devices 2, or -n 2"
    return f"has two blocks, but there are {ranks} ranks" if ranks > 2 else ""


EXPERIMENT = Experiment(
    name="imbalance",
    title="direction of the split",
    place="cube",
    axis="cube of cells of a block",
    percent_of="% of the fastest axis",
    cells={"host": [16, 32, 64], "cuda": [16, 32, 64, 128, 256]},
    setups=setups,
    cavity=True,
    refusal=refusal,
)


add_options = splits.add_options


def run(arguments: argparse.Namespace, console: Console) -> None:
    splits.run(EXPERIMENT, arguments, console)
