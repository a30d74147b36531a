"""Picture of receivers' seismograms, one below the other."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slipstream.case.case import Case
from slipstream.pictures.style import BLUE, drawn, heading


def draw(path: Path, case: Case, times: np.ndarray, heard: Mapping[str, np.ndarray]) -> None:
    """Draws all seismograms on one scale, so that far receivers have small amplitudes."""
    with drawn(path, 8.0, 1.4 + 0.8 * len(heard)) as (_, axes):
        scale = max(float(np.nanmax(np.abs(trace), initial=0.0)) for trace in heard.values()) or 1.0
        for n, trace in enumerate(heard.values()):
            axes.plot(times, trace / scale - n, color=BLUE, linewidth=0.9)
        axes.set_yticks([-n for n in range(len(heard))], list(heard))
        axes.set(xlabel="time", ylim=(-len(heard) + 0.3, 1.1), xlim=(times[0], times[-1]))
        axes.set_title(f"{heading(case, 7.0, 10.5)}\nu at the receivers", fontsize=10.5, loc="left", parse_math=False)
