"""Records by which objects tell of themselves."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any


class Record:
    """Base of classes of results. Their fields can be read as `block["lo"]`, too, because earlier versions returned
    dicts."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        return [field.name for field in fields(self)]  # type: ignore[arg-type]  # what derives is a dataclass
