"""Measures how many steps one exchange should serve; the result is cached on disk."""

from typing import TYPE_CHECKING, Any

from slipstream.base.core import as_case_error, part

if TYPE_CHECKING:
    from slipstream._core import Machine


def fastest(machine: "Machine", options: dict[str, Any]) -> tuple[int, list[str]]:
    """The fastest number of steps per exchange, and lines of text on the measurement. Collective."""
    with as_case_error():
        found = part("stencil").tune_steps(machine, options)
    tried = ", ".join(f"{number}: {seconds * 1e6:.3g} us" for number, seconds in found["tried"])
    how = "measured" if found["source"] == "measured" else f"from {found['file']}"
    return found["steps"], [f"steps an exchange: {found['steps']}, {how} ({tried} a step)", *found["notes"]]
