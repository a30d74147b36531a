#pragma once
#include <slipstream/box.hpp>
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

#include <slipstream/device/function.hpp>
#include <slipstream/device/host/launch.hpp>
#if defined(__CUDACC__)
#include <slipstream/device/cuda/launch.hpp>
#endif

namespace slipstream {

/// Runs a kernel on every cell of a box as launch() does, for GPUs only: the host's loops are not compiled.
template <class Kernel>
void launch_on_gpu([[maybe_unused]] Stream& stream, const Box& box, [[maybe_unused]] const Kernel& kernel) {
  if (box.empty()) return;
#if defined(__CUDACC__)
  cuda::launch(stream, box, kernel);
#else
  throw Error(ErrorCode::internal, "a kernel for a GPU was launched from a file that was not compiled as CUDA");
#endif
}

/// Runs a kernel on every cell of a box as launch() does, for the host only: it is not compiled for GPUs.
template <class Kernel>
void launch_on_host(Stream& stream, const Box& box, const Kernel& kernel) {
  if (!box.empty()) host::launch(stream.impl(), box, kernel);
}

/// Runs a kernel by teams of threads as launch_teams() does, but compiled for one backend only.
template <class Kernel>
void launch_teams_on_gpu([[maybe_unused]] Stream& stream, std::int64_t teams, [[maybe_unused]] int threads,
                         [[maybe_unused]] std::size_t shared_bytes, [[maybe_unused]] const Kernel& kernel) {
  if (teams <= 0) return;
#if defined(__CUDACC__)
  cuda::launch_teams(stream, teams, threads, shared_bytes, kernel);
#else
  throw Error(ErrorCode::internal, "a kernel for a GPU was launched from a file that was not compiled as CUDA");
#endif
}
template <class Kernel>
void launch_teams_on_host(Stream& stream, std::int64_t teams, int threads, std::size_t shared_bytes,
                          const Kernel& kernel) {
  if (teams > 0) host::launch_teams(stream.impl(), teams, threads, shared_bytes, kernel);
}

/// Runs `kernel(i, j, k)` (int) once for every cell of the box, in no order; cells must not depend on one another.
/// `kernel` is a trivially copyable functor with `SLIP_FN void operator()(int, int, int) const`. A functor with
/// branches that depend on j and k only may offer `row(j, k)`, whose result is called with i. The host then branches
/// once per row and runs a plain loop along it. If the result has `cells(first, end)`, the host calls that instead. A
/// functor may offer `bool early() const` (programmatic dependent launch). Where it is true, a GPU may place the kernel
/// while the launch before it in the stream still ends. No cell begins before that launch has ended. The waiting blocks
/// occupy the GPU, so do not use it for kernels that must leave room for other streams. Files that launch are compiled
/// as CUDA in a CUDA build (CMake: slipstream_kernels).
template <class Kernel>
void launch(Stream& stream, const Box& box, const Kernel& kernel) {
  if (stream.device().backend != Backend::host) {
    launch_on_gpu(stream, box, kernel);
  } else {
    launch_on_host(stream, box, kernel);
  }
}

/// Number of a kernel's teams (thread blocks) that a GPU's multiprocessor holds at once; 1 on the host or without CUDA.
template <class Kernel>
int resident_teams([[maybe_unused]] Device device, [[maybe_unused]] int threads,
                   [[maybe_unused]] std::size_t shared_bytes) {
#if defined(__CUDACC__)
  if (device.backend != Backend::host) return cuda::resident_teams<Kernel>(device, threads, shared_bytes);
#endif
  return 1;
}

/// Runs `kernel(team)` for `teams` teams of `threads` threads that share `shared_bytes` bytes of fast memory.
/// `team.each(f)` calls f(thread) on every thread and ends with a barrier: the code between two calls is a phase. State
/// that lives longer than a phase belongs in shared memory. A single team runs on the stream's own worker and may wait
/// for other streams. Several teams may wait for one another only if each takes its work by number from a counter. Such
/// a team waits only for work of lower numbers, so that it may run alone. A functor may state `cost`, the words that a
/// team moves, by which the host decides whether to share teams among threads. `team.sequential` is true where one
/// thread runs a whole team: loops may then go along rows.
template <class Kernel>
void launch_teams(Stream& stream, std::int64_t teams, int threads, std::size_t shared_bytes, const Kernel& kernel) {
  if (stream.device().backend == Backend::host) {
    launch_teams_on_host(stream, teams, threads, shared_bytes, kernel);
  } else {
    launch_teams_on_gpu(stream, teams, threads, shared_bytes, kernel);
  }
}

}  // namespace slipstream
