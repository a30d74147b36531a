"""Type checkers see case file keys as arguments of a Simulation, and its results as records."""

from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, Literal, Required, get_args, get_origin

import pytest
import slipstream as slip
from errors import raises
from pydantic import BaseModel
from slipstream.case.body import Body as BodyTable
from slipstream.case.flow_tables import DomainTable, FlowGuardTable, InitialTable, UnitsTable
from slipstream.case.reader import load
from slipstream.case.sides import SIDES
from slipstream.case.sides import Boundary as BoundaryTable
from slipstream.case.tables import CheckpointTable, ExchangeTable
from slipstream.exchange.options import UnknownOption
from slipstream.exchange.records import Block
from slipstream.lbm import options
from slipstream.lbm.tables import LbmTable
from slipstream.machine.discovery import MachineTable

CELLS = (12, 10, 8)
BALL = {"shape": "sphere", "centre": (6.0, 5.0, 4.0), "radius": 2.0}

#: For each class of options in Python, the tables of the case file with the same keys. If several tables have a key,
#: the first one counts.
TABLES: dict[str, tuple[Any, list[type[BaseModel]]]] = {
    "keywords": (options.Options, [LbmTable, MachineTable, ExchangeTable]),
    "boundaries": (options.Boundary, [BoundaryTable]),
    "bodies": (options.Body, [BodyTable]),
    "initial": (options.Initial, [InitialTable]),
    "units": (options.Units, [UnitsTable]),
    "domain": (options.Domain, [DomainTable]),
    "guard": (options.Guard, [FlowGuardTable]),
    "checkpoint": (options.Checkpoint, [CheckpointTable]),
}


def fields_of(tables: list[type[BaseModel]]) -> dict[str, Any]:
    return {name: field for table in reversed(tables) for name, field in table.model_fields.items()}


def simple(annotation: Any) -> set[Any]:
    """The literals and number types in an annotation."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    if annotation in (int, float, bool, str):
        return {annotation}
    return {part for inner in get_args(annotation) for part in simple(inner)}


@pytest.mark.parametrize("name", TABLES)
def test_checkers_see_all_keys_of_a_table_with_their_values(name: str) -> None:
    seen, tables = TABLES[name]
    fields = fields_of(tables)
    assert {key: simple(of) for key, of in seen.__annotations__.items()} == {
        key: simple(field.annotation) for key, field in fields.items()
    }


@pytest.mark.parametrize("name", TABLES)
def test_checkers_ask_for_the_keys_that_a_table_needs(name: str) -> None:
    seen, tables = TABLES[name]
    needed = {key for key, of in seen.__annotations__.items() if get_origin(of) is Required}
    assert needed == {key for key, field in fields_of(tables).items() if field.is_required()}


def test_checkers_see_the_sides_of_the_box() -> None:
    assert get_args(options.Side) == SIDES


@pytest.mark.parametrize(
    ("given", "meant"), [("precison", "precision"), ("reynods", "reynolds"), ("backnd", "backend")]
)
def test_keyword_of_another_name_is_refused_with_the_nearest(given: str, meant: str) -> None:
    with raises(UnknownOption, "not_found", option=given, nearest=meant):
        slip.lbm.Simulation(CELLS, **{given: 1})


def flow(**more: Any) -> slip.lbm.Simulation:
    return slip.lbm.Simulation(CELLS, 20, 0.05, backend="host", **more)


def test_loads_are_records_whose_fields_are_subscripts_too() -> None:
    load_of_ball = flow(bodies={"ball": BALL | {"area": 12.5, "about": (6.0, 5.0, 4.0)}}).loads()["ball"]
    assert isinstance(load_of_ball, slip.lbm.Load)
    for name in ("force", "moment", "coefficient", "moment_coefficient"):
        value = getattr(load_of_ball, name)
        assert isinstance(value, tuple) and len(value) == 3 and load_of_ball[name] == value
    with pytest.raises(FrozenInstanceError):
        load_of_ball.force = (0.0, 0.0, 0.0)  # type: ignore[misc]


def test_load_without_an_area_has_no_coefficient_as_a_field_or_a_subscript() -> None:
    load_of_ball = flow(bodies={"ball": BALL}).loads()["ball"]
    assert load_of_ball.coefficient is None and load_of_ball.moment_coefficient is None
    assert "force" in load_of_ball and "coefficient" not in load_of_ball
    assert list(dict(load_of_ball)) == ["force", "moment"]
    with pytest.raises(KeyError):
        load_of_ball["coefficient"]


def test_blocks_beside_arrays_are_records() -> None:
    ((block, _),) = flow().arrays()
    assert block == Block(id=0, lo=(0, 0, 0), hi=CELLS, device=0, rank=0) and block["hi"] == CELLS


def test_simulation_shows_itself_in_one_line() -> None:
    made = flow(precision="f64")
    made.run(steps=3, quiet=True)
    line = "12 x 10 x 8 cells, Re 20, D3Q19 TRT f64 on host devices; 3 steps"
    assert repr(made) == f"<slipstream.lbm.Simulation: {line}>"


WAVE = """
[grid]
cells = [8, 8, 8]
[run]
steps = 1
[stencil]
equation = "heat"
diffusivity = 0.1
"""


@pytest.mark.parametrize("loaded", [False, True], ids=["a file", "a case that was loaded"])
def test_case_of_another_solver_is_refused(tmp_path: Path, loaded: bool) -> None:
    path = tmp_path / "heat.toml"
    path.write_text(WAVE)
    with raises(slip.CaseError, "mismatch", given="stencil"):
        slip.lbm.Simulation.from_case(load(path) if loaded else path)
