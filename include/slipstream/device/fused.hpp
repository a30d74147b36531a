#pragma once
#include <cmath>

#include <slipstream/device/function.hpp>

namespace slipstream {

/// a b + c by a fused multiply-add, rounded once, on GPUs and on processors that have the instruction. Others would
/// call a function for it, so they round twice instead. For arithmetic whose last digit may differ between processors.
template <class T>
SLIP_FN T fused(T a, T b, T c) {
#if defined(__CUDA_ARCH__) || defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace slipstream
