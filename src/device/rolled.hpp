#pragma once

/// Before a loop that compilers shall leave one, since its body is large and seldom run: written out for each of 27
/// populations such loops were a third of what nvcc had to compile.
#if defined(__CUDACC__)
#define SLIP_ROLLED _Pragma("unroll 1")
#else
#define SLIP_ROLLED _Pragma("GCC unroll 1")
#endif
