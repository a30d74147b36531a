#pragma once
// Star stencils with one definition for host and GPU. Cells are updated one by one, or by threads that take a few cells
// along x and march along z with a register window.
#include <algorithm>
#include <cstdint>

#include <slipstream/device/caches.hpp>
#include <slipstream/launch.hpp>

#include "solver/stencil/formulas.hpp"

namespace slipstream::stencil {

/// Adjacent cells along x, which are loaded and stored at once.
template <class T, int cells>
struct alignas(sizeof(T) * cells) Pack {
  T of[cells];
};
template <int cells, class T>
SLIP_FN Pack<T, cells> load_pack(const T* from) {
  return load_constant(reinterpret_cast<const Pack<T, cells>*>(from));
}

/// Updates a cell by an explicit step of the heat equation.
template <class T>
struct Diffuse {
  T* next;
  T rate;
  template <int cells>
  struct Read {};
  template <int cells>
  SLIP_FN Read<cells> read(std::int64_t) const {
    return {};
  }
  template <int cells>
  SLIP_FN T value(const Read<cells>&, int, T u, T laplacian) const {
    return u + rate * laplacian;
  }
};

/// Updates a cell of the wave equation; `next` holds the u of the step before.
template <class T>
struct Propagate {
  T* next;
  const T* courant;
  template <int cells>
  struct Read {
    Pack<T, cells> before, courant;
  };
  template <int cells>
  SLIP_FN Read<cells> read(std::int64_t at) const {
    return {*reinterpret_cast<const Pack<T, cells>*>(next + at), load_pack<cells>(courant + at)};
  }
  template <int cells>
  SLIP_FN T value(const Read<cells>& read, int n, T u, T laplacian) const {
    return leap(u, read.before.of[n], read.courant.of[n], laplacian);
  }
};

/// Shape of a team of threads that updates columns of cells; docs/notes/performance.md has the times of other shapes.
struct ColumnShape {
  int width, height;  ///< number of threads along x and along y
  int ahead;          ///< number of planes that are loaded before they are needed
  int resident;       ///< number of thread blocks that a multiprocessor runs at the same time
  int deepest;        ///< most planes z of a thread block; planes that neighbouring blocks share stay in the L2 cache
};
template <class T>
constexpr ColumnShape column_shape(int radius) {
  // Heat in f32 reaches 97 % of copy speed with 8 thread blocks a multiprocessor, 88 % with 10 (48 registers a thread).
  if (radius == 1 && sizeof(T) == 8) return {32, 4, 1, 9, 8};
  if (radius == 1) return {32, 4, 1, 8, 4};
  if (sizeof(T) == 4) return {16, 8, 1, 4, 16};
  return {32, 8, 0, 2, 32};
}
/// Number of adjacent cells along x that a thread updates at once: 16 bytes of values.
template <class T>
constexpr int column_cells = 16 / sizeof(T);

template <class T, int radius, class Point>
struct StarColumns {
  static constexpr ColumnShape shape = column_shape<T>(radius);
  static constexpr int reach = radius;
  const T* u;
  Strides strides;
  StarWeights<T> weights;
  Turns turns;
  Point point;

  /// Updates a cell whose neighbours all lie in memory, without wrapping at periodic sides.
  SLIP_FN void operator()(int i, int j, int k) const {
    const std::int64_t at = strides.at(i, j, k);
    const T* const here = u + at;
    const T laplacian = star<radius>(weights, *here, [&](int axis, int d) { return here[d * strides.along(axis)]; });
    const auto read = point.template read<1>(at);
    point.next[at] = point.value(read, 0, *here, laplacian);
  }
  /// Updates `cells` adjacent cells from x index i on, in row j of planes `first` to `end`. Stores only cells from x =
  /// low to high. The index i and the length of a periodic axis x are multiples of `cells`. `turning`: neighbours along
  /// y and z may be across a periodic side.
  template <int cells, bool turning>
  SLIP_FN void march(int i, int j, int first, int end, int low, int high) const {
    constexpr int ahead = shape.ahead, kept = 2 * radius + 1 + ahead, sides = (radius + cells - 1) / cells;
    using P = Pack<T, cells>;
    const T* const column = u + strides.at(i, j, 0);
    const auto plane = [&](int k) { return column + (turning ? turns.at(2, k) : k) * strides.z; };
    const auto row = [&](int d) { return (turning ? turns.at(1, j + d) - j : d) * strides.y; };
    // Neighbours that none of the stored cells needs may lie outside of the array, so they are not read.
    const auto along = [&](int d, int span) {
      const int there = turns.at(0, i + d);
      return there + span <= low - radius || there >= high + radius ? 0 : there - i;
    };
    const bool whole = i >= low && i + cells <= high;
    P queue[kept];
    for (int n = 0; n < kept - 1; ++n) queue[n + 1] = load_pack<cells>(plane(first + n - radius));
    std::int64_t at = strides.at(i, j, first);
    for (int k = first; k < end; ++k, at += strides.z) {
      const T* const here = u + at;
      for (int n = 0; n < kept - 1; ++n) queue[n] = queue[n + 1];
      if (ahead == 0 || k + ahead < end) queue[kept - 1] = load_pack<cells>(plane(k + radius + ahead));
      const P own = queue[radius];
      P before[radius], behind[radius];
      for (int r = 0; r < radius; ++r) {
        before[r] = load_pack<cells>(here + row(-r - 1));
        behind[r] = load_pack<cells>(here + row(r + 1));
      }
      const auto read = point.template read<cells>(at);
      T line[cells * (2 * sides + 1)];
      constexpr int middle = sides * cells;
      for (int n = 0; n < cells; ++n) line[middle + n] = own.of[n];
      if constexpr (radius == 1) {
        for (int r = 1; r <= radius; ++r) {
          line[middle - r] = load_constant(here + along(-r, 1));
          line[middle + cells + r - 1] = load_constant(here + along(cells + r - 1, 1));
        }
      } else {
        for (int s = 1; s <= sides; ++s) {
          const P left = load_pack<cells>(here + along(-s * cells, cells)),
                  right = load_pack<cells>(here + along(s * cells, cells));
          for (int n = 0; n < cells; ++n) {
            line[middle - s * cells + n] = left.of[n];
            line[middle + s * cells + n] = right.of[n];
          }
        }
      }
      P result;
      for (int n = 0; n < cells; ++n) {
        const T laplacian = star<radius>(weights, own.of[n], [&](int axis, int d) {
          if (axis == 0) return line[middle + n + d];
          if (axis == 1) return d < 0 ? before[-d - 1].of[n] : behind[d - 1].of[n];
          return queue[radius + d].of[n];
        });
        result.of[n] = point.value(read, n, own.of[n], laplacian);
      }
      if (whole) {
        *reinterpret_cast<P*>(point.next + at) = result;
      } else {
        for (int n = 0; n < cells; ++n)
          if (i + n >= low && i + n < high) point.next[at + n] = result.of[n];
      }
    }
  }
};

/// Distributes the cells of a box to teams of threads: tiles along x, then tiles along y, then layers of planes.
template <class Columns, int cells>
struct Marching {
  static constexpr ColumnShape shape = Columns::shape;
  static constexpr int threads = shape.width * shape.height, resident = shape.resident;
  Columns columns;
  int low[3], high[3], first_x;  ///< corners of the updated box; its lowest x, rounded down to whole vectors of cells
  int tiles_x, tiles_y, layers, depth;

  Marching(const Columns& of, const Box& box) : columns(of) {
    constexpr std::int64_t wanted = 400000;  // number of threads that suffices to fill a GPU
    for (int a = 0; a < 3; ++a) {
      low[a] = static_cast<int>(box.lo[a]);
      high[a] = static_cast<int>(box.hi[a]);
    }
    const auto pieces = [](int count, int size) { return (count + size - 1) / size; };
    first_x = low[0] >= 0 ? low[0] / cells * cells : -pieces(-low[0], cells) * cells;
    tiles_x = pieces(high[0] - first_x, shape.width * cells);
    tiles_y = pieces(high[1] - low[1], shape.height);
    const std::int64_t planes = high[2] - low[2], plane = std::int64_t{tiles_x} * tiles_y * threads;
    depth =
        static_cast<int>(std::clamp<std::int64_t>(plane * planes / wanted, std::min(4, shape.deepest), shape.deepest));
    layers = pieces(high[2] - low[2], depth);
  }
  std::int64_t teams() const { return std::int64_t{tiles_x} * tiles_y * layers; }

  /// Whether neighbours of cells `first` to `end` of an axis wrap around.
  SLIP_FN bool beyond(int axis, int first, int end) const {
    const int all = columns.turns.cells[axis];
    return all > 0 && (first < Columns::reach || end + Columns::reach > all);
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const auto index = static_cast<int>(team.index()), row = index / tiles_x;
    const int first = low[2] + row / tiles_y * depth, end = first + depth < high[2] ? first + depth : high[2];
    const int first_row = low[1] + row % tiles_y * shape.height;
    const bool turning = beyond(1, first_row, first_row + shape.height) || beyond(2, first, end);
    team.each([&](int thread) {
      const int i = first_x + (index % tiles_x * shape.width + thread % shape.width) * cells,
                j = first_row + thread / shape.width;
      if (i >= high[0] || j >= high[1]) return;
      // All threads of a block take the same branch. If neighbours wrap around a periodic axis, a thread computes their
      // addresses again for each plane.
      if (turning) {
        columns.template march<cells, true>(i, j, first, end, low[0], high[0]);
      } else {
        columns.template march<cells, false>(i, j, first, end, low[0], high[0]);
      }
    });
  }
};

template <class T, int radius, class Point>
void launch_columns(Stream& stream, const Box& box, const StarColumns<T, radius, Point>& columns) {
  if (box.empty()) return;
  if (stream.device().backend == Backend::host) return launch_on_host(stream, box, columns);
  const auto march = [&](const auto& kernel) {
    launch_teams_on_gpu(stream, kernel.teams(), kernel.threads, 0, kernel);
  };
  using Columns = StarColumns<T, radius, Point>;
  // Threads load packs of adjacent cells. In a periodic row, packs work only if the row consists of whole packs.
  if (columns.turns.cells[0] % column_cells<T> == 0) return march(Marching<Columns, column_cells<T>>(columns, box));
  march(Marching<Columns, 1>(columns, box));
}

}  // namespace slipstream::stencil
