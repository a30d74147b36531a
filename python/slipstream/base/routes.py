"""The routes of the engine, for modules that need them before the engine is loaded. Made by tools/from_compiled.py."""

#: All routes, in the order in which the rules prefer them.
NAMES = ("kernel", "direct", "peer", "colocated", "nccl", "nvshmem", "gpu_mpi", "staged")
#: Routes that the host drives; a throttle delays their messages.
DRIVEN_BY_HOST = ("gpu_mpi", "staged")
#: Routes that need a library beside the engine.
LIBRARIES = ("nccl", "nvshmem")
#: Routes that need peer access between devices of a node, in one process or in two.
BY_PEER_ACCESS_WITHIN_PROCESS = ("direct", "peer")
BY_PEER_ACCESS_BETWEEN_PROCESSES = ("direct", "colocated")
