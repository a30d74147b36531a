#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <slipstream/stream.hpp>

namespace slipstream {

struct ArrayPlace {
  std::int32_t at = 0;
  std::byte* array = nullptr;
};

/// Writes addresses into a table in device memory, in stream order. The list may be freed after the call.
void store_places(Stream& stream, std::byte** table, const std::vector<ArrayPlace>& places);

}  // namespace slipstream
