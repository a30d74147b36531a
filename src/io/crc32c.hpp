#pragma once
#include <cstddef>
#include <cstdint>

namespace slipstream {

/// CRC-32C (Castagnoli; RFC 3720, B.4) of bytes that follow those whose checksum is `before`; 0 before the first.
std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count);

}  // namespace slipstream
