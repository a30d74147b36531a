#pragma once
// Where the cells of a block lie whose solid cells are not stored: one after the other, row by row. A bit for each cell
// says whether it is stored, and a count for every 32 of them how many are stored before: a quarter of a byte a cell.
#include <slipstream/device/bits.hpp>

namespace slipstream::lbm {

/// 32 neighbours along x.
struct CellWord {
  std::uint32_t stored = 0;  ///< a bit each
  std::uint32_t before = 0;  ///< stored cells of the block before the first of them
};

/// A cell that a step takes of a packed block.
struct ListedCell {
  std::uint32_t number = 0;  ///< in the block, all its cells counted
  std::uint32_t walls = 0;   ///< bit i: what comes in as population i is what the cell sent at a wall that rests
};

/// Eight of them in 36 bytes.
struct EightCells {
  static constexpr int size = 8;
  static constexpr std::uint32_t none = 0xffffffffu;  ///< in place of a cell: fewer than eight
  std::uint32_t first = 0;                            ///< number
  std::uint32_t cell[size] = {none, none, none, none, none, none, none, none};  ///< distance from it, over the walls

  /// Beyond this a cell is another eight's.
  static constexpr std::uint32_t reach(int populations) { return none >> (populations - 1); }
  static constexpr std::uint32_t word(std::uint32_t distance, std::uint32_t walls, int populations) {
    return distance << (populations - 1) | walls >> 1;
  }
  /// Bits of walls beyond the populations mean nothing.
  static SLIP_FN ListedCell cell_of(std::uint32_t first, std::uint32_t word, int populations) {
    return {first + (word >> (populations - 1)), word << 1};
  }
};

/// As kernels see it. Local coordinates; ghosts are counted, too.
struct Numbering {
  const CellWord* words = nullptr;  ///< null: every cell is stored, where the strides say
  std::int32_t ghost[3] = {0, 0, 0};
  std::int32_t row = 0, plane = 0;  ///< words from row to row, from plane to plane

  /// The number of a cell, or that of the next one that is stored; and whether it is.
  struct Found {
    std::uint32_t number, stored;
  };
  SLIP_FN Found find(std::int32_t x, std::int32_t y, std::int32_t z) const {
    const std::int32_t along = x + ghost[0];
    const CellWord word = words[static_cast<std::int64_t>(z + ghost[2]) * plane + (y + ghost[1]) * row + (along >> 5)];
    const std::uint32_t bit = std::uint32_t{1} << (along & 31);
    return {word.before + static_cast<std::uint32_t>(bits_set(word.stored & (bit - 1))), (word.stored & bit) != 0};
  }
};

}  // namespace slipstream::lbm
