#include "device/work_items.hpp"

#include <atomic>
#include <exception>
#include <mutex>

#include <slipstream/device/host/launch.hpp>

namespace slipstream {

void for_each_item(std::int64_t count, const std::function<void(std::int64_t)>& work, std::int64_t cost) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  // Each call takes the next free item, because the pool splits ranges evenly but items differ in cost.
  detail::parallel(count, cost, [&](std::int64_t, std::int64_t) {
    try {
      for (std::int64_t item = next++; item < count; item = next++) work(item);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace slipstream
