"""Partition of a case's cells into blocks, and its checks."""

import itertools
import math

from slipstream.base.errors import CaseError, ErrorCode
from slipstream.case.case import Case


def share_blocks(case: Case, devices: int) -> Case:
    """Replaces exchange.block, the size of a block, by device_grid and blocks_per_device. Raises CaseError if the
    blocks do not fill the box, or if devices would differ in their number of blocks."""
    block, cells = case.exchange.block, case.grid.cells
    if not any(block):
        return case
    if any(b == 0 or n % b for b, n in zip(block, cells, strict=True)):
        raise CaseError(
            f"exchange.block: blocks of {_times(block)} cells do not fill {_times(cells)}",
            ErrorCode.MISMATCH,
            key="exchange.block",
            given=_times(block),
            needed=_times(cells),
        )
    counts = [n // b for b, n in zip(block, cells, strict=True)]
    grids = [g for g in itertools.product(*map(_divisors, counts)) if math.prod(g) == devices]
    if not grids:
        raise CaseError(
            f"exchange.block: {_times(counts)} blocks of {_times(block)} cells cannot be dealt out to {devices} "
            "devices in equal boxes; take another block, or another number of devices (machine.devices_per_rank, -n)",
            ErrorCode.UNSUPPORTED,
            key="exchange.block",
            given=_times(block),
            blocks=_times(counts),
            devices=devices,
        )

    def cut(grid: tuple[int, ...]) -> int:
        """Area of all faces between devices, in cells, for a partition into `grid` devices."""
        return sum((g - 1) * math.prod(cells) // n for g, n in zip(grid, cells, strict=True))

    best = min(grids, key=cut)
    nodes = case.exchange.node_grid if any(case.exchange.node_grid) else (1, 1, 1)
    shared = {"blocks_per_device": tuple(n // g for n, g in zip(counts, best, strict=True))}
    if math.prod(nodes) == 1:
        shared["device_grid"] = best
    return case.model_copy(update={"exchange": case.exchange.model_copy(update=shared)})


def check_blocks(case: Case, devices: int) -> None:
    """Raises CaseError if there are more blocks than cells, in all or along an axis."""
    blocks = devices * math.prod(case.exchange.blocks_per_device)
    if blocks > case.cell_count:
        raise CaseError(
            f"{devices} devices with {math.prod(case.exchange.blocks_per_device)} blocks each make {blocks} blocks; "
            f"the grid {_times(case.grid.cells)} has only {case.cell_count} cells; take fewer devices (-n, "
            "machine.devices_per_rank), fewer exchange.blocks_per_device, or more cells",
            ErrorCode.UNSUPPORTED,
            key="grid.cells",
            given=_times(case.grid.cells),
            needed=blocks,
            available=case.cell_count,
        )

    exchange = case.exchange
    for axis, cells in enumerate(case.grid.cells):
        grids = (exchange.node_grid[axis], exchange.device_grid[axis], exchange.blocks_per_device[axis])
        along = math.prod(max(1, n) for n in grids)
        if along > cells:
            raise CaseError(
                f"exchange: node_grid, device_grid, blocks_per_device cut the {'xyz'[axis]} axis into {along} blocks, "
                f"but it has only {cells} cells; cut it less, or take more cells",
                ErrorCode.UNSUPPORTED,
                key="exchange",
                axis="xyz"[axis],
                needed=along,
                available=cells,
            )


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _times(extent: tuple[int, ...] | list[int]) -> str:
    return " x ".join(str(n) for n in extent)
