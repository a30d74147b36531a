#pragma once

/// Macro against the unrolling of a loop with a large body that seldom runs. Such loops, unrolled over the 27
/// populations of a lattice, took a third of nvcc's time.
#if defined(__CUDACC__)
#define SLIP_ROLLED _Pragma("unroll 1")
#else
#define SLIP_ROLLED _Pragma("GCC unroll 1")
#endif
