#pragma once
// Fourier transforms by the threads of a block, on GPUs, by cuFFTDx. Some builds lack them (cmake/cufftdx.cmake).
#include <slipstream/device/function.hpp>

#define CUFFTDX_DISABLE_CUTLASS_DEPENDENCY
#include <cufftdx.hpp>

namespace slipstream {

/// Forward Fourier transform of `lines` lines of `length` complex values. The threads of a line are a row of the block.
/// Thread i has values i, i + length / each, ... in `x`, before and after. `scratch`: shared memory for the values of
/// all lines; other threads may still read it on return.
template <class T, int length, int lines, class Value, int each>
SLIP_FN void block_transform([[maybe_unused]] Value (&x)[each], [[maybe_unused]] Value* scratch) {
#if defined(__CUDA_ARCH__)
  using namespace cufftdx;
  using Fft = decltype(Block() + Size<length>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() +
                       Precision<T>() + ElementsPerThread<each>() + FFTsPerBlock<lines>() + SM<__CUDA_ARCH__>());
  static_assert(Fft::storage_size == each && Fft::stride == length / each && !Fft::requires_workspace);
  static_assert(Fft::shared_memory_size <= sizeof(Value) * length * lines);
  Fft().execute(reinterpret_cast<typename Fft::value_type*>(x), scratch);
#endif
}

}  // namespace slipstream
