"""Failures to write results. A full disk or a picture that cannot be drawn loses that file, but the run continues."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from slipstream.results.record import Event


class Troubles:
    """Reports the first failure to write each file, and counts the others."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._failures: dict[Path, int] = {}
        self._undrawn: set[str] = set()
        #: Events for the run's log about files that could not be written.
        self.events: list[Event] = []

    @contextmanager
    def with_data(self, path: Path, what: str, step: int) -> Iterator[None]:
        """Context for writing to a data file; a warning names the part that was not written by `what`. A failure makes
        the results incomplete. Collective writes must fail on all ranks alike, as those of the compiled module do."""
        try:
            yield
        except TimeoutError:
            raise  # the communication with another rank has failed, so the run must end
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and type(error) is not RuntimeError:
                raise
            self._failures[path] = self._failures.get(path, 0) + 1
            if self._failures[path] == 1:
                self.say(step, f"{os.path.relpath(path)}: {what} was not written: {_text(error)}; the run goes on")

    @contextmanager
    def with_picture(self, what: str, step: int) -> Iterator[None]:
        """Context for writing a file that can be made again from the results. `what`: the file's name, or a phrase for
        the warning. Not collective."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - errors of a library must not end the run
            self._undrawn.add(Path(what).name)
            self.say(step, f"no {what}: {_text(error)}")

    def concern(self, path: Path) -> bool:
        """Whether the file at a path was not written, or is incomplete."""
        return path in self._failures or path.name in self._undrawn

    @property
    def incomplete(self) -> str:
        """Names of the incomplete data files; empty if there are none."""
        return ", ".join(f"{os.path.relpath(path)} ({count} x)" for path, count in self._failures.items())

    def say(self, step: int, said: str) -> None:
        """Prints a warning, and adds it to the log of the run."""
        self.events.append(Event(step, said))
        self._console.print(f"warning: {said}", soft_wrap=True, markup=False)


def _text(error: BaseException) -> str:
    """The operating system's text of an error, without the path, which the message already contains."""
    strerror = getattr(error, "strerror", None)
    return strerror or str(error) or type(error).__name__
