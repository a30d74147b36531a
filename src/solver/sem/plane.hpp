#pragma once
// What the kernels of an element share: a team has a thread for each (i, j) of the planes of its elements and marches
// along k. Derivatives along r and s read a plane in shared memory, those along t the thread's own column.
#include <bit>
#include <cstdint>
#include <utility>

#include <slipstream/launch.hpp>

namespace slipstream::sem {

/// D by rows, the weights, one over them, and the points. A kernel's argument, so that no pointer is read for it.
template <int n, class T = double>
struct Basis {
  T d[n * n];
  T w[n];
  T inverse[n];
  T x[n];
};

/// Elements of a team: small ones share it, so that a warp has no idle threads.
template <int n>
inline constexpr int elements_of_a_team = n* n >= 48 ? 1 : (64 + n * n - 1) / (n * n);

/// A value of each thread that lives from phase to phase: a register on a GPU; a place in an array on the host, where
/// one thread runs all of a team's.
template <class T, int threads, bool sequential>
struct OfThread {
  T value[sequential ? threads : 1];
  SLIP_FN T& operator()(int thread) { return value[sequential ? thread : 0]; }
};

template <class F, int... k>
SLIP_FN void unrolled(const F& f, std::integer_sequence<int, k...>) {
  (f(k), ...);
}
/// f(0) to f(n - 1). On a GPU without a loop: arrays that k indexes are registers only so.
template <int n, bool unroll, class F>
SLIP_FN void for_planes(const F& f) {
  if constexpr (unroll) {
    unrolled(f, std::make_integer_sequence<int, n>());
  } else {
    for (int k = 0; k < n; ++k) f(k);
  }
}

/// Of thread `t`: which of its team's elements it has, and its place in the plane.
template <int n>
struct Place {
  int slot, i, j;
  SLIP_FN explicit Place(int t) : slot(t / (n * n)), i(t % n), j(t / n % n) {}
  SLIP_FN std::int64_t point(std::int64_t element, int k) const { return (element * n + k) * (n * n) + j * n + i; }
  SLIP_FN int cell() const { return slot * n * n + j * n + i; }
};

/// The same of team `team`, whose elements follow those of the team before.
template <int n>
struct Seat : Place<n> {
  std::int64_t element;
  SLIP_FN Seat(std::int64_t team, int t) : Place<n>(t), element(team * elements_of_a_team<n> + t / (n * n)) {}
  using Place<n>::point;
  SLIP_FN std::int64_t point(int k) const { return point(element, k); }
};

/// Adds up what at(t) names of the threads of each element, by halves; it ends at the element's first.
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
