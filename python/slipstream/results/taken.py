"""Compares time and disk space of a run with the prediction from its first steps."""

from collections.abc import Mapping
from typing import Any

from slipstream.base.terminal import about, size


def compared(took: Mapping[str, Any], predicted: Mapping[str, Any]) -> list[tuple[str, str | None, str]]:
    """Rows of a table that compares predicted and measured costs of a run: quantity, prediction, measurement."""
    if took["step"] is None:
        return []
    before, most = predicted, "at most " if predicted and predicted["at_most"] else ""
    return [
        ("ms a step", f"{1e3 * before['step']:.3g}" if before else None, f"{1e3 * took['step']:.3g}"),
        ("steps", f"{most}{before['steps']}" if before else None, str(took["steps"])),
        (
            "time",
            f"{most}{about(before['seconds'])}" if before else None,
            about(took["seconds"]).removeprefix("about "),
        ),
        ("on disk", size(before["bytes"]) if before else None, size(took["bytes"])),
    ]


def comparison(took: Mapping[str, Any], predicted: Mapping[str, Any]) -> str:
    """One line of text that compares predicted and measured costs of a run, for the terminal."""
    rows = compared(took, predicted)
    parts = [f"{what} {came}" + (f" (predicted {said})" if said else "") for what, said, came in rows]
    return f"took: {', '.join(parts)}" if parts else ""
