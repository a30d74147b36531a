#pragma once
#include <array>
#include <utility>

#include <slipstream/device/function.hpp>

namespace slipstream::lbm {

// Lattice velocities come in opposite pairs: 0 rests, 2k and 2k - 1 are opposite. Weights: Qian, d'Humieres & Lallemand
// 1992. A family lists the pairs, by their first velocity, that reflections of the axes map to one another. Reflections
// swap two pairs, or among four a, b, c, d two and two, so that sums of the form (a + b) + (c + d) keep their bits.

struct D3Q19 {
  static constexpr int dimensions = 3;
  static constexpr int q = 19;
  static constexpr int velocity[q][3] = {{0, 0, 0},   {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                                         {0, 0, 1},   {0, 0, -1}, {1, 1, 0},   {-1, -1, 0}, {1, 0, 1},
                                         {-1, 0, -1}, {0, 1, 1},  {0, -1, -1}, {1, -1, 0},  {-1, 1, 0},
                                         {1, 0, -1},  {-1, 0, 1}, {0, 1, -1},  {0, -1, 1}};
  static constexpr double weight(int i) { return i == 0 ? 1.0 / 3 : i < 7 ? 1.0 / 18 : 1.0 / 36; }
  static constexpr int families = 6;
  static constexpr int family[families][4] = {{1}, {3}, {5}, {7, 13}, {9, 15}, {11, 17}};
};

struct D3Q27 {
  static constexpr int dimensions = 3;
  static constexpr int q = 27;
  static constexpr int velocity[q][3] = {{0, 0, 0},   {1, 0, 0},  {-1, 0, 0},   {0, 1, 0},  {0, -1, 0},  {0, 0, 1},
                                         {0, 0, -1},  {1, 1, 0},  {-1, -1, 0},  {1, 0, 1},  {-1, 0, -1}, {0, 1, 1},
                                         {0, -1, -1}, {1, -1, 0}, {-1, 1, 0},   {1, 0, -1}, {-1, 0, 1},  {0, 1, -1},
                                         {0, -1, 1},  {1, 1, 1},  {-1, -1, -1}, {1, 1, -1}, {-1, -1, 1}, {1, -1, 1},
                                         {-1, 1, -1}, {-1, 1, 1}, {1, -1, -1}};
  static constexpr double weight(int i) { return i == 0 ? 8.0 / 27 : i < 7 ? 2.0 / 27 : i < 19 ? 1.0 / 54 : 1.0 / 216; }
  static constexpr int families = 7;
  static constexpr int family[families][4] = {{1}, {3}, {5}, {7, 13}, {9, 15}, {11, 17}, {19, 21, 23, 25}};
};

struct D2Q9 {
  static constexpr int dimensions = 2;
  static constexpr int q = 9;
  static constexpr int velocity[q][3] = {{0, 0, 0}, {1, 0, 0},   {-1, 0, 0}, {0, 1, 0}, {0, -1, 0},
                                         {1, 1, 0}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}};
  static constexpr double weight(int i) { return i == 0 ? 4.0 / 9 : i < 5 ? 1.0 / 9 : 1.0 / 36; }
  static constexpr int families = 3;
  static constexpr int family[families][4] = {{1}, {3}, {5, 7}};
};

/// A lattice with x and z swapped, for memory with rows along z. Only addresses use it; collisions use the lattice
/// itself.
template <class L>
struct AlongZ {
  static constexpr int dimensions = L::dimensions;
  static constexpr int q = L::q;
  static constexpr std::array<std::array<int, 3>, q> velocity = [] {
    std::array<std::array<int, 3>, q> turned{};
    for (int i = 0; i < q; ++i) turned[i] = {L::velocity[i][2], L::velocity[i][1], L::velocity[i][0]};
    return turned;
  }();
};

/// Index of the population with a given velocity.
template <class L>
constexpr int index_of(int x, int y, int z) {
  int i = 0;
  while (L::velocity[i][0] != x || L::velocity[i][1] != y || L::velocity[i][2] != z) ++i;
  return i;
}

constexpr int opposite_of(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }

/// Calls f(std::integral_constant<int, i>) for i = first .. last - 1, unrolled, each index a constant.
template <int first, int last, class F>
SLIP_FN void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, first + i>{}), ...); }
  (std::make_integer_sequence<int, last - first>{});
}

}  // namespace slipstream::lbm
