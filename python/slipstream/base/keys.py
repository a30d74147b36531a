"""Keys of TOML files: the numbers that they may hold, and the tables that hold them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _no_longer_than_waits(seconds: float) -> float:
    if 0 < seconds <= 1e9 or seconds == math.inf:
        return seconds
    raise ValueError("give more than 0 and at most 1e9 s, or inf to wait for ever")


#: Type of a time limit for waits, in seconds; inf: no limit.
WaitLimit = Annotated[float, AfterValidator(_no_longer_than_waits)]

_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def bytes_of(text: str) -> int:
    """The number of bytes in a size such as "8 GiB"."""
    number, _, unit = text.partition(" ")
    return int(float(number) * _SIZES[unit])


SIZE_PATTERN = r"^\d+(\.\d+)? (B|KiB|MiB|GiB|TiB)$"
#: Type of a memory size: text with its unit, such as "8 GiB".
Size = Annotated[str, Field(pattern=SIZE_PATTERN)]

Finite = Annotated[float, Field(allow_inf_nan=False)]

Vector = tuple[Finite, Finite, Finite]


class Table(BaseModel):
    """Base of tables of a case file: types are strict, and unknown keys are errors."""

    #: Unit of each key that is a number; "-": numbers without a unit.
    in_units: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


def tables_within(annotation: Any) -> Iterator[type[Table]]:
    """The table types in an annotation, including those of a dictionary's values."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for part in get_args(annotation):
        yield from tables_within(part)


def keys_at(table: type[Table], path: Iterable[str | int]) -> list[str]:
    """Names of the keys that a nested table of a case file may have; `path` leads to it from the outer table. Empty if
    the table accepts any name."""
    for part in path:
        fields = {field.alias or name: field for name, field in table.model_fields.items()}
        if part in fields:
            table = next(tables_within(fields[str(part)].annotation), Table)
    return [field.alias or name for name, field in table.model_fields.items()]
