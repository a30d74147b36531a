"""Keys and types of the dicts by which compiled modules tell of machines, plans and runs."""

from typing import NotRequired, TypedDict

Triple = tuple[int, int, int]


class Device(TypedDict):
    """A device, counted over all ranks. The last two are of devices that are there."""

    node: int
    rank: int
    index: int  #: in its process
    name: str
    memory: int  #: bytes that are free
    memory_gb_per_s: float  #: 0: not known
    backend: NotRequired[str]
    uuid: NotRequired[str]


class Link(TypedDict):
    """From one device to another."""

    kind: str
    gb_per_s: float  #: 0: not known
    peer: bool  #: whether loads and stores reach


class PlannedBlock(TypedDict):
    """Cells lo <= cell < hi, x first."""

    id: int
    lo: Triple
    hi: Triple
    device: int
    rank: int


class PlannedMessage(TypedDict):
    """A message of each step; with `sources` and `targets` those of so many devices that are alike."""

    source: int
    target: int
    route: str
    reason: str
    bytes: int
    transfers: int
    raw_bytes: int
    sources: NotRequired[int]
    targets: NotRequired[int]


class ArrayBytes(TypedDict):
    device: int
    array: str
    bytes: int


class Partition(TypedDict):
    """Counts along x, y and z."""

    nodes: Triple
    devices: Triple
    blocks: Triple


class Batches(TypedDict):
    """Parts of arrays in host memory that are on a device at once (docs/dns.md)."""

    buffer: int  #: bytes
    modes: int  #: along x
    planes_y: int
    planes_z: int
    sweeps: int
    fields: float  #: that move in each direction in a stage


class Plan(TypedDict):
    """Blocks, memory and messages of a case on a machine."""

    blocks: list[PlannedBlock]
    partition: Partition
    arrays: list[ArrayBytes]
    layout: str
    messages: list[PlannedMessage]
    bytes_per_cell: int  #: read and written a step
    placement_cost: float
    trivial_cost: float
    overlaps: NotRequired[bool]  #: whether messages can overlap with computation; without it they can
    host_bytes: NotRequired[int]  #: of a node, where arrays lie in host memory
    host_memory: NotRequired[int]  #: of a node; 0: not known
    batches: NotRequired[Batches]


class Phase(TypedDict):
    """A kernel or an exchange of a run."""

    name: str
    calls: int
    seconds: float
