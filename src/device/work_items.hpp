#pragma once
#include <cstdint>
#include <functional>

namespace slipstream {

/// Calls work(item) for each item of [0, count), each once, from the threads of the process's pool; whoever is free
/// takes the next. What an item throws (the first of them) is thrown again when all have ended. `cost` is about what an
/// item takes, in words touched: few and small items are not worth to wake threads for.
void for_each_item(std::int64_t count, const std::function<void(std::int64_t)>& work, std::int64_t cost = 1 << 20);

}  // namespace slipstream
