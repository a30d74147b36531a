"""A case of a pseudo-spectral flow, and the options of its compiled solver."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr

from slipstream.base.keys import bytes_of
from slipstream.case.case import Case
from slipstream.dns.own_table import DnsTable
from slipstream.dns.tables import BeginTable, DnsOutputTable, DnsRunTable

#: Keys of a pseudo-spectral case that may differ between a run and its restart.
FREE = (
    "dns.process_grid", "dns.store", "dns.overlap", "dns.largest_courant", "dns.budget", "dns.time_step",
    "dns.device_memory", "dns.host_copies", "dns.synchronous", "dns.courant", "output.transfer",
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

    #: Step and time from which the present time step applies; the next variable says whether a checkpoint set them.
    _since: tuple[int, float] = PrivateAttr((0, 0.0))
    _restarted: bool = PrivateAttr(False)
    _clock: Callable[[], tuple[int, float]] | None = PrivateAttr(None)

    @classmethod
    def is_free(cls, key: str) -> bool:
        return super().is_free(key) or key in FREE

    @classmethod
    def moves_findings(cls, key: str) -> bool:
        return super().moves_findings(key) or key in ("dns.budget", "dns.time_step", "dns.courant")

    @property
    def spacing(self) -> float:
        return self.spacings[0]

    @property
    def spacings(self) -> tuple[float, float, float]:
        x, y, z = (edge / n for edge, n in zip(self.dns.lengths, self.grid.cells, strict=True))
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
        first, time = self._clock() if self._clock is not None else self._since
        return time + (step - first) * self.time_step

    def show_time(self, step: int) -> str:
        said = super().show_time(step)
        known = self._clock is not None and self._clock()[0] == step
        return said if known or not self.dns.courant else f"at most {said}"

    def timed_by(self, clock: Callable[[], tuple[int, float]]) -> None:
        """Gives the case a function `clock` that returns the present step and time of a run, from which `time_of`
        counts. Steps by a Courant number vary: later ones are assumed to be as long as the longest."""
        self._clock = clock

    @property
    def last_step(self) -> int:
        if not self.run.time:
            return super().last_step
        first, time = self._since
        last = max(first, 1, first + round((self.run.time - time) / self.time_step))
        return min(last, self.run.steps or last)

    @property
    def is_forced(self) -> bool:
        return self.dns.forcing != "power" or self.dns.forcing_power > 0

    @property
    def check_every(self) -> int:
        return self.run.check_every or max(1, self.last_step // 100)

    @property
    def is_reference_flow(self) -> bool:
        """Whether the case is the Taylor-Green vortex at Reynolds number 1600."""
        table = self.dns
        cube = table.lengths == type(table).model_fields["lengths"].default
        same = abs(table.viscosity * 1600 - 1) < 1e-9 and not self.is_forced and cube
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
