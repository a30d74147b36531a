"""Packings of spheres, and the flow through them."""

import math
from pathlib import Path

import numpy as np
import pytest
from errors import raises
from slipstream.base.errors import CaseError
from slipstream.case.reader import load
from slipstream.flow import permeability as bed
from slipstream.geometry import beads
from slipstream.lbm import Simulation, running
from slipstream.machine import discovery
from slipstream.run import engine

CASES = Path(__file__).parents[3] / "cases"


def test_beads_of_a_pack_do_not_overlap_and_fill_the_share_asked_for() -> None:
    cells, radius = (48, 40, 40), 6.0
    centres = beads.pack(cells, radius, beads.count_for(0.55, radius, cells), seed=3)
    apart = centres[:, None] - centres[None]
    apart -= np.asarray(cells) * np.round(apart / np.asarray(cells))
    distance = np.sqrt((apart**2).sum(axis=-1))[np.triu_indices(len(centres), 1)]
    assert distance.min() > 1.999 * radius
    assert beads.mask(cells, centres, radius).mean() == pytest.approx(0.55, abs=0.02)


def test_a_seed_names_a_pack() -> None:
    packs = [beads.pack((30, 30, 30), 5.0, 20, seed) for seed in (1, 1, 2)]
    assert np.array_equal(packs[0], packs[1])
    assert not np.array_equal(packs[0], packs[2])


def test_beads_that_find_no_room_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beads, "ROUNDS", 50)
    with raises(ValueError, "unsupported", given=25, radius=4.0, share="84 %"):
        beads.pack((20, 20, 20), 4.0, 25, 1)


def test_a_mask_of_beads_goes_on_beyond_the_sides() -> None:
    mask = beads.mask((16, 16, 16), np.array([[0.0, 0.0, 0.0]]), 5.0)
    assert np.array_equal(
        mask, np.roll(beads.mask((16, 16, 16), np.array([[8.0, 8.0, 8.0]]), 5.0), (8, 8, 8), (0, 1, 2))
    )


@pytest.mark.parametrize(
    ("change", "code", "facts"),
    [
        ("bodies.beads.solid=0.9", "invalid_argument", {"key": "bodies.beads.solid", "allowed": "< 0.63"}),
        ("bodies.beads.centre=[1,1,1]", "unsupported", {"key": "bodies.beads.centre", "other": "shape"}),
        ("bodies.beads.radius=20", "invalid_argument", {"key": "bodies.beads.radius", "other": "grid.cells"}),
        ("grid.periodic=[true,true,false]", "unsupported", {"key": "bodies.beads", "other": "grid.periodic"}),
    ],
)
def test_beads_that_make_no_pack_are_refused(change: str, code: str, facts: dict[str, str]) -> None:
    with raises(CaseError, code, **facts):
        load(CASES / "bead_pack.toml", [change])


def run_small(name: str, *changes: str) -> bed.Permeability:
    case = load(CASES / name, ["machine.backend=host", *changes])
    lbm = running.compiled(engine.prepare(case, discovery.discover(case.machine)))
    lbm.advance(case.last_step)
    found = bed.measure(lbm, case)
    assert found is not None
    return found


def test_the_drag_of_a_simple_cubic_array_is_that_of_sangani_and_acrivos() -> None:
    radius = 24 * (3 * 0.125 / (4 * math.pi)) ** (1 / 3)
    found = run_small(
        "bead_array.toml", "grid.cells=[24,24,24]", "bodies.bead.centre=[12,12,12]", f"bodies.bead.radius={radius}",
        "run.time_units=0.6",
    )  # fmt: skip
    assert 24**3 / (6 * math.pi * radius * found.permeability) == pytest.approx(4.292, rel=0.02)


def test_the_permeability_of_a_pack_is_that_of_kozeny_and_carman() -> None:
    found = run_small("bead_pack.toml", "run.time_units=0.1")
    free = 1 - found.solid_share
    assert found.permeability == pytest.approx(16**2 * free**3 / (180 * (1 - free) ** 2), rel=0.15)


def test_a_checkpoint_of_a_sparse_run_goes_on_as_a_dense_one(tmp_path: Path) -> None:
    def run(solids: str) -> Simulation:
        spheres_of_a_packing = {"shape": "beads", "radius": 5.0, "solid": 0.4}
        return Simulation(
            (24, 22, 20), viscosity=0.05, reference_velocity=0.05, length=10.0, walls={}, periodic=(True, True, True),
            force=(1e-4, 0.0, 0.0), bodies={"beads": spheres_of_a_packing}, solids=solids, streaming="in_place",
            devices_per_rank=2, blocks_per_device=(1, 2, 1), backend="host",
        )  # fmt: skip

    sparse, dense = run("sparse"), run("dense")
    sparse.run(steps=7, quiet=True)
    dense.restore(sparse.save(tmp_path))
    for flow in (sparse, dense):
        flow.run(steps=6, quiet=True)
    assert dense.step == 13
    np.testing.assert_array_equal(sparse.velocity, dense.velocity)
    assert sparse.solver.bytes_of_cells() < 0.9 * dense.solver.bytes_of_cells()
    with raises(RuntimeError, "unsupported", field="populations"):
        sparse.arrays("populations")
