"""`slipstream bench lbm_layout`: a cavity, by layout and alignment of the populations (Risso 2017)."""

import argparse
from collections.abc import Iterator, Sequence

from rich.console import Console

from slipstream_bench.lbm import splits
from slipstream_bench.lbm.splits import Experiment, Setup

ALIGNMENTS = (0, 32, 64, 128, 256, 512)


def setups(cells: Sequence[int], most: int, least: int) -> Iterator[Setup]:
    """Setups for each layout of the fields with each alignment, cut so that messages come from the ends of rows."""
    for n in cells:
        for layout in ("soa", "aos"):
            for alignment in ALIGNMENTS:
                yield Setup(f"{layout}, {n}^3", str(alignment), n, (most, 1, 1), layout, alignment)


EXPERIMENT = Experiment(
    name="layout",
    title="layout and alignment",
    place="aligned to",
    axis="bytes to which rows are aligned",
    percent_of="% of the fastest",
    # Cells along the edge of a block's cube, by backend. With two ghost cells, rows of these lengths are no multiples
    # of the alignments, so the alignment pads them. Odd lengths (321) occur, too.
    cells={"host": [64], "cuda": [128, 256, 321]},
    setups=setups,
    cavity=True,
    devices=lambda backend, ranks: 1,
)


add_options = splits.add_options


def run(arguments: argparse.Namespace, console: Console) -> None:
    splits.run(EXPERIMENT, arguments, console)
