#pragma once

namespace slipstream {

/// Sets environment variables that libraries read when they start, unless they are set already. It is for programs that
/// own the process. The command line calls it; the library itself does not change the environment.
///
/// - CUDA_DEVICE_MAX_CONNECTIONS=32: with the default of 8 hardware queues, waiting kernels may block others.
/// - NCCL_NVLS_ENABLE=0, NVSHMEM_DISABLE_NVLS=1: a fault in NVLink multicast can take the host's GPUs out of service.
/// - OMPI_MCA_sharedfp=^sm: files that other users left in shared memory make the opening of files fail.
/// - HWLOC_HIDE_ERRORS=2: hwloc does not complain where /sys is missing.
///
/// Call it before MPI, a GPU or another thread is started.
void set_process_environment();

}  // namespace slipstream
