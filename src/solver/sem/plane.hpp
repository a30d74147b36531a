#pragma once
// Common parts of element kernels. A team has a thread for each (i, j) of the planes of its elements, and marches along
// k. Derivatives along r and s read a plane in shared memory, those along t the thread's own column.
#include <bit>
#include <cstdint>
#include <utility>

#include <slipstream/launch.hpp>

namespace slipstream::sem {

/// A quadrature rule on [-1, 1]: differentiation matrix (by rows), weights, their inverses, and points. It is a kernel
/// argument, which saves loads of pointers.
template <int n, class T = double>
struct Basis {
  T d[n * n];
  T w[n];
  T inverse[n];
  T x[n];
};

/// Number of elements that a thread block processes; small elements share one, so that its warps have no idle threads.
template <int n>
inline constexpr int elements_of_a_team = n* n >= 48 ? 1 : (64 + n * n - 1) / (n * n);

/// A value of each thread that persists between phases. On a GPU it is a register; on the host, where one thread runs
/// the whole team, it is an array.
template <class T, int threads, bool sequential>
struct OfThread {
  T value[sequential ? threads : 1];
  SLIP_FN T& operator()(int thread) { return value[sequential ? thread : 0]; }
};

template <class F, int... k>
SLIP_FN void unrolled(const F& f, std::integer_sequence<int, k...>) {
  (f(k), ...);
}
/// Calls f(0) to f(n - 1). GPUs get unrolled code, because arrays indexed by k stay in registers only then.
template <int n, bool unroll, class F>
SLIP_FN void for_planes(const F& f) {
  if constexpr (unroll) {
    unrolled(f, std::make_integer_sequence<int, n>());
  } else {
    for (int k = 0; k < n; ++k) f(k);
  }
}

/// Where thread `t` works: element among those of its thread block, and point (i, j) in a plane of the element.
template <int n>
struct Place {
  int slot, i, j;
  SLIP_FN explicit Place(int t) : slot(t / (n * n)), i(t % n), j(t / n % n) {}
  SLIP_FN std::int64_t point(std::int64_t element, int k) const { return (element * n + k) * (n * n) + j * n + i; }
  SLIP_FN int cell() const { return slot * n * n + j * n + i; }
};

/// Element and point for thread `t` of a thread block; consecutive thread blocks work on consecutive elements.
template <int n>
struct Seat : Place<n> {
  std::int64_t element;
  SLIP_FN Seat(std::int64_t team, int t) : Place<n>(t), element(team * elements_of_a_team<n> + t / (n * n)) {}
  using Place<n>::point;
  SLIP_FN std::int64_t point(int k) const { return point(element, k); }
};

/// Sums the values at(t) over the threads of each element by a tree, into that of the element's first thread.
template <int n, class Team, class At>
SLIP_FN void add_by_halves(const Team& team, const At& at) {
  constexpr int square = n * n;
  for (int half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(square))) / 2; half > 0; half /= 2)
    team.each([&](int t) {
      const int place = t % square;
      if (place < half && place + half < square) at(t) += at(t + half);
    });
}

}  // namespace slipstream::sem
