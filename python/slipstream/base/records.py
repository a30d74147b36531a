"""Bases of classes that users see."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Self


class Closing:
    """Base of objects that hold resources: a `with` statement calls their close() at its end."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
