"""Implementation of each command of the command line. A module is imported when a command needs it."""

import argparse
import json
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from rich.console import Console

from slipstream import __version__
from slipstream.base import core, terminal
from slipstream.base.errors import CaseError
from slipstream.case.case import Case
from slipstream.case.reader import check_variants, load, machine_given, machine_of, schema, with_lapses
from slipstream.case.solver import solver_of
from slipstream.machine import network
from slipstream.machine.discovery import MachineTable


def _overrides(arguments: argparse.Namespace) -> list[str]:
    """Overrides of keys, from arguments such as a.b=c and from options such as --output."""
    found = list(arguments.overrides)
    if bind := getattr(arguments, "bind", None):
        found.append(f"machine.bind={'true' if bind == 'on' else 'false'}")
    if routes := getattr(arguments, "routes", None):
        found.append("exchange.routes=" + json.dumps([name.strip() for name in routes.split(",") if name.strip()]))
    if getattr(arguments, "retune", False):
        found.append("exchange.retune=true")
    return found


def _load(arguments: argparse.Namespace) -> Case:
    overrides = _overrides(arguments)
    case = load(arguments.case, overrides, arguments.variant)
    return with_lapses(case, arguments.case, overrides, arguments.variant)


def run(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.run import run
    from slipstream.run.watch import Watch

    watch = Watch(tuple(arguments.report), arguments.trace)
    with core.on_all_ranks():
        case = _load(arguments)
    run.run(case, console, arguments.overwrite, watch, arguments.restart)


def bind_before_mpi(arguments: argparse.Namespace) -> None:
    """Registers the choice of a network card for a run or a benchmark, which takes effect only before MPI starts."""
    wanted: MachineTable | None = None
    if arguments.command == "run":
        wanted = machine_given(arguments.case, _overrides(arguments), arguments.variant)
    elif arguments.command == "bench":
        devices = getattr(arguments, "devices", 0)
        wanted = MachineTable(
            backend=getattr(arguments, "backend", "auto"), devices_per_rank=devices if isinstance(devices, int) else 0
        )
    if wanted:
        core.before_mpi(partial(network.bind, wanted))


def check_before_start(arguments: argparse.Namespace) -> None:
    """Checks the arguments of a command as far as one process can do it before ranks start."""
    bind_before_mpi(arguments)
    if arguments.command == "compare":
        from slipstream.run import compare

        compare.cases(arguments, _overrides(arguments))
    if arguments.command not in ("run", "plan"):
        return
    from slipstream.case.blocks import check_blocks

    case = _load(arguments)
    ranks = arguments.ranks or core.launched_size() or 1
    if not getattr(arguments, "machine", None):
        check_blocks(case, ranks * max(1, case.machine.devices_per_rank))
    if arguments.command == "run":
        from slipstream.exchange import report
        from slipstream.run import folder

        solver_of(case).check_before_start(case)
        for path in arguments.report:
            report.check_name(path)
        if arguments.ranks or core.launched_size() is None:
            folder.check_output(case, arguments.overwrite or arguments.restart is not None)


def _list_keys(wanted: str, console: Console) -> None:
    """Prints the names of all tables of case files, or the keys of the wanted table."""
    from slipstream.case import key_list

    found = key_list.listed(wanted)
    if not wanted:
        rows = [(path, whose or "all", key_list.first_sentence(known.__doc__)) for path, whose, known in found]
        console.print(terminal.table("tables of case files", ["table", "cases", "what it is"], rows, left=3))
        console.print("\nslipstream check --keys TABLE lists the keys of one")
        return
    columns = ["key", "takes", "unit", "default", "what it is"]
    for path, whose, known in found:
        title = f"[{path}]" + (f" of cases of {whose}" if whose else "")
        console.print(terminal.table(title, columns, key_list.rows(known), left=5))


def check(arguments: argparse.Namespace, console: Console) -> None:
    if arguments.schema:
        print(json.dumps(schema(), indent=2))
        return
    if arguments.keys is not None:
        _list_keys(arguments.keys, console)
        return
    if arguments.case is None:
        raise CaseError("check: name a case file, or ask for --keys or --schema")
    case = _load(arguments)
    if arguments.resolved:
        print(case.resolved().to_toml(), end="")
        return
    from slipstream.run import report

    solver = solver_of(case)
    solver.check_before_start(case)
    solver.check_at_length(case)
    rows = report.problem(case) + [("warning", text) for text in solver.warnings(case)]
    title = str(arguments.case)
    if arguments.variant:
        title += f", variant {arguments.variant}"
    elif names := check_variants(arguments.case):
        rows.append(("variants", f"good, too: {', '.join(names)}"))
    console.print(terminal.table(f"{title}: a good case", ["", ""], rows, left=2))
    for conversion in solver.conversions(case):
        console.print(conversion)
    console.print(f"takes {_taking(case)}", soft_wrap=True)


def _taking(case: Case) -> str:
    """Text on the time and disk space that a run on one rank needs. A failed prediction is no fault of the case."""
    from slipstream.machine import discovery
    from slipstream.run import prediction

    try:
        return prediction.trial(case, discovery.discover(case.machine))
    except CaseError as error:
        return f"not known: {str(error).splitlines()[0]}"


def plan(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.machine import discovery, machine_file, predict, topology
    from slipstream.run import engine, prediction, report

    with core.on_all_ranks():
        case = _load(arguments)
        solver_of(case).check_at_length(case)
    description = machine_file.load(arguments.machine) if arguments.machine else None
    machine = discovery.describe(description) if description else discovery.discover(case.machine)
    setup = engine.prepare(case, machine, check_memory=False)
    if description and description.host.memory_gb and "host_bytes" in setup.plan:
        setup.plan["host_memory"] = setup.options["host_memory"] = int(description.host.memory_gb * 1e9)
    for part in (*topology.devices(machine), report.blocks(setup.plan), report.placement(setup.plan)):
        console.print(part)
    if setup.plan["messages"]:
        console.print(report.messages(setup.plan["messages"], "messages of one step"))
    console.print(report.memory(setup.plan, machine))
    if description:
        predicted = predict.predict(machine, setup.plan, case.exchange.overlap, case.exchange.throttle)
        console.print(report.prediction(setup, predicted))
    largest = solver_of(case).largest_grid(machine, setup.options)
    console.print(f"largest grid that fits: {terminal.show_extent(largest)}")
    if problem := engine.memory_problem(setup):
        raise CaseError(problem)
    if not description:
        console.print(f"takes {prediction.trial(case, machine)}", soft_wrap=True)


def compare(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.run import compare

    compare.command(arguments, _overrides(arguments), console)


def topo(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.machine import discovery, machine_file, topology

    if arguments.machine:
        machine = discovery.describe(machine_file.load(arguments.machine))
    else:
        machine = discovery.discover(machine_of(_overrides(arguments)))
    for part in topology.tables(machine, arguments.all):
        console.print(part)


def info(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.machine import discovery

    module = core.core()
    if arguments.topic == "routes":
        backend = discovery.choose_backend("auto")
        routes = module.routes(backend)
        rows = [(route["name"], _available(route)) for route in routes]
        console.print(terminal.table(f"available here, backend {backend}", ["route", "available"], rows, left=2))
        for kind in ("capability", "execution"):
            # Explanations (`how`) are left out, because a terminal has no room for them and the documentation has them.
            keys = list(dict.fromkeys(key for route in routes for key in route[kind] if key != "how"))
            rows = [(route["name"], *(route[kind].get(key, "-") for key in keys)) for route in routes]
            console.print(terminal.table(kind, ["route", *keys], rows, left=len(keys) + 1))
        return
    if arguments.topic == "collectives":
        methods = core.part("collective").collectives()
        keys = list(methods[0]["facts"])
        rows = [(key, *(method["facts"][key] for method in methods)) for key in keys]
        title = "all-reduce of a few values"
        console.print(terminal.table(title, ["", *(method["name"] for method in methods)], rows, left=3))
        return
    build = module.build_info()
    rows = [(key, {True: "yes", False: "no"}.get(value, value)) for key, value in build.items()]
    for name in ("host", "cuda"):
        if module.available(name):
            rows.append((f"{name} backend", f"{module.device_count(name)} devices"))
    console.print(terminal.table(f"slipstream {__version__}", ["", ""], rows, left=2))


def _available(route: Mapping[str, Any]) -> str:
    if route["missing"]:
        return f"no: {route['missing']}"
    if route["device_memory"]:
        return "if MPI is right to say so: every exchange that would use it proves it first"
    return "yes, between devices as below"


def plot(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import plot

    plot.command(arguments, console)


def render(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import render

    render.command(arguments, console)


def report(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import html_report

    path = html_report.write(arguments.results, arguments.output)
    console.print(f"written: {os.path.relpath(path)}", soft_wrap=True)


def doctor(arguments: argparse.Namespace, console: Console) -> int:
    from slipstream.machine import doctor

    return doctor.doctor(console, arguments.json)


def trace(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import timeline

    timeline.trace(arguments.files, arguments.output, arguments.title, arguments.middle, arguments.count)
    console.print(f"written: {arguments.output}")
