#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include <slipstream/box.hpp>
#include <slipstream/device/cuda/function.hpp>
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::cuda {

/// Threads per block of a kernel: the functor's `threads` if it has that member, else the argument.
template <class Kernel>
constexpr int threads_of(int otherwise) {
  if constexpr (requires { Kernel::threads; }) {
    return Kernel::threads;
  } else {
    return otherwise;
  }
}
/// Least number of a kernel's blocks that a multiprocessor must hold at once: the functor's `resident` if it has that
/// member, else the argument. The compiler limits registers accordingly. 0 leaves the limit to the compiler, which is
/// not the same as 1.
template <class Kernel>
constexpr int resident_of(int otherwise) {
  if constexpr (requires { Kernel::resident; }) {
    return Kernel::resident;
  } else {
    return otherwise;
  }
}
/// Number of rows (y) of a kernel's thread block, for device libraries that index threads by two numbers.
template <class Kernel>
constexpr int block_rows_of() {
  if constexpr (requires { Kernel::block_rows; }) {
    return Kernel::block_rows;
  } else {
    return 1;
  }
}
inline constexpr int cell_threads = 256;
inline constexpr int most_threads = 1024;

/// Whether a kernel's functor asks for programmatic dependent launch by `early()`. The kernel then waits for its
/// predecessor itself. Its successor may be placed as soon as all of the kernel's own blocks are.
template <class Kernel>
bool early(const Kernel& kernel) {
  if constexpr (requires { kernel.early(); }) {
    return kernel.early();
  } else {
    return false;
  }
}
template <class Kernel>
__device__ void await_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (requires(const Kernel& kernel) { kernel.early(); }) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
  }
#endif
}

template <class Kernel>
__global__ void __launch_bounds__(threads_of<Kernel>(cell_threads), resident_of<Kernel>(0))
    run_cells(const Kernel kernel, int3 lo, int3 hi) {
  await_predecessor<Kernel>();
  const int i = lo.x + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int j = lo.y + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int k = lo.z + static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z);
  if (i < hi.x && j < hi.y && k < hi.z) kernel(i, j, k);
}

template <class Kernel>
struct CellsFunction {
  static const void* address() { return reinterpret_cast<const void*>(&run_cells<Kernel>); }
  static inline const int registered = register_function(address());
};

template <class Kernel>
void launch(Stream& stream, const Box& box, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to the device as bytes");
  static_cast<void>(&CellsFunction<Kernel>::registered);
  const dim3 block = block_shape(box, threads_of<Kernel>(cell_threads));
  // A grid holds 65535 blocks in y and in z. Larger boxes are launched in pieces, so that the kernel itself needs no
  // loop.
  const std::int64_t rows = std::int64_t{65535} * block.y, planes = std::int64_t{65535} * block.z;
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; z += planes) {
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; y += rows) {
      const Box piece{{box.lo[0], y, z}, {box.hi[0], std::min(y + rows, box.hi[1]), std::min(z + planes, box.hi[2])}};
      auto blocks = [&](int axis, unsigned size) {
        return static_cast<unsigned>((piece.extent(axis) + size - 1) / size);
      };
      auto corner = [](const Extent& p) {
        return int3{static_cast<int>(p[0]), static_cast<int>(p[1]), static_cast<int>(p[2])};
      };
      Kernel functor = kernel;
      int3 lo = corner(piece.lo), hi = corner(piece.hi);
      void* arguments[] = {&functor, &lo, &hi};
      launch_function(stream, CellsFunction<Kernel>::address(),
                      dim3(blocks(0, block.x), blocks(1, block.y), blocks(2, block.z)), block, 0, arguments,
                      early(kernel));
    }
  }
}

/// A team of threads that is one CUDA thread block; the same interface as host::Team.
class Team {
 public:
  static constexpr bool sequential = false;
  SLIP_FN Team(std::int64_t index, int threads, void* shared, int rows = 1)
      : index_(index), threads_(threads), rows_(rows), shared_(shared) {}
  SLIP_FN std::int64_t index() const { return index_; }
  SLIP_FN int threads() const { return threads_; }
  template <class T>
  SLIP_FN T* shared() const {
    return static_cast<T*>(shared_);
  }
  template <class F>
  SLIP_FN void each(F f) const {
#if defined(__CUDA_ARCH__)
    f(static_cast<int>(rows_ > 1 ? threadIdx.x + threadIdx.y * blockDim.x : threadIdx.x));
    __syncthreads();
#else
    static_cast<void>(f);
#endif
  }

 private:
  std::int64_t index_;
  int threads_, rows_;
  void* shared_;
};

template <class Kernel>
__global__ void __launch_bounds__(threads_of<Kernel>(most_threads), resident_of<Kernel>(1))
    run_teams(const Kernel kernel) {
  extern __shared__ __align__(16) unsigned char slipstream_team_memory[];
  constexpr int rows = block_rows_of<Kernel>();
  kernel(Team(blockIdx.x, static_cast<int>(blockDim.x) * rows, slipstream_team_memory, rows));
}

template <class Kernel>
struct TeamsFunction {
  static const void* address() { return reinterpret_cast<const void*>(&run_teams<Kernel>); }
  static inline const int registered = register_function(address());
};

template <class Kernel>
void launch_teams(Stream& stream, std::int64_t teams, int threads, std::size_t shared_bytes, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to the device as bytes");
  static_cast<void>(&TeamsFunction<Kernel>::registered);
  constexpr int most = threads_of<Kernel>(most_threads);
  require(threads > 0 && threads <= most, "launch_teams on " + to_string(stream.device()) + ": " +
                                              std::to_string(threads) + " threads a team, but the kernel takes 1 to " +
                                              std::to_string(most));
  require(teams <= 0x7fffffff, "launch_teams on " + to_string(stream.device()) + ": " + std::to_string(teams) +
                                   " teams are more than a launch takes (2147483647): launch them in parts");
  Kernel functor = kernel;
  void* arguments[] = {&functor};
  launch_function(stream, TeamsFunction<Kernel>::address(), dim3(static_cast<unsigned>(teams)),
                  dim3(static_cast<unsigned>(threads / block_rows_of<Kernel>()), block_rows_of<Kernel>()), shared_bytes,
                  arguments);
}

template <class Kernel>
int resident_teams(Device device, int threads, std::size_t shared_bytes) {
  static_cast<void>(&TeamsFunction<Kernel>::registered);
  return resident_blocks(device, TeamsFunction<Kernel>::address(), threads, shared_bytes);
}

}  // namespace slipstream::cuda
