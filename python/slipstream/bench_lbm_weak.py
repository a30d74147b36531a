"""`slipstream bench lbm_weak`: a cube a device, on more and more devices (Risso 2017)."""

import argparse

from rich.console import Console

from slipstream import lbm_splits
from slipstream.lbm_splits import Experiment

EXPERIMENT = Experiment(
    name="weak",
    title="weak scaling",
    place="blocks",
    axis="blocks",
    percent_of="% of n x one block",
    cells={"host": [64], "cuda": [256]},
    setups=lbm_splits.scaled,
    scaling=True,
)


add_options = lbm_splits.add_options


def run(arguments: argparse.Namespace, console: Console) -> None:
    lbm_splits.run(EXPERIMENT, arguments, console)
