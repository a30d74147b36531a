"""User programs with mistakes, for type checkers; never executed.

mypy reports an ignored error that does not occur (`warn_unused_ignores`), so it must detect every mistake here.
"""

import numpy as np
import slipstream as slip


def right() -> None:
    sides: dict[slip.lbm.Side, slip.lbm.Boundary] = {
        "x-": {"kind": "velocity", "velocity": ("4*y*(Ly-y)/Ly^2", 0, 0)},
        "x+": {"kind": "pressure"},
    }
    flow = slip.lbm.Simulation(
        (64, 32),
        100,
        0.1,
        boundaries=sides,
        bodies={"ball": {"shape": "cylinder", "centre": np.array([9.0, 8.0, 8.0]), "radius": 5, "area": 10}},
        walls={"y+": (1, 0, 0)},
        initial={"velocity": ("sin(2*pi*y/Ly)", 0, 0)},
        units={"system": "SI", "cell": 0.001, "density": 998},
        guard={"every": 50, "density": (0.5, 2)},
        checkpoint={"every": 5000, "folder": "kept"},
        precision="f64",
        rim="auto",
        blocks_per_device=(2, 1, 1),
    )
    load: slip.lbm.Load = flow.loads()["ball"]
    force: tuple[float, float, float] = load.force
    low: tuple[int, int, int] = flow.arrays()[0][0].lo
    name: str = flow.machine.name
    mass: float = flow.solver.mass()
    print(force, low, name, mass)


def records(turbulence: slip.dns.Simulation, heat: slip.sem.Simulation, flow: slip.sem.Flow) -> None:
    spectrum: np.ndarray = turbulence.statistics().scalars[0].spectrum
    distance: float | None = heat.statistics().distance
    force: np.ndarray = flow.forces()["y-"].viscous
    orders: tuple[int, int] = (heat.case.sem.order, flow.case.sem.order)
    print(spectrum, distance, force, orders, heat.solver.effort(), flow.solver.pressure_effort())
    print(turbulence.statistics().enrgy)  # type: ignore[attr-defined]
    print(turbulence.transfer().flux.upper())  # type: ignore[attr-defined]
    print(flow.planes("y").y)  # type: ignore[attr-defined]
    heat.solver.pressure_effort()  # type: ignore[attr-defined]


def keywords() -> None:
    slip.lbm.Simulation((8, 8), precison="f64")  # type: ignore[call-arg]
    slip.lbm.Simulation((8, 8), precision="f65")  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), devices_per_rank="2")  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), force=1)  # type: ignore[arg-type]


def tables() -> None:
    slip.lbm.Simulation((8, 8), units={"sistem": "SI"})  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), guard={"evry": 50})  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), checkpoint={"snapshot": "disk"})  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), domain={"margin_low": (1, 1, 1)})  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), initial={"velocity": 1})  # type: ignore[arg-type]
    slip.lbm.Simulation((8, 8), bodies={"ball": {"shap": "sphere"}})  # type: ignore[typeddict-unknown-key]


def sides() -> None:
    slip.lbm.Simulation((8, 8), walls={"up": (1, 0, 0)})  # type: ignore[dict-item]
    slip.lbm.Simulation((8, 8), boundaries={"up": {"kind": "slip"}})  # type: ignore[dict-item]
    slip.lbm.Simulation((8, 8), boundaries={"x-": {"kind": "slipp"}})  # type: ignore[typeddict-item]
    slip.lbm.Simulation((8, 8), boundaries={"x-": {"pressure": 1.0}})  # type: ignore[typeddict-item]


def results(flow: slip.lbm.Simulation) -> None:
    print(flow.loads()["ball"].forces)  # type: ignore[attr-defined]
    print(flow.arrays()[0][0].low)  # type: ignore[attr-defined]
    print(flow.machine.names)  # type: ignore[attr-defined]
    print(flow.solver.masses())  # type: ignore[attr-defined]


def exchanges() -> None:
    grid = slip.Grid((8, 6, 4), node_grids=(1, 1, 1))  # type: ignore[call-arg]
    slip.Exchange(grid, {}, tune="mesure")  # type: ignore[arg-type]
    slip.fft.Plan(grid, tuner_cash="folder")  # type: ignore[call-arg]
    print(grid.blocks[0].low)  # type: ignore[attr-defined]
