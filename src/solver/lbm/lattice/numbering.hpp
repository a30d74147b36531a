#pragma once
// Compressed numbering of a block's stored cells, row by row, without most solid cells. A bit per cell marks stored
// ones, and a prefix sum for every 32 cells counts those before: a quarter of a byte a cell.
#include <cstdint>
#include <vector>

#include <slipstream/device/bits.hpp>

namespace slipstream::lbm {

/// Bits that tell for 32 neighbouring cells along x whether the block stores them; with a prefix sum.
struct CellWord {
  std::uint32_t stored = 0;  ///< bit of each cell: whether it is stored
  std::uint32_t before = 0;  ///< number of the block's stored cells before these 32 cells
};

/// Sets `before` of each group of 32 cells: the stored cells before them. Returns how many cells the block stores.
inline std::int64_t count_stored(std::vector<CellWord>& words) {
  std::int64_t count = 0;
  for (CellWord& word : words) {
    word.before = static_cast<std::uint32_t>(count);
    count += bits_set(word.stored);
  }
  return count;
}

/// A cell that a step of a packed block updates, decoded from the step's list (see CellGroups).
struct ListedCell {
  std::uint32_t number = 0;  ///< number of the cell within the block, if all cells are counted
  std::uint32_t walls = 0;   ///< bit i is set if population i comes back from a resting wall
};

/// Layout of a list of cells in groups of 32-bit words. The first word is the number of the group's first cell. Each
/// cell then has a word: the distance from the first cell, above a bit for each population that may come back from a
/// wall.
template <int populations>
struct CellGroups {
  static constexpr int walls = populations - 1;  ///< bits per cell that tell which populations come from walls
  /// number of cells in a group; 8 if wall bits leave few bits of a 32-bit word for distances from the first cell
  static constexpr int size = walls <= 18 ? 32 : 8;
  /// value of an unused entry at the end of a group of cells: the next cell is too far from the first to be encoded
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::uint32_t reach = none >> walls;  ///< index differences within a group of cells are below this

  static constexpr std::uint32_t word(std::uint32_t distance, std::uint32_t from_walls) {
    return distance << walls | from_walls >> 1;
  }
  /// Decodes entry n of a cell list; false if padding. Bits of cell.walls above the last population are undefined.
  static SLIP_FN bool find(const std::uint32_t* words, std::int64_t n, ListedCell& cell) {
    const std::uint32_t* const group = words + n / size * (size + 1);
    const std::uint32_t found = group[1 + n % size];
    cell = {group[0] + (found >> walls), found << 1};
    return found != none;
  }
  static constexpr std::int64_t cells(std::int64_t words) { return words / (size + 1) * size; }
};

/// Numbering of a block's stored cells, for kernels: finds a cell by local coordinates, including ghosts.
struct Numbering {
  const CellWord* words = nullptr;  ///< for each cell, a bit: whether it is stored; null: all are, at fixed strides
  std::int32_t ghost[3] = {0, 0, 0};
  std::int32_t row = 0, plane = 0;  ///< distances between rows and between planes of cells, in words

  /// Result of a search: the storage index of a cell, or else of the next stored one, and whether the cell is stored.
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
