"""Progress line of a run: redrawn on a terminal, printed at intervals to a pipe."""

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from slipstream.base.terminal import duration


@dataclass(frozen=True)
class Progress:
    """Progress of a run, as the line on the terminal shows it during the run."""

    step: int
    last_step: int
    time: str  #: time of the simulation as text, with its unit
    residual: float | None
    rate: float  #: rate in millions of cells per second
    unit: str  #: unit of the printed rate of updates, such as "Mcell/s"
    gb_per_s: float
    seconds: float  #: seconds of wall-clock time since the first step
    seconds_left: float  #: estimated seconds of wall-clock time until the last step

    def line(self, width: int | None = None) -> str:
        """The progress as text of `width` columns. The least important parts are dropped first; the remaining time
        stays."""
        residual = "-" if self.residual is None else f"{self.residual:.2e}"
        parts = {
            "step": f"step {self.step}/{self.last_step}",
            "time": f"time {self.time}",
            "residual": f"residual {residual}",
            "rate": f"{self.rate:.1f} {self.unit}",
            "gb": f"{self.gb_per_s:.1f} GB/s",
            "percent": f"{100.0 * self.step / self.last_step:.0f} %",
            "eta": f"ETA {duration(self.seconds_left)}",
        }
        for spare in ("gb", "time", "rate", "residual", "step", "percent"):
            if width is None or len("  ".join(parts.values())) <= width:
                break
            del parts[spare]
        return "  ".join(parts.values())


class LiveLine:
    """Shows Progress on a console; `with LiveLine(console) as line: line.show(progress)`."""

    #: Seconds between lines that are printed to a pipe.
    PIPE_INTERVAL = 5.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal and not console.quiet else None
        self._printed = 0.0
        self._pending = ""

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def show(self, progress: Progress) -> None:
        """Shows the progress of the run as a line of text. A terminal's line is redrawn. A pipe gets a new line if its
        last one is old enough."""
        if self._live:
            self._live.update(Text(progress.line(self._console.width), no_wrap=True), refresh=True)
            return
        self._pending = progress.line()
        if time.monotonic() - self._printed >= self.PIPE_INTERVAL:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._console.print(self._pending, soft_wrap=True)
            self._console.file.flush()
        self._pending, self._printed = "", time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        else:
            self._flush()
