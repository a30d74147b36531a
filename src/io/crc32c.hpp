#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace slipstream {

/// CRC-32C (Castagnoli; RFC 3720, B.4) of bytes that follow those whose checksum is `before`; 0 before the first.
std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count);

/// Computed elsewhere in parallel: a remainder for each `segment` bytes, the last of which may be shorter. A remainder
/// r begins at 0 and becomes (r >> 8) ^ table[(r ^ byte) & 255] with each byte.
namespace crc32c_segments {
constexpr std::size_t segment = 1024;
constexpr std::size_t count(std::size_t bytes) { return (bytes + segment - 1) / segment; }
const std::array<std::uint32_t, 256>& table();
/// What crc32c(before, ...) is of the `bytes` bytes that have these remainders.
std::uint32_t joined(std::uint32_t before, std::span<const std::uint32_t> remainders, std::size_t bytes);
}  // namespace crc32c_segments

}  // namespace slipstream
