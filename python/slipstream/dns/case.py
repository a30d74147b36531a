"""A case of a pseudo-spectral flow, and the options of its compiled solver."""

import math
from typing import Any, ClassVar

from slipstream.case.case import Case
from slipstream.dns.tables import BeginTable, DnsOutputTable, DnsRunTable, DnsTable

#: Keys that a restart may change.
FREE = ("dns.process_grid", "dns.store", "dns.largest_courant", "dns.budget")


class DnsCase(Case):
    """A case file of incompressible flow in a periodic box."""

    solver: ClassVar[str] = "dns"
    file_keys: ClassVar[tuple[tuple[str, ...], ...]] = (("initial", "spectrum"),)

    dns: DnsTable
    initial: BeginTable = BeginTable()
    run: DnsRunTable = DnsRunTable()
    output: DnsOutputTable = DnsOutputTable()

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in FREE

    @property
    def spacing(self) -> float:
        return 2 * math.pi / self.grid.cells[0]

    @property
    def time_step(self) -> float:
        return self.dns.time_step

    @property
    def check_every(self) -> int:
        return self.run.check_every or max(1, self.last_step // 100)

    @property
    def is_reference_flow(self) -> bool:
        """Whether it is the vortex of Taylor and Green at Reynolds number 1600."""
        same = abs(self.dns.viscosity * 1600 - 1) < 1e-9 and not self.dns.forcing_power
        return self.output.reference != "none" and self.initial.flow == "taylor_green" and same

    def options(self) -> dict[str, Any]:
        table = self.dns
        own = table.model_dump(exclude={"precision", "store"} if table.store is None else {"precision"})
        if table.process_grid == "measured":
            own |= {"process_grid": (0, 0), "tune_process_grid": True}
        return {
            "cells": self.grid.cells,
            "type": table.precision,
            **own,
            **self.exchange_options("coding"),
            "exchange": self.exchange_options("messages"),
        }
