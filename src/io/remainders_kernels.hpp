#pragma once
#include <cstddef>
#include <cstdint>

#include <slipstream/stream.hpp>

namespace slipstream {

/// Queues the remainders of crc32c_segments of device memory, into device memory; `table` is crc32c_segments::table()
/// there. `values` begin on a multiple of 8 bytes.
void find_remainders(Stream& stream, const std::byte* values, std::size_t bytes, const std::uint32_t* table,
                     std::uint32_t* remainders);

}  // namespace slipstream
