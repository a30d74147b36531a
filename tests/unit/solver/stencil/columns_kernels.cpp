// The GPU kernel by columns, run on the host, compared with a loop over cells.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include <slipstream/buffer.hpp>

#include "solver/stencil/columns.hpp"

namespace slipstream::stencil {
inline namespace columns_kernels {

constexpr Extent cells{24, 7, 11};

/// A block with ghosts along axes that are not periodic; rows are aligned to 64 bytes.
template <class T>
struct Values {
  Buffer<T> memory;
  Strides strides;
  std::int64_t origin;

  Values(int radius, const Turns& turns, unsigned seed) : strides{1, 0, 0}, origin(0) {
    const auto wide = [&](int a) { return cells[a] + (turns.cells[a] > 0 ? 0 : 4 * radius); };
    strides.y = (wide(0) + 15) / 16 * 16;
    strides.z = strides.y * wide(1);
    for (int a = 1; a < 3; ++a)
      if (turns.cells[a] == 0) origin += 2 * radius * strides.along(a);
    if (turns.cells[0] == 0) origin += 16;
    memory = Buffer<T>(Device{Backend::host, 0}, static_cast<std::size_t>(strides.z * wide(2) + 16));
    for (std::size_t n = 0; n < memory.size(); ++n) {
      seed = seed * 1664525u + 1013904223u;
      memory.data()[n] = static_cast<T>(seed >> 16) / 65536;
    }
  }
  T* cell() { return memory.data() + origin; }
};

template <class T, int radius, int pack, class Point, class Update>
void expect_same(const Turns& turns, const Box& box, Point point, Values<T>& next, const Update& update) {
  Values<T> u(radius, turns, 1);
  StarWeights<T> weights{{T(-2.5), T(0.7), T(-0.2), T(0.05), T(-0.01)}};
  std::vector<T> wanted(next.memory.data(), next.memory.data() + next.memory.size());
  for (int k = static_cast<int>(box.lo[2]); k < box.hi[2]; ++k)
    for (int j = static_cast<int>(box.lo[1]); j < box.hi[1]; ++j)
      for (int i = static_cast<int>(box.lo[0]); i < box.hi[0]; ++i) {
        const int cell[3] = {i, j, k};
        const std::int64_t at = u.strides.at(i, j, k);
        const T laplacian = star<radius>(weights, u.cell()[at], [&](int axis, int d) {
          const int n = turns.cells[axis], there = cell[axis] + d;
          return u.cell()[at + ((n > 0 ? (there + n) % n : there) - cell[axis]) * u.strides.along(axis)];
        });
        wanted[static_cast<std::size_t>(u.origin + at)] = update(u.cell()[at], at, laplacian);
      }
  point.next = next.cell();
  Stream stream(Device{Backend::host, 0});
  const Marching<StarColumns<T, radius, Point>, pack> columns({u.cell(), u.strides, weights, turns, point}, box);
  EXPECT_GT(columns.layers, 1);
  launch_teams_on_host(stream, columns.teams(), columns.threads, 0, columns);
  stream.synchronize();
  EXPECT_EQ(std::memcmp(next.memory.data(), wanted.data(), next.memory.bytes()), 0)
      << "radius " << radius << ", " << pack << " cells, along x from " << box.lo[0] << " to " << box.hi[0];
}

template <class T, int radius>
void expect_waves(const Turns& turns, const Box& box) {
  Values<T> courant(radius, turns, 3);
  const auto one = [&](auto pack) {
    Values<T> next(radius, turns, 2);
    expect_same<T, radius, decltype(pack)::value>(
        turns, box, Propagate<T>{nullptr, courant.cell()}, next,
        [&](T u, std::int64_t at, T laplacian) { return leap(u, next.cell()[at], courant.cell()[at], laplacian); });
  };
  one(std::integral_constant<int, column_cells<T>>{});
  one(std::integral_constant<int, 1>{});
}

template <class T>
void expect_all(const Turns& turns, const Box& box) {
  Values<T> next(1, turns, 2);
  expect_same<T, 1, column_cells<T>>(turns, box, Diffuse<T>{nullptr, T(0.1)}, next,
                                     [](T u, std::int64_t, T laplacian) { return u + T(0.1) * laplacian; });
  expect_waves<T, 1>(turns, box);
  expect_waves<T, 2>(turns, box);
  expect_waves<T, 3>(turns, box);
  expect_waves<T, 4>(turns, box);
}

TEST(Columns, AreTheCellsOfABoxAndNoOthers) {
  const Box boxes[] = {
      {{0, 0, 0}, cells}, {{1, 2, 1}, {23, 6, 10}}, {{5, 0, 2}, {6, 7, 11}}, {{-1, -1, -1}, {22, 7, 10}}};
  for (const Box& box : boxes) {
    expect_all<float>({}, box);
    expect_all<double>({}, box);
  }
}

TEST(Columns, TurnAtTheOtherEnd) {
  for (int axes = 1; axes < 8; ++axes) {
    Turns turns;
    for (int a = 0; a < 3; ++a)
      if (axes >> a & 1) turns.cells[a] = static_cast<int>(cells[a]);
    expect_all<float>(turns, {{0, 0, 0}, cells});
    expect_all<double>(turns, {{0, 0, 0}, cells});
  }
}

}  // namespace columns_kernels
}  // namespace slipstream::stencil
