"""The routes of the engine, for what must know them before it is loaded. Made by tools/from_compiled.py."""

#: In the order in which the rules prefer them.
NAMES = ("kernel", "direct", "peer", "colocated", "nccl", "nvshmem", "gpu_mpi", "staged")
#: Those that the host drives: a throttle slows their messages.
DRIVEN_BY_HOST = ("gpu_mpi", "staged")
#: Those that need a library beside the engine.
LIBRARIES = ("nccl", "nvshmem")
#: Those that serve devices of a node only with peer access, in one process and in two.
BY_PEER_ACCESS_WITHIN_PROCESS = ("direct", "peer")
BY_PEER_ACCESS_BETWEEN_PROCESSES = ("direct", "colocated")
