"""The command line: run, check, plan, plot, render, report, topo, info, doctor, bench, trace."""

import argparse
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from rich.console import Console

from slipstream import __version__
from slipstream.base import core, failure
from slipstream.base.errors import CaseError, RunError
from slipstream.base.faults import nearest
from slipstream.bench import registry
from slipstream.case.case import Case
from slipstream.case.reader import check_variants, load, schema
from slipstream.cli.pipes import patient_output
from slipstream.machine import start
from slipstream.pictures import picture_options

USER_ERROR = 2
#: Returns the exit code; None is 0.
Action = Callable[[argparse.Namespace, Console], int | None]


class _Parser(argparse.ArgumentParser):
    """Names the nearest word where there is none of that name."""

    def error(self, message: str) -> NoReturn:
        if found := re.match(r"(.*invalid choice: '?(.*?)'?) \(choose from (.*)\)$", message):
            hint = nearest(found[2], [word.strip(" '") for word in found[3].split(",")])
            message = f"{message}; {hint}" if hint else message
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="slipstream", description="Flow solvers whose data stays on the GPUs.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help_text: str, action: Action) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help_text, description=help_text)
        command.set_defaults(action=action, of=command)
        return command

    def takes_case(command: argparse.ArgumentParser, optional: bool = False) -> None:
        command.add_argument("case", nargs="?" if optional else None, help="case file (TOML)")
        command.add_argument("overrides", nargs="*", metavar="a.b=c", help="keys of the case file to change")
        command.add_argument("--variant", metavar="NAME", help="with the keys of [variants.NAME] of the case file")

    def takes_ranks(command: argparse.ArgumentParser) -> None:
        command.add_argument("-n", dest="ranks", type=int, metavar="RANKS", help="start on so many ranks")
        command.add_argument("--bind", choices=["on", "off"], help="bind ranks to cores, memory and network card")

    run = add("run", "Run a case.", _run)
    takes_case(run)
    takes_ranks(run)
    run.add_argument("--overwrite", action="store_true", help="replace results that are already there")
    run.add_argument(
        "--restart", metavar="FILE", help='go on from a checkpoint of the case; "last": its newest (see [checkpoint])'
    )
    run.add_argument("--routes", metavar="+x,-y", help="exchange.routes: routes to add and take away, or the only ones")
    run.add_argument("--retune", action="store_true", help="measure the routes again (exchange.retune)")
    run.add_argument(
        "--report", type=Path, action="append", default=[], metavar="FILE", help="messages as .json or a picture"
    )
    run.add_argument("--trace", type=Path, metavar="FOLDER", help="record what streams and messages do, a file a rank")

    check = add("check", "Check a case file without running it.", _check)
    takes_case(check, optional=True)
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of case files")
    check.add_argument("--resolved", action="store_true", help="print the case with every key")

    plan = add("plan", "Dry run: blocks, placement, routes, memory, predicted step, largest grid.", _plan)
    takes_case(plan)
    takes_ranks(plan)
    plan.add_argument("--machine", metavar="FILE", help="machine file, for a machine that is not there")

    plotting = add("plot", "Draw planes of a run's fields: speed, vorticity, density, streamlines; profiles.", _plot)
    picture_options.add_plot_options(plotting)

    rendering = add("render", "Draw a run's fields in 3-D: slices, streamlines, vortices, bodies.", _render)
    picture_options.add_render_options(rendering)

    page = add("report", "Make the report of a run again: one HTML page with its facts and pictures.", _report)
    page.add_argument("results", type=Path, help="folder that a run has left")
    page.add_argument("-o", dest="output", type=Path, metavar="FILE.html", help="default: report.html in RESULTS")

    topo = add("topo", "Show nodes, ranks, devices and the links between them.", _topo)
    takes_ranks(topo)
    topo.add_argument("--machine", metavar="FILE", help="machine file, for a machine that is not there")
    topo.add_argument("--all", action="store_true", help="every device and link, also of nodes that are alike")
    topo.add_argument("overrides", nargs="*", metavar="machine.b=c", help="keys of [machine] to change")

    info = add(
        "info", "Show how this slipstream was built; `info routes`, `info collectives`: what each can do.", _info
    )
    info.add_argument("topic", nargs="?", choices=["build", "routes", "collectives"], default="build")

    doctor = add("doctor", "Check what exchanges need here (MPI, GPUs, memory) and say what to mend.", _doctor)
    takes_ranks(doctor)
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")

    commands.add_parser("bench", help="Measure: `slipstream bench` lists what.")

    trace = add("trace", "Draw Chrome-trace files, one a rank, as a timeline.", _trace)
    trace.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    trace.add_argument("-o", dest="output", type=Path, required=True, metavar="FILE.png", help="picture to write")
    trace.add_argument("--title", default="")
    trace.add_argument("--middle", default="", metavar="NAME", help="only from the middle of the bars of this name")
    trace.add_argument("--count", type=int, default=2, help="so many of them (default: 2)")
    return parser


def _parse(words: Sequence[str]) -> argparse.Namespace:
    """argparse takes no more a.b=c after an option has come between; here they may stand anywhere."""
    if words[:1] == ["bench"]:
        return _parse_bench(words[1:])
    parser = _parser()
    arguments, rest = parser.parse_known_args(words)
    if rest and (any(word.startswith("-") for word in rest) or not hasattr(arguments, "overrides")):
        parser.error(f"unknown: {' '.join(rest)}{_near_options(rest, arguments.of)}")
    if rest:
        arguments.overrides = [*arguments.overrides, *rest]
    return arguments


def _parse_bench(words: Sequence[str]) -> argparse.Namespace:
    try:
        return registry.parse(words)
    except CaseError as error:
        if core.rank() == 0:
            print(f"slipstream: error: {error}", file=sys.stderr, flush=True)
        raise SystemExit(USER_ERROR) from None


def _near_options(words: Sequence[str], command: argparse.ArgumentParser) -> str:
    known = re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.format_help())
    hints = [nearest(word.partition("=")[0], known) for word in words if word.startswith("--")]
    return "".join(f"; {hint}" for hint in hints if hint)


def _overrides(arguments: argparse.Namespace) -> list[str]:
    """Those given as a.b=c, and those that have an option of their own."""
    found = list(arguments.overrides)
    if bind := getattr(arguments, "bind", None):
        found.append(f"machine.bind={'true' if bind == 'on' else 'false'}")
    if routes := getattr(arguments, "routes", None):
        found.append("exchange.routes=" + json.dumps([name.strip() for name in routes.split(",") if name.strip()]))
    if getattr(arguments, "retune", False):
        found.append("exchange.retune=true")
    return found


def _load(arguments: argparse.Namespace) -> Case:
    return load(arguments.case, _overrides(arguments), arguments.variant)


def _run(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.run import run

    watch = run.Watch(tuple(arguments.report), arguments.trace)
    with core.on_all_ranks():
        case = _load(arguments)
    run.run(case, console, arguments.overwrite, watch, arguments.restart)


def _check_before_start(arguments: argparse.Namespace) -> None:
    """What one process can refuse before there are many."""
    if arguments.command not in ("run", "plan"):
        return
    from slipstream.case.blocks import check_blocks

    case = _load(arguments)
    ranks = arguments.ranks or core.launched_size() or 1
    if not getattr(arguments, "machine", None):
        check_blocks(case, ranks * max(1, case.machine.devices_per_rank))
    if arguments.command == "run":
        from slipstream.exchange import report
        from slipstream.flow import profiles
        from slipstream.run import run

        profiles.reference_for(case)
        for path in arguments.report:
            report.check_name(path)
        if arguments.ranks or core.launched_size() is None:
            run.check_output(case, arguments.overwrite or arguments.restart is not None)


def _check(arguments: argparse.Namespace, console: Console) -> None:
    if arguments.schema:
        print(json.dumps(schema(), indent=2))
        return
    if arguments.case is None:
        raise CaseError("check: name a case file, or ask for --schema")
    case = _load(arguments)
    if arguments.resolved:
        print(case.resolved().to_toml(), end="")
        return
    from slipstream.base import terminal
    from slipstream.flow import profiles
    from slipstream.lbm import cautions
    from slipstream.run import report

    profiles.reference_for(case)

    rows = report.physics(case) + [("warning", text) for text in cautions.warnings(case)]
    title = str(arguments.case)
    if arguments.variant:
        title += f", variant {arguments.variant}"
    elif names := check_variants(arguments.case):
        rows.append(("variants", f"good, too: {', '.join(names)}"))
    console.print(terminal.table(f"{title}: a good case", ["", ""], rows, left=2))
    if conversion := report.conversion(case):
        console.print(conversion)


def _plan(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.base import terminal
    from slipstream.machine import discovery, machine_file, predict, topology
    from slipstream.run import engine, report

    with core.on_all_ranks():
        case = _load(arguments)
    description = machine_file.load(arguments.machine) if arguments.machine else None
    machine = discovery.describe(description) if description else discovery.discover(case.machine)
    setup = engine.prepare(case, machine, check_memory=False)
    for part in (*topology.devices(machine), report.blocks(setup.plan), report.placement(setup.plan)):
        console.print(part)
    if setup.plan["messages"]:
        console.print(report.messages(setup.plan["messages"], "messages of one step"))
    console.print(report.memory(setup.plan, machine))
    console.print(report.prediction(setup, predict.predict(machine, setup.plan, case.exchange.overlap)))
    largest = core.core().largest_grid(machine, setup.options)
    console.print(f"largest grid that fits: {terminal.show_extent(largest)}")
    if problem := engine.memory_problem(setup):
        raise CaseError(problem)


def _topo(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.base.toml_text import apply_override, parse_override
    from slipstream.case.reader import Source, parse
    from slipstream.machine import discovery, machine_file, topology

    if arguments.machine:
        machine = discovery.describe(machine_file.load(arguments.machine))
    else:
        overrides = _overrides(arguments)
        data = {"grid": {"cells": [8, 8, 8]}, "physics": {"viscosity": 0.1}, "run": {"steps": 1}}
        for override in overrides:
            apply_override(data, *parse_override(override))
        machine = discovery.discover(parse(data, Source("topo", "", overrides)).machine)
    for part in topology.tables(machine, arguments.all):
        console.print(part)


def _info(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.base import terminal
    from slipstream.machine import discovery

    module = core.core()
    if arguments.topic == "routes":
        backend = discovery.choose_backend("auto")
        routes = module.routes(backend)
        rows = [(route["name"], _available(route)) for route in routes]
        console.print(terminal.table(f"available here, backend {backend}", ["route", "available"], rows, left=2))
        for kind in ("capability", "execution"):
            keys = list(dict.fromkeys(key for route in routes for key in route[kind]))
            rows = [(route["name"], *(route[kind].get(key, "-") for key in keys)) for route in routes]
            console.print(terminal.table(kind, ["route", *keys], rows, left=len(keys) + 1))
        return
    if arguments.topic == "collectives":
        methods = module.collectives()
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
    if route["name"] == "gpu_mpi":
        return "if MPI is right to say so: every exchange that would use it proves it first"
    return "yes, between devices as below"


def _plot(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import plot

    plot.command(arguments, console)


def _render(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import render

    render.command(arguments, console)


def _report(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import html_report

    path = html_report.write(arguments.results, arguments.output)
    console.print(f"written: {os.path.relpath(path)}", soft_wrap=True)


def _doctor(arguments: argparse.Namespace, console: Console) -> int:
    from slipstream.machine import doctor

    return doctor.doctor(console, arguments.json)


def _trace(arguments: argparse.Namespace, console: Console) -> None:
    from slipstream.pictures import timeline

    timeline.trace(arguments.files, arguments.output, arguments.title, arguments.middle, arguments.count)
    console.print(f"written: {arguments.output}")


def _without_ranks(arguments: Sequence[str]) -> list[str]:
    """The command line without -n and its number."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument == "-n":
            skip = not skip
        elif not (argument.startswith("-n") and argument[2:].lstrip("=").isdigit()):
            kept.append(argument)
    return kept


#: Seconds in which ranks that fail alike do so.
_ALIKE = 5.0


def _fail(error: CaseError | RunError, code: int) -> None:
    """One message, from one rank: where the others may know nothing of it, they are ended."""
    if core.rank() == 0:
        print(f"slipstream: error: {error}", file=sys.stderr, flush=True)
    module = _module_of_job()
    if module is None:
        return
    if error.agreed or module.all_ranks_end(_ALIKE):
        module.expect_common_end()
        return
    rank = module.job()[0]
    # In the order of the ranks, so that only the first of several speaks.
    time.sleep(0.2 * min(rank, 50))
    if rank:
        print(f"slipstream: error on rank {rank}: {error}", file=sys.stderr, flush=True)
    failure.end_all_ranks(module, code)


def _module_of_job() -> ModuleType | None:
    """The compiled module with MPI running, where there are several ranks, and they are Slipstream's own."""
    if (core.launched_size() or 1) < 2:
        return None
    try:
        module = core.core()
        module.rank()  # starts MPI, as it does on the ranks that have not failed
    except (CaseError, RuntimeError):
        return None
    return module if module.mpi_started_here() else None


def _act(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    from slipstream.base import terminal

    ranks = getattr(arguments, "ranks", None)
    with core.on_all_ranks() if core.launched_size() and ranks is None else nullcontext():
        _check_before_start(arguments)
    if ranks is not None:
        return start.start(ranks, _without_ranks(words))
    return arguments.action(arguments, terminal.console(core.rank())) or 0


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code: 0, 1 for a failure, 2 for what the user can mend, 3 for a flow
    that is no longer sound."""
    words = list(sys.argv[1:] if words is None else words)
    arguments = _parse(words)
    with patient_output(arguments.command in ("run", "bench")):
        return _code_of(arguments, words)


def _code_of(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    try:
        code = _act(arguments, words)
        if core.loaded():
            core.core().expect_common_end()
    except CaseError as error:
        code = USER_ERROR
        _fail(error, code)
    except RunError as error:
        code = error.code
        _fail(error, code)
    except KeyboardInterrupt:
        code = failure.INTERRUPTED
        print("slipstream: interrupted", file=sys.stderr, flush=True)
        _end_all_ranks(code)
    except Exception as error:
        _crash(error)
        code = failure.FAILED
    return code


def _crash(error: Exception) -> None:
    """A failure in the run: said by the rank that failed, which takes the others down, because they wait for it."""
    if os.environ.get("SLIPSTREAM_TRACEBACK") or not isinstance(error, RuntimeError | OSError):
        traceback.print_exception(error)
    print(f"slipstream: error on rank {core.rank()}: {error}", file=sys.stderr, flush=True)
    _end_all_ranks(failure.FAILED)


def _end_all_ranks(code: int) -> None:
    if core.loaded():
        failure.end_all_ranks(core.core(), code)
