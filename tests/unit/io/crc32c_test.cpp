#include "io/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <slipstream/buffer.hpp>

#include "device/upload.hpp"
#include "io/remainders_kernels.hpp"
#include "support/machine_rig.hpp"

namespace slipstream {
namespace {

std::uint32_t sum(const std::string& text) { return crc32c(0, text.data(), text.size()); }

TEST(Crc32c, GivesThePublishedValues) {  // values of RFC 3720, B.4, and the check value of the CRC catalogue
  EXPECT_EQ(sum("123456789"), 0xe3069283u);
  EXPECT_EQ(sum(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(sum(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (int i = 0; i < 32; ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(sum(rising), 0x46dd794eu);
}

TEST(Crc32c, GoesOnFromWhatCameBefore) {
  const std::string text = "a field, piece by piece, in one file";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(crc32c(0, text.data(), cut), text.data() + cut, text.size() - cut), sum(text)) << cut;
}

class Crc32cOnDevices : public testing::TestWithParam<Backend> {};

TEST_P(Crc32cOnDevices, IsThatOfTheHostForAnyLength) {
  namespace segments = crc32c_segments;
  const Device device{GetParam(), 0};
  const auto& words = segments::table();
  const Buffer<std::uint32_t> table = upload(device, std::vector<std::uint32_t>(words.begin(), words.end()));
  for (const std::size_t bytes : {1, 7, 1023, 1024, 1025, 5000, 70000}) {
    std::vector<std::byte> values(bytes);
    for (std::size_t n = 0; n < bytes; ++n) values[n] = static_cast<std::byte>(n * n + n / 7);
    const Buffer<std::byte> there = upload(device, values);
    const std::size_t count = segments::count(bytes);
    Buffer<std::uint32_t> remainders(device, count), here(device, count, Memory::pinned);
    Stream stream(device);
    find_remainders(stream, there.data(), bytes, table.data(), remainders.data());
    copy(stream, here.data(), remainders.data(), remainders.bytes());
    stream.synchronize();
    const std::uint32_t before = sum("what came before");
    EXPECT_EQ(segments::joined(before, {here.data(), count}, bytes), crc32c(before, values.data(), bytes)) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Crc32cOnDevices, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace slipstream
