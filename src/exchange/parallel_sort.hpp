#pragma once
#include <algorithm>
#include <thread>
#include <vector>

namespace slipstream {

/// std::sort by as many threads as the process has cores for, at most 16; of few values by one.
template <class T, class Less = std::less<T>>
void parallel_sort(std::vector<T>& values, Less less = {}) {
  constexpr std::size_t few = 1 << 16;
  std::size_t parts = 1;
  while (parts < 16 && parts * 2 <= std::thread::hardware_concurrency() && values.size() / (parts * 2) > few)
    parts *= 2;
  const auto edge = [&](std::size_t part) {
    return values.begin() + static_cast<std::ptrdiff_t>(values.size() * part / parts);
  };
  const auto together = [&](std::size_t count, const auto& work) {
    std::vector<std::thread> threads;
    for (std::size_t n = 1; n < count; ++n) threads.emplace_back([&work, n] { work(n); });
    work(0);
    for (std::thread& thread : threads) thread.join();
  };
  together(parts, [&](std::size_t n) { std::sort(edge(n), edge(n + 1), less); });
  for (std::size_t width = 1; width < parts; width *= 2)
    together(parts / (2 * width), [&](std::size_t n) {
      const std::size_t first = 2 * width * n;
      std::inplace_merge(edge(first), edge(first + width), edge(first + 2 * width), less);
    });
}

}  // namespace slipstream
