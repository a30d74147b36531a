#pragma once
#include <cstdint>
#include <functional>

namespace slipstream {

/// Calls work(item) once for each item of [0, count) on threads of the process's pool; a free thread takes the next
/// item. The first exception is rethrown after all have ended. `cost`: approximate cost of an item in words touched;
/// few small items do not justify waking threads.
void for_each_item(std::int64_t count, const std::function<void(std::int64_t)>& work, std::int64_t cost = 1 << 20);

}  // namespace slipstream
