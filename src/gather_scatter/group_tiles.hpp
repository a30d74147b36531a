#pragma once
// Groups of copies (points of one id) of one device, cut into tiles. A thread block combines a tile in shared memory,
// and reads and writes the points in the order of their addresses.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include <slipstream/device/function.hpp>

#include "gather_scatter/lists.hpp"

namespace slipstream {

/// Tiles of consecutive groups (points of one id), ordered by their first copies. Each copy has a slot in shared
/// memory. Groups of equal size form a stretch: copy c of its group g has the slot first + c * groups + g. Threads that
/// combine neighbouring groups therefore access neighbouring slots.
struct GroupTiles {
  /// Number of copies of points that a thread block holds in shared memory, and of entries in its list, with padding.
  static constexpr std::uint32_t capacity = 1024;
  /// Number of successive entries (copies of points) whose point indices count from one base.
  static constexpr std::uint32_t chunk = 32;
  static constexpr std::uint32_t point_bits = 22, most_point = (std::uint32_t{1} << point_bits) - 1;
  /// Pads a chunk of 32 entries, which count from one base index, if the next point's index is too large for this base.
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Largest number of different group sizes in a tile of 1024 copies of points. A group is the copies of one point, at
  /// least 2, and 2 + 3 + ... + 44 < 1024.
  static constexpr std::uint32_t most_stretches = 43;
  static constexpr std::uint32_t header_words = 1 + most_stretches + capacity / 32;

  SLIP_FN static std::uint32_t entry(std::uint32_t slot, std::uint32_t point) { return slot << point_bits | point; }
  SLIP_FN static std::uint32_t stretch(std::uint32_t groups, std::uint32_t copies) { return copies << 16 | groups; }

  /// Entry per copy of a point: place in shared memory, and the point's index less the base index of its 32 entries.
  Buffer<std::uint32_t> entries;
  Buffer<std::uint32_t> bases;
  /// Header of each tile: the number of stretches (groups of equal size), the stretches, and one bit for each copy of a
  /// point. The bit is set if this copy lies in another block than the copy before it in its group.
  Buffer<std::uint32_t> headers;
  Buffer<std::uint32_t> starts;     ///< for each thread block's range of points (tile), where its header begins
  DeviceRows<std::uint32_t> large;  ///< lists of points with the same id that are too long for one thread block
  std::int64_t tiles = 0;
};

/// Cuts groups of points with the same id (rows) into tiles, one per thread block, on the device, and waits for it.
/// Points must ascend within a row, and so must the rows' first points. `block`: number of points per block.
GroupTiles group_tiles(Stream& stream, const DeviceRows<std::uint32_t>& rows, std::int64_t block);

}  // namespace slipstream
