"""The rows of `slipstream bench sentinels`, measured with the package on the path.

The benchmark runs this file of its own tree with the packages of both trees, so that both measure alike. The file uses
only features that parent trees have, and no other benchmark module. Arguments: the package of the benchmarks, whose
location differs between trees, the backend, the devices and the scale. Each line of standard input is a command. Each
answer is a line of JSON after `ANSWER`; an answer with `error` gives the reason for missing results.

    describe      the machine, the commit and the folder of the package
    open NAME     sets a probe up and warms it up
    measure       microseconds of its rows
    close         frees the probe
"""

import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import slipstream as slip
from slipstream.base import core as compiled
from slipstream.base.core import core
from slipstream.case.flow_tables import PhysicsTable
from slipstream.case.reader import Source, parse
from slipstream.lbm import running
from slipstream.machine import discovery
from slipstream.run import engine
from slipstream.stencil.running import StencilRun

ANSWER = "@sentinel "
#: Measured times in microseconds, by the name of the short benchmark (row of the table).
Times = dict[str, float]
Measure = Callable[[], Times]
#: Number of timed parts of a measurement, of which the median counts.
PARTS = 3


@dataclass(frozen=True)
class Scale:
    """Sizes of all probes (short benchmarks), and their repeats."""

    exchange: dict[int, int]  #: number of repeats of the halo exchange, by the side of a device's cube in cells
    transpose: tuple[int, int]  #: transpose: cells along the side of the cube, repeats
    fft: tuple[int, int]
    gather_scatter: tuple[int, int]  #: gather-scatter: elements along each axis, repeats
    cg: tuple[int, int, int]  #: conjugate gradients: elements along each axis of a device, iterations, repeats
    lbm: tuple[int, int]  #: lattice Boltzmann: cells along the side of a device's cube, steps
    wave: tuple[int, int]
    dns: tuple[int, int, int]  #: pseudo-spectral flow: cells along a side, steps, repeats


SCALES = {
    "large": Scale(
        exchange={64: 400, 512: 100},
        transpose=(512, 60),
        fft=(1024, 12),
        gather_scatter=(48, 60),
        cg=(24, 200, 3),
        lbm=(256, 144),
        wave=(384, 240),
        dns=(512, 2, 3),
    ),
    "small": Scale(
        exchange={8: 5, 16: 5},
        transpose=(16, 5),
        fft=(16, 5),
        gather_scatter=(4, 5),
        cg=(3, 60, 3),
        lbm=(16, 12),
        wave=(16, 12),
        dns=(16, 1, 2),
    ),
}


def _reference_velocity() -> str:
    """Name of the key for the reference velocity, which is another one in older versions of Slipstream."""
    return "reference_velocity" if "reference_velocity" in PhysicsTable.model_fields else "lid_speed"


class Probes:
    """Sets up short benchmarks on the devices of one process."""

    def __init__(self, package: str, backend: str, devices: int, scale: str) -> None:
        self.timed: Any = import_module(f"{package}.timed").timed()
        self.record: Any = import_module(f"{package}.record")
        self.backend, self.scale = discovery.choose_backend(backend), SCALES[scale]
        here = core().device_count("cuda") if self.backend == "cuda" else 2
        self.machine = core().Machine.discover(self.backend, devices_per_rank=devices or min(2, here))
        self.devices = len(self.machine.devices())

    def open(self, name: str) -> Measure:
        found: Measure = getattr(self, f"_{name}")()
        return found

    def _exchange(self, place: int) -> Measure:
        """Probe of a halo exchange of four f32 quantities, radius 3, 26 neighbours, periodic."""
        side, repeats = list(self.scale.exchange.items())[place]
        cells, grid = (side, side, side * self.devices), (1, 1, self.devices)
        periodic = (True, True, True)
        made = self.timed.Exchange(self.machine, cells, 4, "f32", 3, periodic, grid, 32, "auto", "raw", {"routes": []})
        return lambda: {f"exchange {side}^3 f32": made.events_us(repeats)}

    def _exchange_small(self) -> Measure:
        return self._exchange(0)

    def _exchange_large(self) -> Measure:
        return self._exchange(1)

    def _transpose(self) -> Measure:
        """Probe of a transpose from slabs along z to slabs along x, with both axes swapped."""
        n, repeats = self.scale.transpose
        cut = (1, 1, self.devices)

        def measure() -> Times:
            (found,) = self.timed.transpose(
                self.machine, (n, n, n), cut, cut, (2, 1, 0), "c64", {"routes": []}, ["events"], repeats
            )
            return {f"transpose {n}^3 c64": found["time_us"]}

        return measure

    def _fft(self) -> Measure:
        n, repeats = self.scale.fft
        how = {"type": "c64", "transposed": True, "scaled": False, "overlap": False, "exchange": {"routes": []}}
        how["process_grid"] = (1, self.devices)

        def measure() -> Times:
            (found,) = self.timed.fft(self.machine, (n, n, n), how, 1, ["events"], repeats)
            return {f"FFT {n}^3 c64 {way}": found[f"{way}_us"] for way in ("forward", "backward")}

        return measure

    def _gather_scatter(self) -> Measure:
        n, repeats = self.scale.gather_scatter

        def measure() -> Times:
            (found,) = self.timed.gather_scatter(
                self.machine, n, 7, "f64", 1, {"routes": []}, False, ["events"], repeats, 1
            )
            return {f"gather-scatter {n}^3 elements of order 7 f64": found["time_us"]}

        return measure

    def _cg(self) -> Measure:
        """Probe of one iteration of conjugate gradients, with stored geometric factors."""
        n, iterations, repeats = self.scale.cg

        def measure() -> Times:
            elements = (n, n, n * self.devices)
            how = (self.machine, elements, 7, "stored", {"routes": []}, iterations, repeats, True, "device")
            try:
                us = self.timed.nekbone(*how, 1)
            except TypeError:  # older versions solve for one right side, and take no number of right sides
                us = self.timed.nekbone(*how)
            return {f"CG {n}^3 elements of order 7 f64": us}

        return measure

    def _lbm(self, precision: str) -> Measure:
        n, steps = self.scale.lbm
        data = {
            "grid": {"cells": [n, n, n * self.devices], "periodic": [True] * 3},
            "lbm": {"precision": precision},
            "physics": {"viscosity": 0.05, _reference_velocity(): 0.05},
            **self._run(),
        }
        made = running.compiled(engine.prepare(parse(data, Source("bench")), self.machine))
        return self._steps(f"lattice Boltzmann {n}^3 {precision}", made, steps)

    def _lbm_f32(self) -> Measure:
        return self._lbm("f32")

    def _lbm_f64(self) -> Measure:
        return self._lbm("f64")

    def _lbm_f16(self) -> Measure:
        return self._lbm("f16")

    def _wave(self) -> Measure:
        n, steps = self.scale.wave
        data = {
            "grid": {"cells": [n, n, n * self.devices], "periodic": [True] * 3},
            "stencil": {"equation": "wave", "order": 8, "precision": "f32"},
            "guard": {"every": 0},
            **self._run(),
        }
        made = StencilRun(engine.prepare(parse(data, Source("bench")), self.machine))
        return self._steps(f"waves of order 8 {n}^3 f32", made.engine, steps)

    def _run(self) -> dict[str, Any]:
        """The tables `run` and `machine` of a short benchmark's case: one step, backend and number of devices."""
        return {"run": {"steps": 1}, "machine": {"backend": self.backend, "devices_per_rank": self.devices}}

    def _steps(self, row: str, made: Any, steps: int) -> Measure:
        def one() -> float:
            core().barrier()
            began = time.perf_counter()
            made.advance(steps)
            core().barrier()
            return 1e6 * (time.perf_counter() - began) / steps

        return lambda: {row: statistics.median(one() for _ in range(PARTS))}

    def _dns(self) -> Measure:
        n, steps, repeats = self.scale.dns
        how = {"type": "f64", "scheme": "rk4", "time_step": 0.5 / n, "process_grid": (1, self.devices)}
        # The engine and the solvers are one module in older versions.
        module = compiled.part("dns") if hasattr(compiled, "part") else core()
        made = module.Dns(self.machine, {"cells": (n, n, n), "overlap": False, "exchange": {"routes": []}, **how})
        made.taylor_green()
        return lambda: {f"DNS {n}^3 f64": self.timed.dns_step_us(made, steps, repeats)}


#: Names of the result rows in the order of measurement; transforms have two rows.
NAMES = (
    *("exchange_small", "exchange_large", "transpose", "fft", "gather_scatter", "cg"),
    *("lbm_f32", "lbm_f64", "lbm_f16", "wave", "dns"),
)


def _describe(probes: Probes) -> dict[str, Any]:
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    libraries = sorted({line.split()[-1] for line in lines if re.search(r"/libslipstream\w*\.so$", line)})
    return {
        "machine": probes.record.describe_machine(probes.machine),
        "backend": probes.backend,
        "devices": probes.devices,
        "commit": core().build_info()["commit"],
        "files": [str(Path(slip.__file__).resolve()), *libraries],
    }


def main() -> None:
    package, backend, devices, scale = sys.argv[1:]
    # Standard output is reserved for the answers to the parent process; other output goes to stderr.
    answers, sys.stdout = sys.stdout, sys.stderr
    probes: Probes | None = None
    measure: Measure | None = None
    for line in sys.stdin:
        command, *words = line.split()
        answer: dict[str, Any] = {}
        try:
            probes = probes or Probes(package, backend, int(devices), scale)
            if command == "describe":
                answer = _describe(probes)
            elif command == "open":
                measure = probes.open(words[0])
                measure()
            elif command == "measure" and measure:
                answer = measure()
            elif command == "close":
                measure = None
                gc.collect()
        except Exception as error:  # the parent process gets the error: an older package may lack what is measured
            measure, answer = None, {"error": f"{type(error).__name__}: {error}"}
        print(ANSWER + json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
