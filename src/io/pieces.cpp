#include "io/pieces.hpp"

#include <algorithm>

namespace slipstream {

std::vector<Box> cut_into_pieces(const Box& box, std::int64_t bytes_per_cell, std::int64_t limit) {
  if (box.empty()) return {};
  const std::int64_t cells = std::max<std::int64_t>(1, limit / bytes_per_cell);
  const std::int64_t row = box.extent(0);
  const std::int64_t layer = row * box.extent(1);
  Extent step = box.extents();
  step[2] = std::clamp<std::int64_t>(cells / layer, 1, step[2]);
  if (layer > cells) step[1] = std::clamp<std::int64_t>(cells / row, 1, step[1]);
  if (row > cells) step[0] = cells;

  std::vector<Box> pieces;
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; z += step[2])
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; y += step[1])
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; x += step[0])
        pieces.push_back(
            {{x, y, z},
             {std::min(x + step[0], box.hi[0]), std::min(y + step[1], box.hi[1]), std::min(z + step[2], box.hi[2])}});
  return pieces;
}

}  // namespace slipstream
