// Copies of boxes between arrays with different pitches.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <slipstream/buffer.hpp>

#include "support/device_rig.hpp"

namespace slipstream {
inline namespace copy_box_kernels {

class CopyBoxTest : public DeviceTest {};

INSTANTIATE_TEST_SUITE_P(Backends, CopyBoxTest, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

struct PitchedCase {
  Extent extent;
  Pitch to, from;
};

std::size_t span_of(const Extent& extent, Pitch pitch) {
  return (extent[2] - 1) * pitch.plane + (extent[1] - 1) * pitch.row + extent[0];
}

PitchedCase random_pitched_case(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  PitchedCase c{{1 + up_to(40), 1 + up_to(8), 1 + up_to(6)}, {}, {}};
  for (Pitch* pitch : {&c.to, &c.from}) {
    pitch->row = c.extent[0] + (random() % 3 ? up_to(20) : 0);
    pitch->plane = pitch->row * (c.extent[1] + (random() % 2 ? up_to(3) : 0));
    if (random() % 3 == 0) pitch->plane += up_to(15);  // a plane pitch that is no multiple of the row pitch
  }
  return c;
}

void check_copy_box(Stream& stream, const PitchedCase& c, Memory to, Memory from, std::mt19937& random) {
  std::vector<unsigned char> source(span_of(c.extent, c.from)), expected(span_of(c.extent, c.to));
  for (auto& byte : source) byte = static_cast<unsigned char>(random());
  for (auto& byte : expected) byte = static_cast<unsigned char>(random());
  const Buffer<unsigned char> a(stream.device(), source.size(), from), b(stream.device(), expected.size(), to);
  write(stream, a, source);
  write(stream, b, expected);
  for (std::int64_t k = 0; k < c.extent[2]; ++k)
    for (std::int64_t j = 0; j < c.extent[1]; ++j)
      for (std::int64_t i = 0; i < c.extent[0]; ++i)
        expected[k * c.to.plane + j * c.to.row + i] = source[k * c.from.plane + j * c.from.row + i];
  copy_box(stream, b.data(), c.to, a.data(), c.from, c.extent);
  EXPECT_EQ(read_back(stream, b), expected)
      << c.extent[0] << "x" << c.extent[1] << "x" << c.extent[2] << ", pitches to " << c.to.row << ", " << c.to.plane
      << ", from " << c.from.row << ", " << c.from.plane;
}

TEST_P(CopyBoxTest, CopyBoxMovesTheBoxAndNothingElse) {
  Stream stream(device);
  std::mt19937 random(20261);
  for (int round = 0; round < 150; ++round) {
    const PitchedCase c = random_pitched_case(random);
    const Memory to = round % 3 == 1 ? Memory::pinned : Memory::device;
    const Memory from = round % 3 == 2 ? Memory::pinned : Memory::device;
    check_copy_box(stream, c, to, from, random);
  }
}

TEST_P(CopyBoxTest, CopyBoxOfNothingMovesNothing) {
  Stream stream(device);
  copy_box(stream, nullptr, {8, 64}, nullptr, {8, 64}, {8, 0, 3});
  copy(stream, nullptr, nullptr, 0);
  EXPECT_NO_THROW(stream.synchronize());
}

}  // namespace copy_box_kernels
}  // namespace slipstream
