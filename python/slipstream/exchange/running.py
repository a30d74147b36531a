"""Base class of exchanges of arrays, for halos and transposes."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstream.base.records import Closing
from slipstream.exchange.grid import Grid, native_streams
from slipstream.exchange.records import Arena, Message, Tuning
from slipstream.exchange.report import Report

if TYPE_CHECKING:
    from slipstream._core import ArrayExchange


class Running(Closing):
    """An exchange that was set up once, and may be repeated any number of times.

    On GPUs, begin and end order themselves after and before the work of the given stream (None: the default stream).
    NumPy arrays are ready when end returns. Work between begin() and end() overlaps with the exchange.
    """

    def __init__(self, grid: Grid, inner: "ArrayExchange", arrays: list[Any], what: str) -> None:
        self.grid = grid
        self._what = what
        self._closed = False
        self._exchange = inner
        self._arrays = arrays  # a reference that keeps the caller's arrays alive
        self._open: list[int] = []
        for note in self.tuning.notes:
            warnings.warn(note, RuntimeWarning, stacklevel=3)

    def begin(self, stream: Any = None) -> None:
        """Starts the exchange after the queued work of `stream`, the caller's CUDA stream, or a list with one for each
        device of this rank."""
        self._open = native_streams(self.grid, stream)
        self._exchange.begin(self._open)

    def end(self, stream: Any = None) -> None:
        """Makes later work of the stream wait until all values have arrived. The default is the stream given to
        begin()."""
        self._exchange.end(self._open if stream is None else native_streams(self.grid, stream))

    def run(self, stream: Any = None) -> None:
        """Does the work of begin and end, in one launch if no copy engine, library or host takes part. Faster if there
        is nothing to compute meanwhile.
        """
        self._exchange.run(native_streams(self.grid, stream))

    def progress(self) -> bool:
        """Drives routes that need the host, between begin and end; returns True when they are done."""
        return self._exchange.progress()

    def check(self) -> None:
        """Raises the errors of earlier exchanges. TimeoutError: a wait for a neighbour timed out, whose values are not
        in the ghosts. OverflowError: a value was too large for its coding. RuntimeError: a library failed.

        On GPUs, synchronize the stream first, and call this before you use the values. Call it also after replays of
        your own graph that holds exchanges. A begin() or run() reports errors of exchanges before it only, but on the
        host end() and run() check at once. If values are coded, all ranks must call it, and get the same OverflowError.
        After an error the exchange is unusable."""
        self._exchange.check()

    def close(self) -> None:
        """Releases the arrays, which may be freed afterwards. Collective: waits for pending exchanges and for the other
        ranks, at most some seconds for missing ones. A second call does nothing; other methods then raise
        RuntimeError.
        """
        self._exchange.close()
        self._arrays.clear()
        self._closed = True

    def __repr__(self) -> str:
        routes = [] if self._closed else sorted({each.route for each in self.messages()})
        state = ", ".join(routes) or ("closed" if self._closed else "no messages")
        return f"<slipstream.{type(self).__name__}: {self._what}; {state}>"

    def messages(self) -> list[Message]:
        """Messages of each exchange that leave or reach this rank."""
        return [Message(**each) for each in self._exchange.messages()]

    @property
    def tuning(self) -> Tuning:
        """Routes that the tuner chose, and whether it measured them, read its cache or followed rules."""
        return Tuning.of(self._exchange.tuning())

    @property
    def codings(self) -> dict[str, str]:
        """The coding of each field, with "auto" resolved."""
        return dict(self._exchange.codings)

    @property
    def coding_reason(self) -> str:
        """Why "auto" chose this coding, with the measured times; empty if no field uses "auto"."""
        return str(self._exchange.coding_reason)

    def report(self) -> Report:
        """The messages of all ranks with the times and rates of the last exchange, and the memory that exchanges share.
        Print it with rich, or write() it as JSON or a picture. Collective."""
        report = Report.of(self.grid.machine, self.grid.blocks, self._exchange)
        return replace(report, arenas=tuple(Arena(**each) for each in self._exchange.arenas()))

    def write_trace(self, folder: str | Path) -> None:
        """Writes rank<r>.json into a folder, for `slipstream trace` and Chrome's viewers. Needs trace=True."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._exchange.write_trace(str(folder))

    @property
    def needs_host(self) -> bool:
        """True where some route blocks the host in end()."""
        return self._exchange.needs_host

    @property
    def capturable(self) -> bool:
        """True where begin, end and run may be recorded into a graph of the caller's stream and replayed."""
        return self._exchange.capturable

    @property
    def limited_in_graphs(self) -> bool:
        """True if waits in a recorded graph end after wait_limit, too; check() then reports them. Waits of libraries
        have no limit in a graph."""
        return self._exchange.limited_in_graphs

    @property
    def sequence(self) -> int:
        """Number of exchanges begun so far."""
        return self._exchange.sequence
