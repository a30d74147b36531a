"""Keys and types of the dicts by which compiled modules tell of machines, plans and runs."""

from typing import NotRequired, TypedDict

Triple = tuple[int, int, int]


class Device(TypedDict):
    """A device of a machine, counted over all ranks. `backend` and `uuid` exist for discovered devices only, not for
    those of a machine file."""

    node: int
    rank: int
    index: int  #: number of the device within its process
    name: str
    memory: int  #: free memory of the device in bytes
    memory_gb_per_s: float  #: bandwidth of the device's memory in GB/s; 0: not known
    backend: NotRequired[str]
    uuid: NotRequired[str]


class Link(TypedDict):
    """The link from one device to another."""

    kind: str
    gb_per_s: float  #: rate of the link in GB/s; 0: not known
    peer: bool  #: whether kernels of one device can load and store the other's memory


class PlannedBlock(TypedDict):
    """A block of the plan: its cells lo <= cell < hi, x first."""

    id: int
    lo: Triple
    hi: Triple
    device: int
    rank: int


class PlannedMessage(TypedDict):
    """A message that each step sends; with `sources` and `targets` it stands for equal messages of as many devices."""

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
    """Numbers of parts along x, y and z into which the grid is cut for nodes, devices and blocks."""

    nodes: Triple
    devices: Triple
    blocks: Triple


class Batches(TypedDict):
    """Sizes of the batches in which the arrays of an out-of-core flow pass from host memory through a device
    (docs/dns.md)."""

    buffer: int  #: bytes of the device buffer for one batch of the flow's values, which are kept in host memory
    modes: int  #: number of modes along x that a piece of an array has
    planes_y: int
    planes_z: int
    sweeps: int
    fields: float  #: number of fields copied to the device, and as many back, in a Runge-Kutta stage


class Plan(TypedDict):
    """Plan of a case for a machine: its decomposition into blocks, and the memory and messages that a run needs."""

    blocks: list[PlannedBlock]
    partition: Partition
    arrays: list[ArrayBytes]
    layout: str
    messages: list[PlannedMessage]
    bytes_per_cell: int  #: bytes per cell that a step reads and writes
    placement_cost: float
    trivial_cost: float
    overlaps: NotRequired[bool]  #: whether messages can overlap with computation; default: true
    host_bytes: NotRequired[int]  #: bytes of host memory per node that the case needs, if arrays lie in host memory
    host_memory: NotRequired[int]  #: bytes of host memory that a node has; 0: not known
    batches: NotRequired[Batches]


class Phase(TypedDict):
    """Time that one kernel or one exchange took in a run."""

    name: str
    calls: int
    seconds: float
