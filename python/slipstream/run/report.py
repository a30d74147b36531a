"""Texts and tables that describe a plan and a run. Functions take numbers and return text or rich tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group

from slipstream.base.terminal import ROWS, count, megabytes, show_counts, table
from slipstream.case.case import Case
from slipstream.case.old_keys import told
from slipstream.case.solver import solver_of
from slipstream.exchange.report import reasons_once
from slipstream.machine import network, predict
from slipstream.machine.discovery import crowding
from slipstream.machine.told import Phase, Plan, PlannedMessage
from slipstream.machine.topology import link_summary
from slipstream.results import taken
from slipstream.run.engine import Setup, needed_per_device

if TYPE_CHECKING:
    from slipstream._core import Machine


def problem(case: Case) -> list[tuple[str, str]]:
    """Rows of the banner that a run prints at its start: those that describe its case and say when it ends."""
    lapsed = ", ".join(case.lapsed_by)
    return [
        ("case", case.case.name + (f": {case.case.description}" if case.case.description else "")),
        ("grid", case.size),
        *((name, text) for name, text in solver_of(case).facts(case) if text),
        ("ends", _ending(case)),
        *([("keys", told(case.old_keys))] if case.old_keys else []),
        *([("expected", f"not compared, because of changed keys: {lapsed}")] if lapsed else []),
    ]


def _ending(case: Case) -> str:
    last = f"step {case.last_step}"
    if case.marches:
        last += f" (time {case.show_time(case.last_step)})"
    return f"residual below {case.run.residual:g}, or {last}" if case.run.residual else last


def facts(setup: Setup, build: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows of the banner: problem, method, machine, plan and memory."""
    machine, plan, solver = setup.machine, setup.plan, solver_of(setup.case)
    found = machine.devices()
    names = sorted({entry["name"] for entry in found})
    needed = needed_per_device(plan, len(found))
    counts: dict[str, int] = {}
    for message in plan["messages"]:
        counts[message["route"]] = counts.get(message["route"], 0) + _pairs(message)
    routes = ", ".join(f"{route} x {count}" for route, count in sorted(counts.items())) or _no_messages(plan)
    split = _split(plan)
    return [
        ("slipstream", f"{build['version']}, commit {build['commit']}, {build['mpi']}"),
        *problem(setup.case),
        (
            "devices",
            f"{len(found)} x {', '.join(names)} on {count(machine.ranks, 'rank')}, {count(machine.nodes, 'node')}",
        ),
        ("links", link_summary(machine)),
        *network.row(machine),
        ("blocks", f"{len(plan['blocks'])}: nodes x devices x blocks = {split}"),
        ("routes", routes),
        ("memory", f"{megabytes(max(needed))} MB a device, of {megabytes(min(d['memory'] for d in found))}"),
        ("layout", f"{plan['layout']}, rows along {'z' if plan['layout'] == 'soa_z' else 'x'}"),
        ("bytes a cell", f"{plan['bytes_per_cell']} read and written a step"),
        *(("warning", text) for text in (*solver.warnings(setup.case), *crowding(machine))),
    ]


def _pairs(message: PlannedMessage) -> int:
    """Number of pairs of devices that a planned message stands for."""
    return message.get("sources", 1) * message.get("targets", 1)


def _no_messages(plan: Plan) -> str:
    """Text on why a plan lists no messages: solvers on elements plan these at construction."""
    return "none (one block)" if len(plan["blocks"]) == 1 else "known when the run begins"


def _split(plan: Plan) -> str:
    counts = plan["partition"]
    return " x ".join(map(show_counts, (counts["nodes"], counts["devices"], counts["blocks"])))


def blocks(plan: Plan) -> Group:
    rows = [
        (b["id"], b["device"], b["rank"], *(f"{lo}..{hi}" for lo, hi in zip(b["lo"], b["hi"], strict=True)))
        for b in plan["blocks"][:ROWS]
    ]
    more = len(plan["blocks"]) - len(rows)
    split = _split(plan)
    title = f"blocks: nodes x devices x blocks = {split}" + (f" (and {more} more)" if more else "")
    return table(title, ["block", "device", "rank", "x", "y", "z"], rows)


def placement(plan: Plan) -> str:
    cost, trivial = plan["placement_cost"], plan["trivial_cost"]
    gain = f", {100 * (1 - cost / trivial):.1f} % below the trivial order" if trivial else ""
    return f"placement: cost {cost:.4g}{gain}"


def memory(plan: Plan, machine: "Machine") -> Group:
    found = machine.devices()
    names = list(dict.fromkeys(array["array"] for array in plan["arrays"]))
    amounts = {(array["device"], array["array"]): 0 for array in plan["arrays"]}
    for array in plan["arrays"]:
        amounts[array["device"], array["array"]] += array["bytes"]
    needed = needed_per_device(plan, len(found))
    rows = [
        (d, *(megabytes(amounts.get((d, name), 0)) for name in names), megabytes(needed[d]), megabytes(entry["memory"]))
        for d, entry in list(enumerate(found))[:ROWS]
    ]
    title = "memory of each device, MB"
    if plan.get("host_bytes"):
        there = f" of {megabytes(plan['host_memory'])}" if plan["host_memory"] else ""
        title += f"; of the host of a node {megabytes(plan['host_bytes'])}{there}"
    if batches := plan.get("batches"):
        title += (
            f"\n{batches['planes_y']} batches of planes y and {batches['planes_z']} of planes z, {batches['modes']} "
            f"modes along x at once, {batches['sweeps']} sweeps a stage, buffers of {megabytes(batches['buffer'])} MB"
        )
    return table(title, ["device", *names, "all", "there is"], rows)


def messages(entries: Sequence[PlannedMessage], title: str) -> Group:
    """Table of planned messages with their routes, and below it each reason for a route once. A row stands for all
    pairs of devices with equal messages, and gives their number."""
    shown = entries[:ROWS]
    pairs = [_pairs(entry) for entry in shown]
    alike = any(number > 1 for number in pairs)
    columns = ["from", "to", "route", "why", "bytes"] + ["pairs"] * alike
    marks, reasons = reasons_once([entry["reason"] for entry in shown])
    rows = [
        [entry["source"], entry["target"], entry["route"], mark, entry["bytes"], *([number] * alike)]
        for entry, mark, number in zip(shown, marks, pairs, strict=True)
    ]
    more = len(entries) - len(rows)
    return Group(table(title + (f" (and {more} more)" if more else ""), columns, rows, left=4), *reasons)


def phases(entries: Sequence[Phase]) -> Group:
    return table("phases", ["phase", "calls", "s", "ms a call", "%"], taken.phases(entries, 2))


def prediction(setup: Setup, predicted: predict.Prediction) -> Group:
    """Table of the predicted time of a step, on the machine of a machine file."""
    rows = [
        ("cells (bytes over the memory's rate)", f"{predicted.compute * 1e3:.4g}"),
        ("halos (bytes over the links' rates)", f"{predicted.exchange * 1e3:.4g}"),
        (f"step ({'the longer' if predicted.overlap else 'the sum'})", f"{predicted.step * 1e3:.4g}"),
    ]
    rate = predicted.rate(setup.case.cell_count) if predicted.step else 0.0
    return table(f"predicted step: {rate:.0f} {solver_of(setup.case).unit_of_rate}", ["part", "ms"], rows)


def expected(entries: Sequence[dict[str, Any]]) -> Group:
    """Table of the results of a run for which the case gives ranges, with these ranges."""
    rows = [
        (
            entry["quantity"],
            f"{entry['low']:g} to {entry['high']:g}",
            "not found" if entry["value"] is None else f"{entry['value']:.6g}",
            "yes" if entry["met"] else "NO",
        )
        for entry in entries
    ]
    return table("expected of this case", ["quantity", "range", "found", "met"], rows)
