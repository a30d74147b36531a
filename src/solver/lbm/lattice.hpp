#pragma once
#include <array>
#include <utility>

#include <slipstream/device/function.hpp>

namespace slipstream::lbm {

// Velocities come in opposite pairs: 0 rests, 2k and 2k - 1 are opposite. Weights: Qian, d'Humieres & Lallemand 1992.

struct D3Q19 {
  static constexpr int dimensions = 3;
  static constexpr int q = 19;
  static constexpr int velocity[q][3] = {{0, 0, 0},   {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                                         {0, 0, 1},   {0, 0, -1}, {1, 1, 0},   {-1, -1, 0}, {1, 0, 1},
                                         {-1, 0, -1}, {0, 1, 1},  {0, -1, -1}, {1, -1, 0},  {-1, 1, 0},
                                         {1, 0, -1},  {-1, 0, 1}, {0, 1, -1},  {0, -1, 1}};
  static constexpr double weight(int i) { return i == 0 ? 1.0 / 3 : i < 7 ? 1.0 / 18 : 1.0 / 36; }
};

struct D2Q9 {
  static constexpr int dimensions = 2;
  static constexpr int q = 9;
  static constexpr int velocity[q][3] = {{0, 0, 0}, {1, 0, 0},   {-1, 0, 0}, {0, 1, 0}, {0, -1, 0},
                                         {1, 1, 0}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}};
  static constexpr double weight(int i) { return i == 0 ? 4.0 / 9 : i < 5 ? 1.0 / 9 : 1.0 / 36; }
};

constexpr int opposite_of(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }

/// Calls f(std::integral_constant<int, i>) for i = first .. last - 1, unrolled, each index a constant.
template <int first, int last, class F>
SLIP_FN void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, first + i>{}), ...); }
  (std::make_integer_sequence<int, last - first>{});
}

}  // namespace slipstream::lbm
