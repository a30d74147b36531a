#pragma once
// Parallel loops and a sort on the host, for set-up.
#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace slipstream {

/// Number of threads to process `values` values: at most 16, and one for few values.
inline std::size_t threads_for(std::size_t values) {
  constexpr std::size_t few = 1 << 15, most = 16;
  return std::clamp<std::size_t>(std::min<std::size_t>(values / few, std::thread::hardware_concurrency()), 1, most);
}

/// Calls work(part, first, last) for parts of [0, count), one per thread. After all have ended, rethrows the exception
/// of the first part that threw. If each part stops at its first error, this is the first error overall.
template <class Work>
void in_parallel(std::size_t parts, std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(parts);
  const auto run = [&](std::size_t part) {
    try {
      work(part, count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back([&run, part] { run(part); });
  run(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Allocator of arrays without initialisation, so that threads are the first to touch memory that they fill.
template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
template <class T>
using Unset = std::vector<T, UnsetAllocator<T>>;

/// Concatenates the values that find(first, last, add) passes to add(value) for each part of [0, count). Calls `find`
/// twice per part: to count and to store.
template <class T, class Find>
Unset<T> found_in_parallel(std::size_t count, const Find& find) {
  const std::size_t parts = threads_for(count);
  std::vector<std::size_t> ends(parts, 0);
  in_parallel(parts, count, [&](std::size_t part, std::size_t first, std::size_t last) {
    std::size_t here = 0;
    find(first, last, [&](const T&) { ++here; });
    ends[part] = here;
  });
  for (std::size_t part = 1; part < parts; ++part) ends[part] += ends[part - 1];
  Unset<T> found(ends.back());
  in_parallel(parts, count, [&](std::size_t part, std::size_t first, std::size_t last) {
    T* next = found.data() + (part == 0 ? 0 : ends[part - 1]);
    find(first, last, [&](const T& value) { *next++ = value; });
  });
  return found;
}

/// Stable radix sort by key(value), a number from 0, in digits of 11 bits, the lowest first; threads share each pass.
template <class Values, class Key>
void radix_sort(Values& values, const Key& key) {
  using T = typename Values::value_type;
  constexpr int bits = 11;
  constexpr std::size_t digits = std::size_t{1} << bits;
  const std::size_t count = values.size(), parts = threads_for(count);
  std::vector<std::uint64_t> highest(parts, 0);
  in_parallel(parts, count, [&](std::size_t part, std::size_t first, std::size_t last) {
    std::uint64_t most = 0;
    for (std::size_t n = first; n < last; ++n) most = std::max(most, static_cast<std::uint64_t>(key(values[n])));
    highest[part] = most;
  });
  const std::uint64_t most = *std::max_element(highest.begin(), highest.end());
  Unset<T> other(count);
  T *from = values.data(), *to = other.data();
  std::vector<std::array<std::size_t, digits>> places(parts);
  for (int shift = 0; shift < 64 && most >> shift; shift += bits) {
    const auto digit = [&](const T& value) { return static_cast<std::uint64_t>(key(value)) >> shift & (digits - 1); };
    in_parallel(parts, count, [&](std::size_t part, std::size_t first, std::size_t last) {
      places[part].fill(0);
      for (std::size_t n = first; n < last; ++n) ++places[part][digit(from[n])];
    });
    std::size_t next = 0;
    for (std::size_t d = 0; d < digits; ++d)
      for (auto& place : places) {
        const std::size_t here = place[d];
        place[d] = next;
        next += here;
      }
    in_parallel(parts, count, [&](std::size_t part, std::size_t first, std::size_t last) {
      for (std::size_t n = first; n < last; ++n) to[places[part][digit(from[n])]++] = from[n];
    });
    std::swap(from, to);
  }
  if (from == values.data()) return;
  in_parallel(parts, count, [&](std::size_t, std::size_t first, std::size_t last) {
    std::copy(from + first, from + last, values.data() + first);
  });
}

}  // namespace slipstream
