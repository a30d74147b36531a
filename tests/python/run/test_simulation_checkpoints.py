"""Checkpoints of a Simulation from Python."""

import signal
from pathlib import Path

import numpy as np
import pytest
from errors import raises
from small_runs import ENDLESS, PLAIN, name, nudge_a_vertex, start, wait_for_steps, with_mesh


@pytest.mark.parametrize(
    ("representation", "other"),
    [("populations", {"blocks_per_device": (2, 1, 1), "layout": "aos"}), ("moments", {"blocks_per_device": (2, 1, 2)})],
)
def test_simulation_in_python_goes_on_from_its_checkpoint(
    tmp_path: Path, representation: str, other: dict[str, object]
) -> None:
    import slipstream as slip

    def flow(representation: str = representation, **options: object) -> slip.lbm.Simulation:
        method = {"representation": representation, "precision": "f64", "backend": "host"}
        return slip.lbm.Simulation((12, 9, 10), 20, 0.1, **method, **options)

    def state(simulation: slip.lbm.Simulation) -> np.ndarray:
        return np.asarray(getattr(simulation.solver, representation)())

    first = flow()
    first.run(steps=7, quiet=True)
    path = first.save(tmp_path / "kept")
    first.run(steps=5, quiet=True)
    second = flow(**other)
    second.restore(path)
    assert second.step == 7
    second.run(steps=5, quiet=True)
    assert np.array_equal(state(first), state(second))
    assert np.abs(state(first)).max() > 1e-3
    changed = "moments" if representation == "populations" else "populations"
    facts = {"key": "lbm.representation", "needed": f'"{representation}"', "given": f'"{changed}"'}
    with raises(slip.CaseError, "mismatch", **facts):
        flow(changed).restore(path)
    with raises(slip.CaseError, "mismatch", key="physics.reynolds", needed=20.0, given=30.0):
        slip.lbm.Simulation(
            (12, 9, 10), 30, 0.1, representation=representation, precision="f64", backend="host"
        ).restore(path)


def test_simulation_replaces_no_checkpoints_of_another_flow_or_of_later_steps(tmp_path: Path) -> None:
    import slipstream as slip

    def flow(reynolds: float, **more: object) -> slip.lbm.Simulation:
        return slip.lbm.Simulation((8, 8), reynolds, 0.1, backend="host", **more)

    kept = {"checkpoint": {"every": 4, "folder": str(tmp_path)}}
    first, folder = flow(20, **kept), tmp_path / "case"
    first.run(steps=8, quiet=True)
    there = {path: path.read_bytes() for path in folder.iterdir()}
    assert [path.name for path in sorted(there)] == [name(4), name(8)]
    other, again = flow(30, **kept), flow(20, **kept)
    for simulation, code in ((other, "mismatch"), (again, "wrong_state")):
        holds = f"{name(4)}, {name(8)}"
        with raises(slip.CaseError, code, key="checkpoint.folder", holds=holds):
            simulation.run(steps=4, quiet=True)
        with raises(slip.CaseError, code, key="folder", holds=holds):
            simulation.save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == there, "no lock is left either"
    again.restore(folder / name(4))
    again.save(folder)
    assert [path.name for path in folder.iterdir()] == [name(4)], "what was restored from there goes on there"


def test_simulation_saves_nothing_where_a_run_writes(tmp_path: Path, small: Path) -> None:
    import slipstream as slip

    run = start(tmp_path, "run", "small.toml", *PLAIN, ENDLESS)
    wait_for_steps(run)
    flow = slip.lbm.Simulation.from_case(small, ["machine.backend='host'", "lbm.precision='f64'"])
    with raises(slip.CaseError, "locked", key="folder", file=tmp_path / "results/small"):
        flow.save(tmp_path / "results/small/checkpoints")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    assert run.returncode == 0


def test_simulation_keeps_the_checksum_of_the_mesh_that_it_was_made_from(tmp_path: Path) -> None:
    import slipstream as slip

    with_mesh(tmp_path / "here")
    part = {"mesh": str(tmp_path / "here/part.obj"), "scale": 40.0, "translate": (-12.0, -12.0, -12.0)}

    def flow() -> slip.lbm.Simulation:
        return slip.lbm.Simulation((16, 16, 16), 20, 0.1, bodies={"part": part}, backend="host")

    first = flow()
    nudge_a_vertex(tmp_path / "here")
    path = first.save(tmp_path / "kept")
    with raises(slip.CaseError, "mismatch", key="bodies.part.mesh"):
        flow().restore(path)
    first.restore(path)
