#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <slipstream/box.hpp>
#include <slipstream/device/function.hpp>

namespace slipstream::detail {
class StreamImpl;
/// Queues a task on a host stream (or records it while the stream is being captured).
void submit(StreamImpl& stream, std::function<void()> task);
/// Parallel for: calls body(begin, end) on pieces of [0, count) from the threads of the process's pool. Returns when
/// all are done. Small counts run on the caller.
void parallel(std::int64_t count, std::int64_t cost, const std::function<void(std::int64_t, std::int64_t)>& body);
}  // namespace slipstream::detail

namespace slipstream::host {

/// A team of threads that one host thread runs in a loop, so the end of every each() acts as a barrier.
class Team {
 public:
  static constexpr bool sequential = true;
  SLIP_FN Team(std::int64_t index, int threads, void* shared) : index_(index), threads_(threads), shared_(shared) {}
  SLIP_FN std::int64_t index() const { return index_; }
  SLIP_FN int threads() const { return threads_; }
  template <class T>
  SLIP_FN T* shared() const {
    return static_cast<T*>(shared_);
  }
  template <class F>
  SLIP_FN void each(F f) const {
    for (int t = 0; t < threads_; ++t) f(t);
  }

 private:
  std::int64_t index_;
  int threads_;
  void* shared_;
};

#if defined(SLIPSTREAM_LOOPS_APART)
// launch() and launch_teams() are only declared here. Another compiler than CUDA's compiles their definitions from the
// same file (CMake: slipstream_loops).
template <class Kernel>
void launch(detail::StreamImpl& stream, const Box& box, const Kernel& kernel);
template <class Kernel>
void launch_teams(detail::StreamImpl& stream, std::int64_t teams, int threads, std::size_t shared_bytes,
                  const Kernel& kernel);
#else
// flatten inlines all calls: only a loop without calls is vectorised.
template <class Kernel>
[[gnu::flatten]] void run_rows(const Box& box, const Kernel& kernel, std::int64_t first, std::int64_t last) {
  const Kernel local = kernel;
  const int lo = static_cast<int>(box.lo[0]), hi = static_cast<int>(box.hi[0]);
  const std::int64_t rows = box.extent(1);
  for (std::int64_t row = first; row < last; ++row) {
    const int j = static_cast<int>(box.lo[1] + row % rows), k = static_cast<int>(box.lo[2] + row / rows);
    if constexpr (requires { local.row(j, k); }) {
      const auto cells = local.row(j, k);
      if constexpr (requires { cells.cells(lo, hi); }) {
        cells.cells(lo, hi);
      } else {
#pragma GCC ivdep
        for (int i = lo; i < hi; ++i) cells(i);
      }
    } else {
#pragma GCC ivdep
      for (int i = lo; i < hi; ++i) local(i, j, k);
    }
  }
}

template <class Kernel>
[[gnu::noipa]] void launch(detail::StreamImpl& stream, const Box& box, const Kernel& kernel) {
  detail::submit(stream, [box, kernel] {
    const std::int64_t rows = box.extent(1) * box.extent(2);
    detail::parallel(rows, box.extent(0),
                     [&](std::int64_t first, std::int64_t last) { run_rows(box, kernel, first, last); });
  });
}

// launch() and launch_teams() are not inlined, so that objects compiled without their definitions can link to them.
template <class Kernel>
[[gnu::noipa]] void launch_teams(detail::StreamImpl& stream, std::int64_t teams, int threads, std::size_t shared_bytes,
                                 const Kernel& kernel) {
  detail::submit(stream, [=] {
    std::int64_t cost = threads;
    if constexpr (requires { kernel.cost; }) cost = kernel.cost;  // cost: memory words that a thread block accesses
    detail::parallel(teams, cost, [&](std::int64_t first, std::int64_t last) {
      std::vector<std::max_align_t> shared(shared_bytes / sizeof(std::max_align_t) + 1);
      for (std::int64_t t = first; t < last; ++t) kernel(Team(t, threads, shared.data()));
    });
  });
}
#endif

}  // namespace slipstream::host
