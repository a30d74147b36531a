"""Minimum seconds per step of f32 rk2 out of core on nodes of Summit, next to those of Ravikumar et al. (2018).

Usage: python tools/dns_scaling.py [--machine machines/summit.toml]
Prints a table. A stage moves 11 fields of kept modes in each direction between host and devices, and 8 between devices.
Other nodes get their part of these 8. Each kind takes at least its bytes over the rate in the machine file; both kinds
run concurrently. Host memory holds 3 fields of all modes, 3 of cells and 8 of kept modes.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STAGES, FIELDS_EACH_WAY, FIELDS_THAT_MOVE = 2, 11, 8
REAL, COMPLEX = 4, 8
#: Nodes, cells along each axis, seconds per step with zero-copy and with pitched copies; the talk's largest case was a
#: target.
TALK: tuple[tuple[int, int, float | None, float | None], ...] = (
    (2, 1536, 8.67, 5.07),
    (16, 3072, 12.32, 7.63),
    (128, 6144, 14.34, 8.39),
    (1024, 12288, 22.15, 12.96),
    (3072, 18432, None, None),
)


def kept(n: int) -> float:
    """Bytes of a field of the modes that are kept along x and y."""
    highest = (n - 1) // 3
    return COMPLEX * (highest + 1) * (2 * highest + 1) * n


def least(n: int, nodes: int, machine: dict[str, Any]) -> dict[str, float]:
    """Seconds per step by each link, and bytes per node."""
    field = kept(n) / nodes
    devices = machine["ranks"]
    network = machine["links"]["network"]["per_node_gb_per_s"] * 1e9
    to_devices = machine["host"]["gb_per_s"] * 1e9 * devices  # bytes per second in each direction
    cells, modes = n**3 / nodes, (n // 2 + 1) * n**2 / nodes
    return {
        "host_s": STAGES * FIELDS_EACH_WAY * field / to_devices,
        "network_s": STAGES * FIELDS_THAT_MOVE * field * (1 - 1 / nodes) / network,
        "host_gb": (3 * COMPLEX * modes + 3 * REAL * cells + FIELDS_THAT_MOVE * field) / 1e9,
    }


def table(machine: dict[str, Any]) -> Iterator[str]:
    yield "| nodes | cells | GB of host memory | s by host links | s by the network | talk: zero-copy | pitched |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for nodes, n, zero_copy, pitched in TALK:
        found = least(n, nodes, machine)
        talk = " | ".join("-" if seconds is None else f"{seconds:.2f}" for seconds in (zero_copy, pitched))
        yield (
            f"| {nodes} | {n}^3 | {found['host_gb']:.0f} of {machine['host']['memory_gb']} | {found['host_s']:.2f} | "
            f"{found['network_s']:.2f} | {talk} |"
        )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--machine", type=Path, default=root / "machines" / "summit.toml")
    machine = tomllib.loads(parser.parse_args(words).machine.read_text(encoding="utf-8"))
    print("\n".join(table(machine)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
