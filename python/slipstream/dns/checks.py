"""Checks of a case of a pseudo-spectral flow, whose keys are right one by one."""

from collections.abc import Iterator

from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case import problems as shared
from slipstream.case.tables import EXCHANGE_PARTS
from slipstream.dns.case import DnsCase

#: Reasons why pseudo-spectral runs cannot use some keys of [exchange].
_NOT_OURS = {
    "blocks": "transforms cut the box themselves: dns.process_grid says how",
    "halos": "belongs to solvers with halos; dns.overlap says what transforms travel beside",
    "rim": "belongs to solvers with halos",
}


def problems(case: DnsCase) -> list[Fault]:
    return [*_shapes(case), *_exchange(case), *_memory(case), *_initial(case), *_steps(case), *_forcing(case)]


def _shapes(case: DnsCase) -> Iterator[Fault]:
    if not all(case.grid.periodic):
        said = "a pseudo-spectral flow is periodic along all axes; leave the key out"
        yield unsupported("grid.periodic", said, needed="true, true, true")
    if min(case.grid.cells) < 4:
        yield Fault("each axis needs 4 cells or more", key="grid.cells", allowed=">= 4")
    yield from shared.end(case)


def _exchange(case: DnsCase) -> Iterator[Fault]:
    for part, said in _NOT_OURS.items():
        yield from shared.unused(case, "exchange", EXCHANGE_PARTS[part], said, other="dns")
    coding = case.exchange.coding
    if coding.startswith("cast") and (coding not in ("cast", "cast to f32") or case.dns.precision != "f64"):
        said = 'transposes cast f64 to f32 and nothing else: take "cast" with dns.precision = "f64", or leave it out'
        yield unsupported("exchange.coding", said, other="dns.precision", needed="cast")


def _memory(case: DnsCase) -> Iterator[Fault]:
    if case.dns.budget and case.dns.device_memory:
        said = "takes sums at every stage, which arrays in host memory do not have"
        yield unsupported("dns.budget", said, other="dns.device_memory")
    if not case.dns.device_memory:
        for key in {"host_copies", "synchronous"} & case.dns.model_fields_set:
            said = "goes with dns.device_memory"
            yield unsupported(f"dns.{key}", said, other="dns.device_memory", needed="8 GiB")


def _initial(case: DnsCase) -> Iterator[Fault]:
    start = case.initial
    if case.output.reference == "taylor_green1600" and not case.is_reference_flow:
        said = 'belongs to initial.flow = "taylor_green" with dns.viscosity = 1/1600'
        yield unsupported("output.reference", said, other="initial.flow", needed="taylor_green")
    if start.spectrum:
        if start.flow != "random":
            said = 'belongs to flow = "random"'
            yield unsupported("initial.spectrum", said, other="initial.flow", needed="random")
        for key in {"peak", "energy"} & start.model_fields_set:
            said = "the file of initial.spectrum says it; leave one of the two out"
            yield unsupported(f"initial.{key}", said, other="initial.spectrum")
    if (start.flow == "file") != (start.file is not None):
        said = 'goes with flow = "file": give both, or neither'
        yield unsupported("initial.file", said, other="initial.flow", needed="file")


def _steps(case: DnsCase) -> Iterator[Fault]:
    if case.dns.courant:
        said = "steps of a Courant number end at no time that is known before: give run.steps, and fields at the end"
        yield from shared.unused(case, "run", ["time"], said, other="dns.courant", needed="run.steps")
        yield from shared.unused(case, "output", ["every"], said, other="dns.courant", needed="run.steps")


def _forcing(case: DnsCase) -> Iterator[Fault]:
    table = case.dns
    if table.gradients is not None and len(table.gradients) != len(table.schmidt):
        said, given = "a mean gradient for each number of dns.schmidt, or none", len(table.gradients)
        yield Fault(said, key="dns.gradients", needed=len(table.schmidt), given=given)
    for key in ("forcing_acceleration", "forcing_time"):
        is_given = bool(getattr(table, key))
        if table.forcing == "stochastic" and not is_given:
            yield missing(f"dns.{key}", "a stochastic forcing needs it, above 0", needed=key)
        if table.forcing != "stochastic" and is_given:
            said = 'belongs to forcing = "stochastic"'
            yield unsupported(f"dns.{key}", said, other="dns.forcing", needed="stochastic")
    if table.forcing != "power" and table.forcing_power:
        yield unsupported("dns.forcing_power", 'belongs to forcing = "power"', other="dns.forcing", needed="power")
    by_energy = case.is_forced and table.forcing != "stochastic"
    if by_energy and case.initial.flow == "taylor_green" and table.forcing_shells < 2:
        said = "Taylor and Green's vortex has no energy below |k| = sqrt(3): take 2"
        yield unsupported("dns.forcing_shells", said, other="initial.flow", needed=2)
