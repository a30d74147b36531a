#include "io/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slipstream {
namespace {

std::uint32_t sum(const std::string& text) { return crc32c(0, text.data(), text.size()); }

TEST(Crc32c, GivesThePublishedValues) {  // RFC 3720, B.4, and the check value of the CRC catalogue
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

}  // namespace
}  // namespace slipstream
