"""The output of a launcher, read in a thread of its own and handed on as it comes."""

import codecs
import os
import sys
import threading
from typing import IO


class Pipe:
    """Reads the output of a launcher in a thread, until the launcher closes it."""

    def __init__(self, stream: IO[bytes] | None, encoding: str | None) -> None:
        assert stream is not None
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding or "utf-8")("backslashreplace")
        self._handing_on = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Waits until all output of the launcher was read. Does not wait for processes that outlive the launcher."""
        self._thread.join(5.0)
        while self._thread.is_alive() and self._handing_on:
            self._thread.join(0.1)

    def take(self, text: str) -> None:
        """Handles a piece of the launcher's output, which may end within a line."""
        raise NotImplementedError

    def end(self) -> None:
        """Hook that is called after the last piece of the launcher's output."""

    def _read(self) -> None:
        while part := os.read(self._stream.fileno(), 65536):
            self._handing_on = True
            self.take(self._decoder.decode(part))
            self._handing_on = False
        self.take(self._decoder.decode(b"", final=True))
        self.end()


class Output(Pipe):
    """The standard output of a launcher. It must not end with the reader of this program's output: Open MPI ends its
    ranks when it writes to a closed pipe."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(stream, sys.stdout.encoding)

    def take(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
