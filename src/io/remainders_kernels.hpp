#pragma once
#include <cstddef>
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Queues the computation of crc32c_segments remainders from device memory to device memory. `table`:
/// crc32c_segments::table() on the device. `values` must be aligned to 8 bytes.
void find_remainders(Stream& stream, const std::byte* values, std::size_t bytes, const std::uint32_t* table,
                     std::uint32_t* remainders);

}  // namespace slipstream
