"""Checks of a case of a pseudo-spectral flow, whose keys are right one by one."""

from slipstream.base import toml_text
from slipstream.base.errors import Fault, missing, unsupported
from slipstream.case.tables import EXCHANGE_PARTS
from slipstream.dns.case import DnsCase


def problems(case: DnsCase) -> list[tuple[toml_text.Path, str]]:
    found: list[tuple[toml_text.Path, str]] = []
    if not all(case.grid.periodic):
        found.append(
            (
                ("grid", "periodic"),
                unsupported(
                    "a pseudo-spectral flow is periodic along all axes; leave the key out", needed="true, true, true"
                ),
            )
        )
    if min(case.grid.cells) < 4:
        found.append((("grid", "cells"), Fault("each axis needs 4 cells or more", allowed=">= 4")))
    if case.run.steps is None and case.run.time is None:
        found.append((("run",), missing("give steps or time, so that the run ends", needed="steps or time")))
    why = {
        "blocks": "transforms cut the box themselves: dns.process_grid says how",
        "halos": "belongs to solvers with halos; dns.overlap says what transforms travel beside",
        "rim": "belongs to solvers with halos",
    }
    for keys, said in why.items():
        for key in EXCHANGE_PARTS[keys]:
            if getattr(case.exchange, key) != type(case.exchange).model_fields[key].default:
                found.append((("exchange", key), unsupported(said, other="dns")))
    if case.dns.budget and case.dns.device_memory:
        found.append(
            (
                ("dns", "budget"),
                unsupported(
                    "takes sums at every stage, which arrays in host memory do not have", other="dns.device_memory"
                ),
            )
        )
    if not case.dns.device_memory:
        for key in {"host_copies", "synchronous"} & case.dns.model_fields_set:
            found.append(
                (("dns", key), unsupported("goes with dns.device_memory", other="dns.device_memory", needed="8 GiB"))
            )
    coding = case.exchange.coding
    if coding.startswith("cast") and (coding not in ("cast", "cast to f32") or case.dns.precision != "f64"):
        said = 'transposes cast f64 to f32 and nothing else: take "cast" with dns.precision = "f64", or leave it out'
        found.append((("exchange", "coding"), unsupported(said, other="dns.precision", needed="cast")))
    if case.output.reference == "taylor_green1600" and not case.is_reference_flow:
        found.append(
            (
                ("output", "reference"),
                unsupported(
                    'belongs to initial.flow = "taylor_green" with dns.viscosity = 1/1600',
                    other="initial.flow",
                    needed="taylor_green",
                ),
            )
        )
    if case.initial.spectrum:
        if case.initial.flow != "random":
            found.append(
                (
                    ("initial", "spectrum"),
                    unsupported('belongs to flow = "random"', other="initial.flow", needed="random"),
                )
            )
        for key in {"peak", "energy"} & case.initial.model_fields_set:
            found.append(
                (
                    ("initial", key),
                    unsupported(
                        "the file of initial.spectrum says it; leave one of the two out", other="initial.spectrum"
                    ),
                )
            )
    if (case.initial.flow == "file") != (case.initial.file is not None):
        found.append(
            (
                ("initial", "file"),
                unsupported('goes with flow = "file": give both, or neither', other="initial.flow", needed="file"),
            )
        )
    if case.dns.courant:
        said = "steps of a Courant number end at no time that is known before: give run.steps, and fields at the end"
        for table, key in (("run", "time"), ("output", "every")):
            if getattr(getattr(case, table), key) is not None:
                found.append(((table, key), unsupported(said, other="dns.courant", needed="run.steps")))
    gradients = case.dns.gradients
    if gradients is not None and len(gradients) != len(case.dns.schmidt):
        said = "a mean gradient for each number of dns.schmidt, or none"
        found.append((("dns", "gradients"), Fault(said, needed=len(case.dns.schmidt), given=len(gradients))))
    for key in ("forcing_acceleration", "forcing_time"):
        is_given = bool(getattr(case.dns, key))
        if case.dns.forcing == "stochastic" and not is_given:
            found.append((("dns", key), missing("a stochastic forcing needs it, above 0", needed=key)))
        if case.dns.forcing != "stochastic" and is_given:
            said = 'belongs to forcing = "stochastic"'
            found.append((("dns", key), unsupported(said, other="dns.forcing", needed="stochastic")))
    if case.dns.forcing != "power" and case.dns.forcing_power:
        found.append(
            (("dns", "forcing_power"), unsupported('belongs to forcing = "power"', other="dns.forcing", needed="power"))
        )
    by_energy = case.is_forced and case.dns.forcing != "stochastic"
    if by_energy and case.initial.flow == "taylor_green" and case.dns.forcing_shells < 2:
        found.append(
            (
                ("dns", "forcing_shells"),
                unsupported(
                    "Taylor and Green's vortex has no energy below |k| = sqrt(3): take 2",
                    other="initial.flow",
                    needed=2,
                ),
            )
        )
    return found
