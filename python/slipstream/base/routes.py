"""Names of the engine's routes, for code that runs before the engine is loaded. A test compares them with those of
core()."""

#: Names in the order of preference of the rules.
NAMES = ("kernel", "direct", "peer", "colocated", "nccl", "nvshmem", "gpu_mpi", "staged")
#: Routes that the host drives; a throttle slows their messages.
DRIVEN_BY_HOST = frozenset({"gpu_mpi", "staged"})
