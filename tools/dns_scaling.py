"""Minimum seconds per step of f32 rk2 out of core on nodes of Summit, next to those of Ravikumar et al. (2018).

Usage: python tools/dns_scaling.py [--machine machines/summit.toml]
Prints a table. Memory, batches and the fields that go between host and devices are those of the plan. Each kind of
transfer takes at least its bytes over the rate of the machine file; the two go on side by side.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from slipstream.base.core import part  # noqa: E402
from slipstream.case.reader import load  # noqa: E402
from slipstream.machine import discovery, machine_file  # noqa: E402

STAGES, FIELDS_THAT_MOVE = 2, 8
COMPLEX = 8
#: Memory of a 16 GB device that remains beside CUDA contexts and kernels.
BUDGET = "14 GiB"
#: Rows of the talk of Ravikumar, Appelhans & Yeung 2018: nodes, cells along each axis, seconds per step with zero-copy
#: and with pitched copies. The largest problem was a target.
TALK: tuple[tuple[int, int, float | None, float | None], ...] = (
    (2, 1536, 8.67, 5.07),
    (16, 3072, 12.32, 7.63),
    (128, 6144, 14.34, 8.39),
    (1024, 12288, 22.15, 12.96),
    (3072, 18432, None, None),
)


def kept(n: int) -> float:
    """Bytes of a field of the modes that dealiasing keeps along x and y."""
    highest = (n - 1) // 3
    return COMPLEX * (highest + 1) * (2 * highest + 1) * n


def planned(n: int, nodes: int, described: machine_file.MachineFile, budget: str = BUDGET) -> dict[str, Any]:
    """The plan of a flow on n^3 cells on this many nodes."""
    words = [f"grid.cells=[{n},{n},{n}]", "dns.precision=f32", "dns.scheme=rk2", f'dns.device_memory="{budget}"']
    case = load(ROOT / "cases" / "dns_taylor_green.toml", [*words, "expected={}"])
    machine = discovery.describe(described.model_copy(update={"nodes": nodes}))
    found: dict[str, Any] = part("dns").Dns.plan(machine, case.options())
    return found


def least(n: int, nodes: int, described: machine_file.MachineFile, plan: dict[str, Any]) -> dict[str, float]:
    """Least seconds of a step by each kind of link, from the bytes that it carries and its rate."""
    field = kept(n) / nodes
    assert described.host.gb_per_s and described.links.network
    per_node = described.links.network.per_node_gb_per_s or described.links.network.gb_per_s
    to_devices = described.host.gb_per_s * 1e9 * described.devices_per_node  # bytes/s of a node's host links
    return {
        "host_s": STAGES * plan["batches"]["fields"] * field / to_devices,
        "network_s": STAGES * FIELDS_THAT_MOVE * field * (1 - 1 / nodes) / (per_node * 1e9),
    }


def table(described: machine_file.MachineFile) -> Iterator[str]:
    yield (
        "| nodes | cells | GB of a device | of the host | modes along x at once | sweeps | s by host links | "
        "s by the network | talk: zero-copy | pitched |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for nodes, n, zero_copy, pitched in TALK:
        plan = planned(n, nodes, described)
        found = least(n, nodes, described, plan)
        of_device = sum(array["bytes"] for array in plan["arrays"] if array["device"] == 0)
        talk = " | ".join("-" if seconds is None else f"{seconds:.2f}" for seconds in (zero_copy, pitched))
        yield (
            f"| {nodes} | {n}^3 | {of_device / 1e9:.1f} of {described.device.memory_gb:g} | "
            f"{plan['host_bytes'] / 1e9:.0f} of {described.host.memory_gb:g} | {plan['batches']['modes']} | "
            f"{plan['batches']['sweeps']} | {found['host_s']:.2f} | {found['network_s']:.2f} | {talk} |"
        )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--machine", type=Path, default=ROOT / "machines" / "summit.toml")
    print("\n".join(table(machine_file.load(parser.parse_args(words).machine))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
