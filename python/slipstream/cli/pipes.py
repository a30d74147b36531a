"""Standard output that ignores write errors: a closed pipe or a full disk does not end a run."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class _Patient:
    """Wraps a text stream: after the first write error it discards all output."""

    def __init__(self, stream: TextIO, tell: bool) -> None:
        self._stream, self._tell = stream, tell

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        # Python flushes the stream once more at exit, which would fail again, so the stream is replaced.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if self._tell:
            # Standard error may be closed, too, so its errors are suppressed.
            with contextlib.suppress(OSError):
                said = f"warning: the output cannot be written any more ({error.strerror}); it goes on without"
                print(f"slipstream: {said}", file=sys.stderr, flush=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def patient_output(tell: bool) -> Iterator[None]:
    """Ignores write errors of standard output and error. `tell`: reports the first one of the output."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _patient(before[0], tell), _patient(before[1], False)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _patient(stream: TextIO, tell: bool) -> Any:
    try:
        stream.fileno()
    except (OSError, ValueError, AttributeError):
        return stream  # the stream has no file descriptor in a test or a notebook
    return _Patient(stream, tell)
