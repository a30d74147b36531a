"""The machine that a program runs on, and one that is described. Discovery is collective."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from slipstream.base.core import as_case_error, core, launched_here
from slipstream.base.errors import CaseError, ErrorCode
from slipstream.base.keys import Table
from slipstream.machine.machine_file import MachineFile

if TYPE_CHECKING:
    from slipstream._core import Machine


class MachineTable(Table):
    """[machine]: the devices on which a case runs."""

    in_units: ClassVar[Mapping[str, str]] = {
        "devices": "devices_per_rank",
        "ranks": "ranks_per_node",
        "threads": "threads",
    }

    backend: Literal["auto", "host", "cuda"] = Field(
        "auto", description="Backend of the devices; auto: cuda if there is a GPU, otherwise host."
    )
    devices_per_rank: Annotated[int, Field(ge=0)] = Field(
        0, description="Devices of each rank; 0: an equal share of the GPUs, or one host device."
    )
    ranks_per_node: Annotated[int, Field(ge=0)] = Field(
        0, description="Groups of this many ranks act as nodes; 0: the real nodes."
    )
    cyclic: bool = Field(False, description="With ranks_per_node: assign ranks to nodes in turn, not in blocks.")
    bind: bool = Field(True, description="Bind each rank to the cores, memory and network card closest to its devices.")
    threads: Annotated[int, Field(ge=0)] = Field(
        0, description="Number of threads of host kernels per rank; 0: one per core of the rank."
    )


def choose_backend(wanted: str) -> str:
    """Resolves `auto`: cuda if this build and this machine have it, else host."""
    module = core()
    if wanted == "auto":
        return "cuda" if module.available("cuda") and module.device_count("cuda") > 0 else "host"
    if not module.available(wanted):
        cuda = module.build_info()["cuda"]
        why = "no GPU was found" if cuda else "this build has no CUDA; build with `cmake --preset cuda`"
        raise CaseError(
            f'machine.backend = "{wanted}": {why}; machine.backend = "host" runs on the CPU',
            ErrorCode.UNAVAILABLE,
            key="machine.backend",
            given=wanted,
        )
    return wanted


def discover(wanted: MachineTable, *, guest: bool = False) -> "Machine":
    """Discovers the machine, and binds this rank to cores. `guest`: within another program, ranks are bound only on
    request.
    """
    bind = wanted.bind and (not guest or "bind" in wanted.model_fields_set)
    backend = choose_backend(wanted.backend)
    core().set_host_threads(wanted.threads)
    with as_case_error():
        found: Machine = core().Machine.discover(
            backend,
            devices_per_rank=wanted.devices_per_rank,
            ranks_per_node=wanted.ranks_per_node,
            cyclic=wanted.cyclic,
            bind=bind,
        )
    return found


def describe(description: MachineFile) -> "Machine":
    """The machine that a machine file describes, without hardware."""
    with as_case_error():
        classes = description.link_classes()
        found: Machine = core().Machine.describe(description.name, description.devices(), *classes)
    return found


def crowding(machine: "Machine") -> list[str]:
    """Warning that ranks with host devices share cores: each step waits until all of them have run."""
    ranks, cores = launched_here(), os.cpu_count() or 1
    if ranks <= cores or any(device["backend"] != "host" for device in machine.devices()):
        return []
    return [f"{ranks} ranks share the {cores} cores of this node and wait for each other; at most {cores} are faster"]
