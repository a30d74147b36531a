"""A case of a pseudo-spectral flow, and the options of its compiled solver."""

import math
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from slipstream.base.keys import bytes_of
from slipstream.case.case import Case
from slipstream.dns.tables import BeginTable, DnsOutputTable, DnsRunTable, DnsTable

#: Keys that a restart may change.
FREE = (
    "dns.process_grid", "dns.store", "dns.overlap", "dns.largest_courant", "dns.budget", "dns.time_step",
    "dns.device_memory", "dns.host_copies", "dns.synchronous",
)  # fmt: skip


class DnsCase(Case):
    """A case file of incompressible flow in a periodic box."""

    solver: ClassVar[str] = "dns"
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("initial", "spectrum"), ("initial", "file"))
    folder_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("initial", "file"),)

    dns: DnsTable
    initial: BeginTable = BeginTable()
    run: DnsRunTable = DnsRunTable()
    output: DnsOutputTable = DnsOutputTable()

    #: Step and time from which the time step holds, and whether a checkpoint has them.
    _since: tuple[int, float] = PrivateAttr((0, 0.0))
    _restarted: bool = PrivateAttr(False)

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in FREE

    @classmethod
    def moves_findings(cls, key: str) -> bool:
        return super().moves_findings(key) or key in ("dns.budget", "dns.time_step")

    @property
    def spacing(self) -> float:
        return 2 * math.pi / self.grid.cells[0]

    @property
    def spacings(self) -> tuple[float, float, float]:
        x, y, z = (2 * math.pi / n for n in self.grid.cells)
        return (x, y, z)

    @property
    def time_step(self) -> float:
        return self.dns.time_step

    def going_on(self, step: int, time: float) -> Self:
        case = self.model_copy()
        same = abs(time - step * self.time_step) < 1e-3 * self.time_step
        case._since, case._restarted = ((0, 0.0) if same else (step, time)), True
        return case

    @property
    def restarted(self) -> bool:
        return self._restarted

    def time_of(self, step: int) -> float:
        first, time = self._since
        return time + (step - first) * self.time_step

    @property
    def last_step(self) -> int:
        if not self.run.time:
            return super().last_step
        first, time = self._since
        last = max(first, 1, first + round((self.run.time - time) / self.time_step))
        return min(last, self.run.steps or last)

    @property
    def shells(self) -> int:
        """Of the spectrum: from 0 to that of the highest mode that is kept."""
        return math.floor(math.sqrt(sum(((n - 1) // 3) ** 2 for n in self.grid.cells)) + 0.5) + 1

    @property
    def is_forced(self) -> bool:
        return self.dns.forcing == "energy" or self.dns.forcing_power > 0

    @property
    def check_every(self) -> int:
        return self.run.check_every or max(1, self.last_step // 100)

    @property
    def is_reference_flow(self) -> bool:
        """Whether it is the vortex of Taylor and Green at Reynolds number 1600."""
        same = abs(self.dns.viscosity * 1600 - 1) < 1e-9 and not self.is_forced
        return self.output.reference != "none" and self.initial.flow == "taylor_green" and same

    def options(self) -> dict[str, Any]:
        table = self.dns
        own = table.model_dump(exclude={"precision"}, exclude_none=True)
        if table.device_memory is not None:
            own["device_memory"] = bytes_of(table.device_memory)
        if table.process_grid == "measured":
            own |= {"process_grid": (0, 0), "tune_process_grid": True}
        return {
            "cells": self.grid.cells,
            "type": table.precision,
            **own,
            **self.exchange_options("coding"),
            "exchange": self.exchange_options("messages"),
        }
