"""Checks of combinations of keys that solvers share. A fault names its key in the fact `key`."""

from collections.abc import Iterable, Iterator
from typing import Any

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case.case import Case


def counts(case: Case) -> Iterator[Fault]:
    """Faults of node_grid and device_grid that give a count for some axes only."""
    for name in ("node_grid", "device_grid"):
        given = getattr(case.exchange, name)
        if any(given) and not all(given):
            said = f"give all three counts, or three zeros for bisection; it is {list(given)}"
            yield Fault(said, key=f"exchange.{name}", needed=3)


def end(case: Case) -> Iterator[Fault]:
    """The error of a case that gives neither a number of steps nor an end time, so that its run would never end."""
    if case.run.steps is None and case.run.time is None:
        yield missing("run", "give steps or time, so that the run ends", needed="steps or time")


def unused(case: Case, table: str, keys: Iterable[str], text: str, **facts: Any) -> Iterator[Fault]:
    """An error for each of the given keys that the case sets although it has no use for them."""
    given = getattr(case, table)
    for key in keys:
        if getattr(given, key) != type(given).model_fields[key].default:
            yield unsupported(f"{table}.{key}", text, **facts)
