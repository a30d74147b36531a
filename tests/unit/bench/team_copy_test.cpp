// Copy kernels of the benchmarks.
#include "native/team_copy.hpp"

#include <slipstream/buffer.hpp>

#include <gtest/gtest.h>

#include <numeric>

#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

TEST(TeamCopy, BringsEveryPieceToItsPlaceAndNothingElse) {
  for (const Backend backend : backends_here()) {
    const Device device{backend, 0};
    Stream stream(device);
    constexpr std::size_t words = 3, count = 700;  // 700 copies of 3 words each, no multiple of the threads in a block
    std::vector<std::uint64_t> from(2 * words * count), found(from.size(), 0), wanted = found;
    std::iota(from.begin(), from.end(), 1);
    const Buffer<std::uint64_t> source(device, from.size()), target(device, from.size());
    std::vector<CopyPiece> list;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t to = 2 * words * (n * 11 % count), at = 2 * words * (n * 3 % count);
      list.push_back({target.data() + to, source.data() + at});
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), words,
                  wanted.begin() + static_cast<std::ptrdiff_t>(to));
    }
    const Buffer<CopyPiece> table(device, list.size());
    copy(stream, source.data(), from.data(), source.bytes());
    copy(stream, target.data(), found.data(), target.bytes());
    copy(stream, table.data(), list.data(), table.bytes());
    copy_pieces_by_teams(stream, table.data(), count, 8 * words, 4);
    copy(stream, found.data(), target.data(), target.bytes());
    stream.synchronize();
    EXPECT_EQ(found, wanted) << to_string(device);
  }
}

}  // namespace
}  // namespace slipstream
