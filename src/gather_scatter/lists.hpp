#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/error.hpp>

namespace slipstream {

/// As many as 32 bits count, which a device's lists are made of.
inline std::uint32_t counted(std::size_t items) {
  require(items <= UINT32_MAX, ErrorCode::unsupported,
          "a device shares " + std::to_string(items) +
              " points, more than the lists of a gather-scatter hold: use more devices",
          {{"given", items}, {"limit", UINT32_MAX}});
  return static_cast<std::uint32_t>(items);
}

/// Rows of numbers, one after the other: row r is items[starts[r]] to items[starts[r + 1]].
template <class Item>
struct Lists {
  std::vector<std::uint32_t> starts{0};
  std::vector<Item> items;
  std::size_t rows() const { return starts.size() - 1; }
  void close() { starts.push_back(counted(items.size())); }
};

/// Of copies, whose number a device may take for that of a point's block.
inline std::uint32_t points_of_block(std::int64_t block) {
  return static_cast<std::uint32_t>(std::min(block, std::int64_t{UINT32_MAX}));
}

}  // namespace slipstream
