#pragma once
// Tiles of cells along x and y that a step by moments can be shared out by, the wider one first.
#include <array>
#include <cstddef>

namespace slipstream::lbm {

/// By the bytes of a stored moment: of 16 bits a thread takes two cells.
constexpr std::array<std::array<int, 2>, 2> tiles_of(std::size_t bytes) {
  const int cells = bytes == 2 ? 512 : 256;
  return {{{64, cells / 64}, {32, cells / 32}}};
}

/// Of those of GPUs that nobody has chosen, and of all in blocks beside walls that the step knows.
constexpr int usual_tile_width(std::size_t bytes) { return bytes == 8 ? 32 : 64; }

}  // namespace slipstream::lbm
