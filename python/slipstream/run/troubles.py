"""What a run could not write: a full disk, or a picture that cannot be drawn, costs that file and nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from slipstream.results.record import Event


class Troubles:
    """Says the first failure of each file; keeps count of the rest."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._failures: dict[Path, int] = {}
        self._undrawn: set[str] = set()
        #: For the log of the run.
        self.events: list[Event] = []

    @contextmanager
    def with_data(self, path: Path, what: str, step: int) -> Iterator[None]:
        """Inside, `what` of a file of numbers is written: such failures make the results incomplete.

        What ranks do together must fail on all of them alike, as the compiled module's files do.
        """
        try:
            yield
        except TimeoutError:
            raise  # another rank is gone
        except (OSError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and type(error) is not RuntimeError:
                raise
            self._failures[path] = self._failures.get(path, 0) + 1
            if self._failures[path] == 1:
                self.say(step, f"{os.path.relpath(path)}: {what} was not written: {_text(error)}; the run goes on")

    @contextmanager
    def with_picture(self, what: str, step: int) -> Iterator[None]:
        """Inside, something is made that can be made again of the results: `what` is the file's name, or says what
        becomes of it. Of one rank."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a library's mistake is not worth a run
            self._undrawn.add(Path(what).name)
            self.say(step, f"no {what}: {_text(error)}")

    def concern(self, path: Path) -> bool:
        """Whether a file was not written, or lacks something."""
        return path in self._failures or path.name in self._undrawn

    @property
    def incomplete(self) -> str:
        """The files that lack something; empty where none does."""
        return ", ".join(f"{os.path.relpath(path)} ({count} x)" for path, count in self._failures.items())

    def say(self, step: int, said: str) -> None:
        """A warning, on the terminal and for the log."""
        self.events.append(Event(step, said))
        self._console.print(f"warning: {said}", soft_wrap=True, markup=False)


def _text(error: BaseException) -> str:
    """An error of the system in its words: where it happened is said already."""
    strerror = getattr(error, "strerror", None)
    return strerror or str(error) or type(error).__name__
