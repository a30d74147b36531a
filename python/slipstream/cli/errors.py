"""Error messages on the terminal, and in a file for programs."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from slipstream.base.errors import Coded, Fault
from slipstream.base.visible import visible

#: Environment variable with the path of a file to which each error is added as a line of JSON, with code and facts.
FILE = "SLIPSTREAM_ERRORS"


def say(error: BaseException, where: str = "error") -> None:
    """Prints an error to standard error, and adds it to the file that SLIPSTREAM_ERRORS names."""
    print(f"slipstream: {where}: {visible(str(error))}", file=sys.stderr, flush=True)
    if path := os.environ.get(FILE):
        coded = error if isinstance(error, Coded) else Coded(Fault.of(error))
        # If the disk is full, the error itself must still be shown.
        with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
            file.write(coded.packed() + "\n")
