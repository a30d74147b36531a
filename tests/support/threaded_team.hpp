#pragma once
// Runs blocks of GPU threads with one host thread per GPU thread, including state that a kernel keeps between barriers.
// It serves kernels that are written for GPUs only.
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace slipstream {

class ThreadedTeam {
 public:
  static constexpr bool sequential = false;
  ThreadedTeam(std::int64_t index, int thread, int threads, void* shared, std::barrier<>& all)
      : index_(index), thread_(thread), threads_(threads), shared_(shared), all_(&all) {}
  std::int64_t index() const { return index_; }
  int threads() const { return threads_; }
  template <class T>
  T* shared() const {
    return static_cast<T*>(shared_);
  }
  template <class F>
  void each(F f) const {
    f(thread_);
    all_->arrive_and_wait();
  }

 private:
  std::int64_t index_;
  int thread_, threads_;
  void* shared_;
  std::barrier<>* all_;
};

/// Runs one block of GPU threads after the other. Shared memory keeps the contents of the previous block.
template <class Kernel>
void run_threaded(std::int64_t teams, int threads, std::size_t shared_bytes, const Kernel& kernel) {
  std::vector<std::max_align_t> shared(shared_bytes / sizeof(std::max_align_t) + 1);
  std::barrier<> all(threads);
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      for (std::int64_t team = 0; team < teams; ++team) {
        kernel(ThreadedTeam(team, thread, threads, shared.data(), all));
        all.arrive_and_wait();
      }
    });
}

}  // namespace slipstream
