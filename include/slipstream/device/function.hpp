#pragma once

/// Marks functions that kernels call. They are compiled for the host and, in a CUDA build, for the GPU.
#if defined(__CUDACC__)
#define SLIP_FN __host__ __device__ inline
#else
#define SLIP_FN inline
#endif
