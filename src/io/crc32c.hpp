#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace slipstream {

/// Computes CRC-32C (Castagnoli; RFC 3720, B.4). `before`: checksum of the preceding bytes, 0 at the start.
std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count);

/// CRC-32C by segments: threads compute one remainder per `segment` bytes; the last segment may be shorter. A remainder
/// r starts at 0; each byte updates it to (r >> 8) ^ table[(r ^ byte) & 255].
namespace crc32c_segments {
constexpr std::size_t segment = 1024;
constexpr std::size_t count(std::size_t bytes) { return (bytes + segment - 1) / segment; }
const std::array<std::uint32_t, 256>& table();
/// Combines the segments' CRC remainders to the CRC-32C of `bytes` bytes; `before`: checksum of the preceding bytes.
std::uint32_t joined(std::uint32_t before, std::span<const std::uint32_t> remainders, std::size_t bytes);
}  // namespace crc32c_segments

}  // namespace slipstream
