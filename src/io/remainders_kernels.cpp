#include "io/remainders_kernels.hpp"

#include <slipstream/launch.hpp>

#include "io/crc32c.hpp"

namespace slipstream {
inline namespace remainders_kernels {

struct Remainders {
  const std::byte* values;
  std::size_t bytes;
  const std::uint32_t* table;
  std::uint32_t* remainders;

  SLIP_FN void operator()(int number, int, int) const {
    const std::size_t first = static_cast<std::size_t>(number) * crc32c_segments::segment;
    const std::size_t rest = bytes - first;
    const std::size_t count = rest < crc32c_segments::segment ? rest : crc32c_segments::segment;
    const auto* words = reinterpret_cast<const std::uint64_t*>(values + first);
    std::uint32_t r = 0;
    std::size_t at = 0;
    for (; at + 8 <= count; at += 8) {
      std::uint64_t word = words[at / 8];
      for (int byte = 0; byte < 8; ++byte, word >>= 8)
        r = (r >> 8) ^ table[(r ^ static_cast<std::uint32_t>(word)) & 0xffu];
    }
    for (; at < count; ++at) r = (r >> 8) ^ table[(r ^ static_cast<std::uint32_t>(values[first + at])) & 0xffu];
    remainders[number] = r;
  }
};

}  // namespace remainders_kernels

void find_remainders(Stream& stream, const std::byte* values, std::size_t bytes, const std::uint32_t* table,
                     std::uint32_t* remainders) {
  launch(stream, {{0, 0, 0}, {static_cast<std::int64_t>(crc32c_segments::count(bytes)), 1, 1}},
         Remainders{values, bytes, table, remainders});
}

}  // namespace slipstream
