#pragma once
// Lists (compressed rows of numbers), on the host and in device memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>
#include <slipstream/stream.hpp>

#include "device/upload.hpp"

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

/// Lists of numbers in device memory, as compressed rows.
template <class Item>
struct DeviceRows {
  Buffer<std::uint32_t> starts;
  Buffer<Item> items;
  std::int64_t count = 0;
};

template <class Item>
DeviceRows<Item> uploaded(Stream& stream, const Lists<Item>& lists) {
  if (lists.rows() == 0) return {};
  return {upload(stream, lists.starts), upload(stream, lists.items), static_cast<std::int64_t>(lists.rows())};
}

/// Pointers to lists of items in device memory (DeviceRows), as a kernel argument: starts of the lists, and all items.
template <class Item>
struct RowsHere {
  const std::uint32_t* starts;
  const Item* items;
};

template <class Item>
RowsHere<Item> here(const DeviceRows<Item>& rows) {
  return {rows.starts.data(), rows.items.data()};
}

/// Number of points per block in 32 bits. A larger block contains every 32-bit index, so clamping changes no result.
inline std::uint32_t points_of_block(std::int64_t block) {
  return static_cast<std::uint32_t>(std::min(block, std::int64_t{UINT32_MAX}));
}

}  // namespace slipstream
