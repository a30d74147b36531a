#pragma once
// Lists (compressed rows of numbers) in device memory.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/stream.hpp>

#include "device/upload.hpp"
#include "gather_scatter/lists.hpp"

namespace slipstream {

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

/// View of DeviceRows that kernels take by value.
template <class Item>
struct RowsHere {
  const std::uint32_t* starts;
  const Item* items;
};

template <class Item>
RowsHere<Item> here(const DeviceRows<Item>& rows) {
  return {rows.starts.data(), rows.items.data()};
}

}  // namespace slipstream
