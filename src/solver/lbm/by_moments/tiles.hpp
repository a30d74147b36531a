#pragma once
// Tile sizes along x and y for a step by moments, the wider one first.
#include <array>
#include <cstddef>

namespace slipstream::lbm {

/// Sizes of tiles in cells, by the bytes of a stored moment; with 16 bits a thread takes two cells.
constexpr std::array<std::array<int, 2>, 2> tiles_of(std::size_t bytes) {
  const int cells = bytes == 2 ? 512 : 256;
  return {{{64, cells / 64}, {32, cells / 32}}};
}

/// Default width of a tile on GPUs. Blocks next to walls that the step handles always use it.
constexpr int usual_tile_width(std::size_t bytes) { return bytes == 8 ? 32 : 64; }

}  // namespace slipstream::lbm
