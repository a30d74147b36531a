#pragma once

namespace slipstream {

/// For programs that have the process to themselves: sets environment variables that libraries read when they start,
/// where they are not set yet. The command line calls it; the library by itself leaves the environment as it is.
///
///     CUDA_DEVICE_MAX_CONNECTIONS=32   hardware queues: with the default of 8, kernels that wait may block others
///     NCCL_NVLS_ENABLE=0               NVLink multicast off: a fault in it can take the host's GPUs out of service
///     NVSHMEM_DISABLE_NVLS=1           the same
///     OMPI_MCA_sharedfp=^sm            no shared memory for files: what other users left in it makes opening fail
///     HWLOC_HIDE_ERRORS=2              no complaints of hwloc where /sys is missing
///
/// Call it before MPI, a GPU or another thread is started.
void set_process_environment();

}  // namespace slipstream
