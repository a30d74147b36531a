#include "io/crc32c.hpp"

#include <array>
#include <cstring>

namespace slipstream {
namespace {

using Table = std::array<std::uint32_t, 256>;

/// Tables for slicing by 8: tables[k][b] is the remainder of byte b followed by k zero bytes.
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // Castagnoli's polynomial, bit-reflected
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0);
    tables[0][byte] = rest;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint32_t rest = ~before;
  for (; count >= 8; count -= 8, at += 8) {
    std::uint32_t low, high;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= rest;
    rest = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^ tables[4][low >> 24] ^
           tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^ tables[1][(high >> 16) & 0xff] ^
           tables[0][high >> 24];
  }
  for (; count > 0; --count, ++at) rest = (rest >> 8) ^ tables[0][(rest ^ *at) & 0xff];
  return ~rest;
}

namespace crc32c_segments {
namespace {

/// Updates a CRC-32C remainder by `zeros` more zero bytes.
std::uint32_t shifted(std::uint32_t rest, std::size_t zeros) {
  for (; zeros > 0; --zeros) rest = (rest >> 8) ^ tables[0][rest & 0xff];
  return rest;
}

/// Tables that update a CRC-32C remainder by a segment of zero bytes: one per byte of it, because the map is linear.
std::array<Table, 4> make_shifts() {
  std::array<Table, 4> shifts{};
  for (std::uint32_t place = 0; place < 4; ++place)
    for (std::uint32_t byte = 0; byte < 256; ++byte) shifts[place][byte] = shifted(byte << (8 * place), segment);
  return shifts;
}

}  // namespace

const std::array<std::uint32_t, 256>& table() { return tables[0]; }

std::uint32_t joined(std::uint32_t before, std::span<const std::uint32_t> remainders, std::size_t bytes) {
  static const std::array<Table, 4> shifts = make_shifts();
  std::uint32_t rest = ~before;
  for (const std::uint32_t remainder : remainders) {
    if (bytes >= segment) {
      rest = shifts[0][rest & 0xff] ^ shifts[1][(rest >> 8) & 0xff] ^ shifts[2][(rest >> 16) & 0xff] ^
             shifts[3][rest >> 24];
      bytes -= segment;
    } else {
      rest = shifted(rest, bytes);
    }
    rest ^= remainder;
  }
  return ~rest;
}

}  // namespace crc32c_segments

}  // namespace slipstream
