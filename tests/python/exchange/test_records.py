"""Grids and exchanges report through typed records, not dicts."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict
from typing import Any

import numpy as np
import pytest
import slipstream as slip
from slipstream.exchange.records import Counts, Delivery, LocalBlock, Message, Tuning
from slipstream.fft.plan import Memory, ProcessGrids


def grid() -> slip.Grid:
    return slip.Grid((8, 6, 4), backend="host", devices_per_rank=2)


def halo() -> slip.Exchange:
    found = slip.Exchange(grid(), {"u": [np.zeros(grid().array_shape(1, block=block)) for block in range(2)]})
    found.run()
    return found


def sums() -> slip.GatherScatter:
    return slip.GatherScatter(grid(), [np.array([1, 2]), np.array([2, 3])])


RECORDS: dict[str, tuple[Callable[[], Any], type, dict[str, Any]]] = {
    "a block": (lambda: grid().local[0], LocalBlock, {"id": 0, "lo": (0, 0, 0), "device": 0, "device_index": 0}),
    "a message": (lambda: halo().messages()[0], Message, {"source": 0, "target": 1}),
    "a delivery": (lambda: halo().report().rows[0], Delivery, {"source": 0, "source_rank": 0, "rms_error": None}),
    "the tuning": (lambda: halo().tuning, Tuning, {"source": "rules", "notes": ()}),
    "the tuning of sums": (lambda: sums().tuning, Tuning, {"source": "rules"}),
    "counts": (lambda: sums().counts(), Counts, {"shared_points": 1, "remote_ids": 1, "unique_ids": 0}),
    "process grids": (lambda: slip.fft.Plan(grid()).process_grids, ProcessGrids, {"source": "rules", "times": ()}),
    "memory": (lambda: slip.fft.memory(grid())[0], Memory, {"physical": 8 * 6 * 4 * 16 // 2}),
}


@pytest.mark.parametrize("what", RECORDS)
def test_records_have_fields_that_nobody_changes(what: str) -> None:
    make, kind, some = RECORDS[what]
    record = make()
    assert type(record) is kind and some.items() <= asdict(record).items()
    with pytest.raises(FrozenInstanceError):
        setattr(record, next(iter(some)), 7)


@pytest.mark.parametrize("what", RECORDS)
def test_fields_are_subscripts_too(what: str) -> None:
    make, _, some = RECORDS[what]
    record = make()
    assert {name: record[name] for name in some} == some and some.items() <= dict(record).items()
    with pytest.raises(KeyError):
        record["keys"]
