"""`slipstream bench lbm_weak`: one cube per device, on increasing numbers of devices (Risso 2017)."""

import argparse

from rich.console import Console

from slipstream_bench.lbm import splits
from slipstream_bench.lbm.splits import Experiment

EXPERIMENT = Experiment(
    name="weak",
    title="weak scaling",
    place="blocks",
    axis="blocks",
    percent_of="% of n x one block",
    cells={"host": [64], "cuda": [256]},
    setups=splits.scaled,
    scaling=True,
)


add_options = splits.add_options


def run(arguments: argparse.Namespace, console: Console) -> None:
    splits.run(EXPERIMENT, arguments, console)
