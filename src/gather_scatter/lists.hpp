#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/error.hpp>

namespace slipstream {

/// Converts a count to 32 bits, the index type of lists. Throws Error if the number is too large.
inline std::uint32_t counted(std::size_t items) {
  require(items <= UINT32_MAX, ErrorCode::unsupported,
          "a device shares " + std::to_string(items) +
              " points, more than the lists of a gather-scatter hold: use more devices",
          {{"given", items}, {"limit", UINT32_MAX}});
  return static_cast<std::uint32_t>(items);
}

/// Compressed rows: row r is items[starts[r]] to items[starts[r + 1]], the end excluded.
template <class Item>
struct Lists {
  std::vector<std::uint32_t> starts{0};
  std::vector<Item> items;
  std::size_t rows() const { return starts.size() - 1; }
  void close() { starts.push_back(counted(items.size())); }
};

/// Number of points per block in 32 bits. A larger block contains every 32-bit index, so clamping changes no result.
inline std::uint32_t points_of_block(std::int64_t block) {
  return static_cast<std::uint32_t>(std::min(block, std::int64_t{UINT32_MAX}));
}

}  // namespace slipstream
