// The process-wide thread pool that runs all kernels.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <slipstream/device.hpp>
#include <slipstream/device/host/launch.hpp>
#include <slipstream/signal.hpp>

namespace slipstream::detail {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { serve(t); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      round_.fetch_add(1, std::memory_order_release);
    }
    start_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  int threads() const { return threads_; }

  /// Runs a kernel on all threads. False if a kernel of another stream uses the pool; the caller then works alone.
  bool run(std::int64_t count, const Body& body) {
    std::unique_lock region(region_, std::try_to_lock);
    if (!region.owns_lock()) return false;
    {
      std::lock_guard lock(mutex_);
      body_ = &body;
      count_ = count;
      open_.store(threads_ - 1, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
    }
    start_.notify_all();
    work(0);
    for (int spin = 0; spin < spins && open_.load(std::memory_order_acquire) > 0; ++spin) __builtin_ia32_pause();
    if (open_.load(std::memory_order_acquire) > 0) {
      std::unique_lock lock(mutex_);
      finished_.wait(lock, [&] { return open_.load(std::memory_order_acquire) == 0; });
    }
    return true;
  }

 private:
  // Polls before a thread sleeps. Short kernels follow each other within microseconds, so a spin avoids a wake-up.
  static constexpr int spins = 2000;

  void work(int thread) const {
    const std::int64_t first = count_ * thread / threads_, last = count_ * (thread + 1) / threads_;
    if (first < last) (*body_)(first, last);
  }

  void serve(int thread) {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < spins && round_.load(std::memory_order_acquire) == seen; ++spin) __builtin_ia32_pause();
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return round_.load(std::memory_order_acquire) != seen; });
        seen = round_.load(std::memory_order_acquire);
        if (stop_) return;
      }
      work(thread);
      if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard lock(mutex_);
        finished_.notify_one();
      }
    }
  }

  const int threads_;
  std::vector<std::thread> workers_;
  std::mutex region_, mutex_;
  std::condition_variable start_, finished_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> open_{0};
  const Body* body_ = nullptr;
  std::int64_t count_ = 0;
  bool stop_ = false;
};

int cores_allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::mutex pool_mutex;
std::shared_ptr<Pool> pool_in_use;

std::shared_ptr<Pool> pool() {
  std::lock_guard lock(pool_mutex);
  if (!pool_in_use) pool_in_use = std::make_shared<Pool>(cores_allowed());
  return pool_in_use;
}

}  // namespace

void parallel(std::int64_t count, std::int64_t cost, const Body& body) {
#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
  (void)cost;
  if (count > 0) body(0, count);
#else
  constexpr std::int64_t worth_sharing = 8192;
  if (count <= 0) return;
  if (count > 1 && count * cost >= worth_sharing) {
    const auto shared = pool();
    if (shared->threads() > 1 && shared->run(count, body)) return;
  }
  body(0, count);
#endif
}

void host_backoff(int round) {
  if (round < 16) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(20 + round, 200)));
  }
}

std::uint64_t host_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace slipstream::detail

namespace slipstream {

void set_host_threads(int count) {
  const int threads = count > 0 ? count : detail::cores_allowed();
  std::lock_guard lock(detail::pool_mutex);
  if (!detail::pool_in_use || detail::pool_in_use->threads() != threads)
    detail::pool_in_use = std::make_shared<detail::Pool>(threads);
}

int host_threads() { return detail::pool()->threads(); }

}  // namespace slipstream
