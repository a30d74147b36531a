#pragma once
// Groups of copies as a device combines them where they lie: in tiles, whose points it reads and writes in the order of
// their addresses, by way of a team's own memory.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include <slipstream/device/function.hpp>

#include "gather_scatter/device_rows.hpp"

namespace slipstream {

/// A tile holds groups whose first copies follow one another. Each of its copies has a slot in the team's memory: those
/// of groups of one size lie together, a stretch: copy c of its group g in the stretch's first slot + c * groups + g,
/// so that threads which combine neighbouring groups touch neighbouring slots.
struct GroupTiles {
  /// Slots of a tile, and entries. All tiles have as many, so that a team reads its own without asking where they are.
  static constexpr std::uint32_t capacity = 1024;
  /// Entries that count their points from one base.
  static constexpr std::uint32_t chunk = 32;
  static constexpr std::uint32_t point_bits = 22, most_point = (std::uint32_t{1} << point_bits) - 1;
  /// No entry: the last of a tile, and of a chunk where the next point lies too far away.
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Sizes of groups that differ, two copies and more, in a tile at most.
  static constexpr std::uint32_t most_stretches = 43;
  static constexpr std::uint32_t header_words = 1 + most_stretches + capacity / 32;

  SLIP_FN static std::uint32_t entry(std::uint32_t slot, std::uint32_t point) { return slot << point_bits | point; }
  SLIP_FN static std::uint32_t stretch(std::uint32_t groups, std::uint32_t copies) { return copies << 16 | groups; }

  /// A slot, and a point counted from its chunk's base: of each copy, in the order of points.
  Buffer<std::uint32_t> entries;
  Buffer<std::uint32_t> bases;
  /// Of each tile: how many stretches, each of them, and a bit for each slot whose copy lies in another block than the
  /// one before it.
  Buffer<std::uint32_t> headers;
  Buffer<std::uint32_t> starts;     ///< of the tiles' headers
  DeviceRows<std::uint32_t> large;  ///< groups that no tile takes
  std::int64_t tiles = 0;
};

/// Of rows of ascending points, in ascending order of their first ones, with `block` points a block. The device makes
/// them; waits for it.
GroupTiles group_tiles(Stream& stream, const DeviceRows<std::uint32_t>& rows, std::int64_t block);

}  // namespace slipstream
