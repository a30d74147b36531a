"""Keys of TOML files: the numbers that they may hold, and the tables that hold them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

Finite = Annotated[float, Field(allow_inf_nan=False)]

Vector = tuple[Finite, Finite, Finite]


class Table(BaseModel):
    """Strict types, no unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)
