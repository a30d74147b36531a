"""Records that describe grids, exchanges and their messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from slipstream.base.records import Record
from slipstream.machine.told import Triple


@dataclass(frozen=True)
class Block(Record):
    """A block of a grid: its cells lo <= cell < hi, x first, and its device, counted over all ranks."""

    id: int
    lo: Triple
    hi: Triple
    device: int
    rank: int

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Makes a Block from the dictionary that the compiled module returns for a block of a grid."""
        return cls(**{**found, "lo": tuple(found["lo"]), "hi": tuple(found["hi"])})


@dataclass(frozen=True)
class LocalBlock(Block):
    """A block of a grid whose device belongs to this rank."""

    device_index: int  #: the device's number in this process, as CuPy and others use it


@dataclass(frozen=True)
class Message(Record):
    """A message of each exchange: its bytes, the number of its transfers, its route and the reason for it. raw_bytes
    is the size before coding."""

    source: int
    target: int
    route: str
    reason: str
    bytes: int
    transfers: int
    raw_bytes: int


@dataclass(frozen=True)
class Delivery(Message):
    """A message of the last exchange, with times, rates and errors of its values. The last seven fields are None if
    they were not measured."""

    source_rank: int
    target_rank: int
    time_us: float | None  #: microseconds from the start of the exchange at the target to the arrival of the message
    gbs: float | None
    percent_of_link: float | None
    largest_error: float | None  #: largest absolute difference of decoded and sent values; needs measure_errors=True
    rms_error: float | None
    encode_us: float | None  #: microseconds of encoding the message, measured by events; needs measure_errors=True
    decode_us: float | None


@dataclass(frozen=True)
class Knobs(Record):
    """Values of the options that the tuner chooses; Exchange documents each."""

    pack: str
    streams: str
    grouping: str
    mpi: str
    sync: bool
    teams: int
    in_place: int
    packet_limit: int
    chunk: int
    ring: int


@dataclass(frozen=True)
class Tuning(Record):
    """The routes and options that the tuner chose, and the source of this choice."""

    source: str  #: source of the tuner's choice: "rules", "measured" or "cache"
    file: str  #: file that holds the tuner's choice; empty: it was not cached
    seconds: float  #: duration of the tuner's measurements in seconds
    notes: tuple[str, ...]
    knobs: Knobs

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """Makes the record of a tuner's choice from the dictionary that the compiled module returns."""
        return cls(found["source"], found["file"], found["seconds"], tuple(found["notes"]), Knobs(**found["knobs"]))


@dataclass(frozen=True)
class Arena(Record):
    """Memory in bytes that all exchanges of a device share, and how much of it is in use; host memory is pinned."""

    device: int
    bytes: int
    used: int
    host_bytes: int
    host_used: int


@dataclass(frozen=True)
class Counts(Record):
    """Numbers of points, ids and values of a gather-scatter on one device."""

    shared_points: int  #: number of points that share their id with another point
    local_ids: int  #: number of shared ids whose points are all on this device
    remote_ids: int  #: number of ids that also have points on other devices
    sent_values: int
    unique_ids: int  #: number of ids that the device owns; needs unique=True, as do the next two numbers
    gathered_values: int  #: number of values per component that gather() sends to owners on other devices
    scattered_values: int  #: number of values per component that scatter() sends from owners to other devices
