#pragma once
// Cells of a box: one by one along rows on the host; on a GPU a thread goes up a column and keeps what it reads along
// z.
#include <algorithm>

#include <slipstream/launch.hpp>

namespace slipstream::stencil {

/// `Column`: a functor with operator()(i, j, k), march(i, j, first, end), the `threads` of a block, and `tile`, its
/// cells along x: a block of short rows holds several, which share what they read along y.
template <class Column>
struct Marching {
  static constexpr int threads = Column::threads;
  Column column;
  int low_x, high_x, tiles;  ///< along x
  int low, high, depth;      ///< along z
  SLIP_FN void operator()(int n, int j, int m) const {
    const int i = low_x + m % tiles * Column::tile + n, first = low + m / tiles * depth;
    if (i < high_x) column.march(i, j, first, first + depth < high ? first + depth : high);
  }
};

/// Threads enough for a GPU, and columns long enough that their ends do not count.
inline int depth_of(const Box& box) {
  constexpr std::int64_t wanted = 300000;
  const std::int64_t columns = box.extent(0) * box.extent(1), pieces = std::max<std::int64_t>(1, wanted / columns);
  return static_cast<int>(std::clamp<std::int64_t>(box.extent(2) / pieces, 4, 32));
}

template <class Column>
void launch_columns(Stream& stream, const Box& box, const Column& column) {
  if (box.empty()) return;
  if (stream.device().backend == Backend::host) return launch_on_host(stream, box, column);
  const int depth = depth_of(box);
  const auto pieces = [](std::int64_t of, int size) { return static_cast<int>((of + size - 1) / size); };
  const int tiles = pieces(box.extent(0), Column::tile), layers = pieces(box.extent(2), depth);
  launch_on_gpu(stream, {{0, box.lo[1], 0}, {Column::tile, box.hi[1], std::int64_t{tiles} * layers}},
                Marching<Column>{column, static_cast<int>(box.lo[0]), static_cast<int>(box.hi[0]), tiles,
                                 static_cast<int>(box.lo[2]), static_cast<int>(box.hi[2]), depth});
}

}  // namespace slipstream::stencil
