"""`slipstream bench lbm_strong`: one cube divided among increasing numbers of devices (Risso 2017)."""

import argparse

from rich.console import Console

from slipstream_bench.lbm import splits
from slipstream_bench.lbm.splits import Experiment

EXPERIMENT = Experiment(
    name="strong",
    title="strong scaling",
    place="blocks",
    axis="blocks",
    percent_of="% of n x one block",
    cells={"host": [64], "cuda": [256]},
    setups=splits.scaled,
    scaling=True,
    whole=True,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    splits.add_options(parser, "cubes of N^3 cells in all")


def run(arguments: argparse.Namespace, console: Console) -> None:
    splits.run(EXPERIMENT, arguments, console)
