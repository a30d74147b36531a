#pragma once
// Cells of a box: one by one along rows on the host; on a GPU a thread goes up a column and keeps what it reads along
// z.
#include <algorithm>

#include <slipstream/launch.hpp>

namespace slipstream::stencil {

/// `Column`: a functor with `radius`, operator()(i, j, k), and march(i, j, first, end).
template <class Column>
struct Marching {
  Column column;
  int low, high, depth;
  SLIP_FN void operator()(int i, int j, int n) const {
    const int first = low + n * depth;
    column.march(i, j, first, first + depth < high ? first + depth : high);
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
  const Box columns{{box.lo[0], box.lo[1], 0}, {box.hi[0], box.hi[1], (box.extent(2) + depth - 1) / depth}};
  launch_on_gpu(stream, columns,
                Marching<Column>{column, static_cast<int>(box.lo[2]), static_cast<int>(box.hi[2]), depth});
}

}  // namespace slipstream::stencil
