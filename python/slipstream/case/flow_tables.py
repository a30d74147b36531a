"""What a case says of the flow itself: from which it starts, which one it should be, and what a run should find."""

from typing import Annotated

from pydantic import Field

from slipstream.base.keys import Count, Finite, Table

Part = Finite | str

_NAMES = (
    "Numbers or expressions in x, y, z (cells, or m in SI, from the box's low corner), the box's sides Lx, Ly, Lz and "
    "physics.length L"
)


class InitialTable(Table):
    """[initial]: the flow at the start; left out: at rest."""

    velocity: tuple[Part, Part, Part] = Field(
        (0.0, 0.0, 0.0), description=f"In units of the lid speed, or in m/s with units.speeds. {_NAMES}."
    )
    pressure: Part = Field(
        0.0,
        description="Above that at rest, in density x lid speed^2, or in Pa with units.speeds; the density follows. A "
        "number or an expression.",
    )


class ExactTable(Table):
    """[exact]: the velocity that is known for the end of the run; its distance goes to comparison.json."""

    velocity: tuple[Part, Part, Part] = Field(
        description=f"In units of the lid speed. {_NAMES}, and the time t in length / lid speed. With units.speeds in "
        "m/s and s."
    )


class DomainTable(Table):
    """[domain]: in place of grid.cells: the box round the meshes of the bodies, with margins, made larger until whole
    blocks fill it (Zheng 2023, 1.1). Bodies then move with the box, whose low corner is the origin."""

    bodies: list[str] = Field([], description="Whose box; none named: of all bodies that are meshes.")
    margin_low: tuple[Finite, Finite, Finite] = Field(
        (0.0, 0.0, 0.0), description="To keep free before them, on x-, y- and z-: cells, or m in SI."
    )
    margin_high: tuple[Finite, Finite, Finite] = Field((0.0, 0.0, 0.0), description="The same behind them.")
    block: tuple[Count, Count, Count] = Field(description="Cells of a block; it becomes exchange.block.")
    keep_low: tuple[bool, bool, bool] = Field(
        (False, False, False),
        description="Axes whose low side stays where the margin puts it (a road); along the others what whole blocks "
        "need more is added on both sides.",
    )


#: Lowest and highest value of what a run finds.
Range = tuple[Finite, Finite]
ExpectedTable = dict[Annotated[str, Field(min_length=1)], Range]
