"""The command line's words: commands, their options, and overrides a.b=c anywhere among them."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from slipstream import __version__
from slipstream.base import core, registry
from slipstream.base.errors import CaseError
from slipstream.base.faults import nearest
from slipstream.cli import commands, shipped
from slipstream.cli.errors import say
from slipstream.pictures import picture_options

USER_ERROR = 2

#: Function that runs a command and returns its exit code; None is 0.
Action = Callable[[argparse.Namespace, Console], int | None]


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest word for unknown commands and options."""

    def error(self, message: str) -> NoReturn:
        if found := re.match(r"(.*invalid choice: '?(.*?)'?) \(choose from (.*)\)$", message):
            hint = nearest(found[2], [word.strip(" '") for word in found[3].split(",")])
            message = f"{message}; {hint}" if hint else message
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="slipstream", description="Flow solvers whose data stays on the GPUs.")
    parser.add_argument("--version", action="version", version=__version__)
    named = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help_text: str, action: Action) -> argparse.ArgumentParser:
        command = named.add_parser(name, help=help_text, description=help_text)
        command.set_defaults(action=action, of=command)
        return command

    def takes_case(command: argparse.ArgumentParser, optional: bool = False) -> None:
        command.add_argument("case", nargs="?" if optional else None, help="case file (TOML)")
        command.add_argument("overrides", nargs="*", metavar="a.b=c", help="keys of the case file to change")
        command.add_argument("--variant", metavar="NAME", help="with the keys of [variants.NAME] of the case file")

    def takes_ranks(command: argparse.ArgumentParser) -> None:
        command.add_argument("-n", dest="ranks", type=int, metavar="RANKS", help="start on so many ranks")
        command.add_argument("--bind", choices=["on", "off"], help="bind ranks to what is near their devices")

    run = add("run", "Run a case.", commands.run)
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

    check = add("check", "Check a case file without running it.", commands.check)
    takes_case(check, optional=True)
    check.add_argument(
        "--keys", nargs="?", const="", metavar="TABLE", help="list the tables of case files, or the keys of one of them"
    )
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of case files")
    check.add_argument("--resolved", action="store_true", help="print the case with every key")

    cases = add("cases", "List the shipped cases, or copy some into this folder.", shipped.command)
    cases.add_argument("names", nargs="*", metavar="NAME", help="cases to copy, with their meshes")

    plan = add(
        "plan",
        "Dry run: blocks, placement, routes, memory, largest grid; time and disk from a few steps.",
        commands.plan,
    )
    takes_case(plan)
    takes_ranks(plan)
    plan.add_argument("--machine", metavar="FILE", help="machine file, for a machine that is not there")

    same = "Run Taylor and Green's vortex by several solvers; draw and list its dissipation beside the published one."
    comparing = add("compare", same, commands.compare)
    comparing.add_argument("overrides", nargs="*", metavar="a.b=c", help="keys of the cases to change")
    comparing.add_argument("--cells", type=int, nargs="+", default=[64], metavar="N",
                           help="N^3 cells; several draw error over time to solution (default: 64)")  # fmt: skip
    comparing.add_argument("--time", type=float, default=10.0, metavar="T", help="up to the time T (default: 10)")
    vortices = list(registry.VORTICES)
    comparing.add_argument("--solvers", nargs="+", default=vortices, choices=vortices, help="default: all that have it")
    comparing.add_argument("--precisions", nargs="+", default=[], choices=["f32", "f64"],
                           help="each solver in each of them; default: that of its case")  # fmt: skip
    comparing.add_argument(
        "-o", dest="folder", type=Path, default=Path("results/compare"), metavar="FOLDER", help="default: %(default)s"
    )
    comparing.add_argument("--overwrite", action="store_true", help="replace results that are already there")
    takes_ranks(comparing)

    planes = "Draw planes of a run's fields: speed, vorticity, density, streamlines; profiles."
    plotting = add("plot", planes, commands.plot)
    picture_options.add_plot_options(plotting)

    rendering = add("render", "Draw a run's fields in 3-D: slices, streamlines, vortices, bodies.", commands.render)
    picture_options.add_render_options(rendering)

    page = add("report", "Make the report of a run again: one HTML page with its facts and pictures.", commands.report)
    page.add_argument("results", type=Path, help="folder that a run has left")
    page.add_argument("-o", dest="output", type=Path, metavar="FILE.html", help="default: report.html in RESULTS")

    topo = add("topo", "Show nodes, ranks, devices and the links between them.", commands.topo)
    takes_ranks(topo)
    topo.add_argument("--machine", metavar="FILE", help="machine file, for a machine that is not there")
    topo.add_argument("--all", action="store_true", help="every device and link, also of nodes that are alike")
    topo.add_argument("overrides", nargs="*", metavar="machine.b=c", help="keys of [machine] to change")

    built = "Show how this slipstream was built; `info routes`, `info collectives`: what each can do."
    info = add("info", built, commands.info)
    info.add_argument("topic", nargs="?", choices=["build", "routes", "collectives"], default="build")

    doctor = add("doctor", "Check what exchanges need here (MPI, GPUs, memory) and say what to mend.", commands.doctor)
    takes_ranks(doctor)
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")

    named.add_parser("bench", help="Measure, in a source tree: `slipstream bench` lists what.")

    trace = add("trace", "Draw Chrome-trace files, one a rank, as a timeline.", commands.trace)
    trace.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    trace.add_argument("-o", dest="output", type=Path, required=True, metavar="FILE.png", help="picture to write")
    trace.add_argument("--title", default="")
    trace.add_argument("--middle", default="", metavar="NAME", help="only from the middle of the bars of this name")
    trace.add_argument("--count", type=int, default=2, help="so many of them (default: 2)")
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses a command line. Overrides a.b=c may stand anywhere, although argparse accepts them only before the first
    option."""
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
        found: argparse.Namespace = registry.benchmarks().parse(words)
        return found
    except CaseError as error:
        if core.rank() == 0:
            say(error)
        raise SystemExit(USER_ERROR) from None


def _near_options(words: Sequence[str], command: argparse.ArgumentParser) -> str:
    known = re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.format_help())
    hints = [nearest(word.partition("=")[0], known) for word in words if word.startswith("--")]
    return "".join(f"; {hint}" for hint in hints if hint)
