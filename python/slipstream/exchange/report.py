"""Report of the last exchange: route, reason, bytes, time and rate of each message, as a table, JSON or a picture."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group

from slipstream.base import registry, terminal
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.files import write_text
from slipstream.exchange.records import Arena, Block, Delivery, Tuning

if TYPE_CHECKING:
    from slipstream._core import Machine

#: Endings of file names for which the report is drawn by matplotlib.
PICTURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Report:
    """Report of an exchange: the messages of all ranks, by source and target.

    devices: the devices of the machine, with name, node and rank. tuning: None without a tuner.
    """

    rows: tuple[Delivery, ...]
    machine: str
    devices: Sequence[Mapping[str, Any]]
    blocks: tuple[Block, ...]
    tuning: Tuning | None = None
    arenas: tuple[Arena, ...] = ()

    @classmethod
    def of(cls, machine: "Machine", blocks: Iterable[Block], exchange: Any) -> "Report":
        """Collects the report of a compiled exchange or solver. Collective."""
        rows = tuple(Delivery(**each) for each in exchange.report())
        return cls(rows, machine.name, machine.devices(), tuple(blocks), Tuning.of(exchange.tuning()))

    def table(self) -> Group:
        return Group(self._messages(), *self._arenas())

    def _arenas(self) -> list[str]:
        """A line of text on the devices whose shared memory for exchanges (arena) is the largest."""
        if not self.arenas:
            return []
        most = max(self.arenas, key=lambda arena: (arena.bytes, arena.host_bytes))
        return [
            f"memory that exchanges share: at most {_mib(most.bytes)} a device ({_mib(most.used)} in use) and "
            f"{_mib(most.host_bytes)} of the host ({_mib(most.host_used)}), on device {most.device}"
        ]

    def _messages(self) -> Group:
        coded = ["raw_bytes"] if any(row.raw_bytes > row.bytes for row in self.rows) else []
        errors = ["largest_error", "rms_error"] if any(row.largest_error is not None for row in self.rows) else []
        times = ["encode_us", "decode_us"] if any(row.encode_us is not None for row in self.rows) else []
        shown = self.rows[: terminal.ROWS]
        marks, reasons = reasons_once([row.reason for row in shown])
        rows = [
            (
                row.source,
                row.target,
                row.route,
                mark,
                row.bytes,
                _number(row.time_us, ".1f"),
                _number(row.gbs, ".2f"),
                _number(row.percent_of_link, ".0f"),
                *(getattr(row, column) for column in coded),
                *(_number(getattr(row, error), ".2g") for error in errors),
                *(_number(getattr(row, time), ".1f") for time in times),
            )
            for row, mark in zip(shown, marks, strict=True)
        ]
        heads = ["from", "to", "route", "why", "bytes", "us", "GB/s", "% of link"]
        more = len(self.rows) - len(rows)
        title = "last exchange" + (f" (and {more} more messages)" if more else "")
        columns = [*heads, *(column.replace("_", " ") for column in (*coded, *errors, *times))]
        return Group(terminal.table(title, columns, rows, left=4), *reasons)

    def __rich__(self) -> Group:
        return self.table()

    def json(self) -> str:
        """The report as one JSON object: machine, devices, blocks, tuning, arenas and rows."""
        keys = ("name", "node", "rank")
        devices = [{key: device[key] for key in keys if key in device} for device in self.devices]
        content = {
            "machine": self.machine,
            "devices": devices,
            "blocks": [
                {key: value for key, value in asdict(block).items() if key != "device_index"} for block in self.blocks
            ],
            "tuning": asdict(self.tuning) if self.tuning else {},
            "arenas": [asdict(arena) for arena in self.arenas],
            "rows": [asdict(row) for row in self.rows],
        }
        return json.dumps(content, indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Writes the report as JSON or as a picture, by the ending of the name. Not collective: call it on one rank."""
        path = Path(path)
        check_name(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".json":
                write_text(path, self.json())
            else:
                self.picture(path)
        except OSError as error:
            raise CaseError(f"report: {path} cannot be written: {error}", ErrorCode.IO, file=path) from None

    def picture(self, path: Path) -> None:
        """Draws nodes as frames, devices as boxes with their blocks, messages as arrows coloured by route."""
        registry.picture("exchange").draw(self, path)


def reasons_once(reasons: Sequence[str]) -> tuple[list[str], list[str]]:
    """Numbers the reasons of messages: returns a short mark for each message, and lines that give each reason once. A
    single reason of all messages needs no line."""
    if len(set(reasons)) < 2 and not any(";" in reason for reason in reasons):
        return list(reasons), []
    numbers: dict[str, int] = {}
    marks = [
        ", ".join(f"{numbers.setdefault(part, len(numbers) + 1)}" for part in reason.split("; ")) for reason in reasons
    ]
    return marks, [f"why {number}: {part}" for part, number in numbers.items()]


def check_name(path: Path) -> None:
    """Raises CaseError if the ending of a report's file name is unknown."""
    if path.suffix not in (".json", *PICTURES):
        raise CaseError(
            f"report: {path}: name a file that ends in .json, {', '.join(PICTURES)}",
            ErrorCode.UNSUPPORTED,
            key="--report",
            file=path,
            allowed=", ".join((".json", *PICTURES)),
        )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:{form}}"


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def tuning_lines(tuning: Mapping[str, Any]) -> list[str]:
    """Lines of text on the choice of routes by the tuner, for the terminal."""
    lines = []
    if tuning["source"] == "cache":
        lines.append(f"routes: measured before, from {tuning['file']}")
    elif tuning["source"] == "measured":
        kept = f", kept in {tuning['file']}" if tuning["file"] else ""
        lines.append(f"routes: measured in {tuning['seconds']:.2f} s{kept}")
    return lines + [f"routes: {note}" for note in tuning["notes"]]


def _found(name: str, what: str, tuned: Mapping[str, Any]) -> list[str]:
    """Text on how the setting `name` got its value `what`. The first line has the time of measurement or the cache
    file; it is absent if the user's options gave the setting. The tuner's notes follow.
    """
    lines = []
    if tuned["source"] != "options":
        how = f"from {tuned['file']}"
        if tuned["source"] == "measured":
            how = f"measured in {tuned['seconds']:.2f} s" + (f", kept in {tuned['file']}" if tuned["file"] else "")
        lines.append(f"{name}: {what}, {how}")
    return lines + [f"{name}: {note}" for note in tuned["notes"]]


def split_lines(split: Mapping[str, Any]) -> list[str]:
    """Lines of text on the measured choice of the boundary region's width, for the terminal."""
    what = " x ".join(map(str, split["rim"])) + " cells" if split["overlap"] else "none, no overlap"
    if split["overlap"] and split["rim_processors"]:
        what += f" on {split['rim_processors']} multiprocessors"
    return _found("rim", what, split)


def team_lines(teams: Mapping[str, Any]) -> list[str]:
    """Lines of text on the measured choice of the tile of cells in the moment representation, for the terminal."""
    tile = " x ".join(map(str, teams["tile"])) + f" cells, {teams['chunk']} planes"
    return _found("tile", tile if teams["chunk"] else "as usual", teams)


def solid_lines(blocks: Mapping[str, Any]) -> list[str]:
    """Lines of text on the measured choice of storage for blocks with solid cells, for the terminal; empty if rules
    decided."""
    lines = []
    if blocks["source"] != "rules":
        what = ", ".join(f"{way} in {terminal.count(n, 'block')}" for way, n in blocks["blocks"].items() if n)
        how = f"measured in {blocks['seconds']:.2f} s" if blocks["source"] == "measured" else "measured before"
        lines.append(f"solids: {what}, {how}")
    return lines + [f"solids: {note}" for note in blocks["notes"]]
