// Half precision by IEEE 754, on every available backend.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/device/half.hpp>

#include "support/machine_rig.hpp"

namespace slipstream {
inline namespace half_kernels {

struct ToFloats {
  const Half* from;
  float* to;
  SLIP_FN void operator()(int i, int, int) const { to[i] = float_of(from[i]); }
};

struct ToHalves {
  const float* from;
  Half* to;
  SLIP_FN void operator()(int i, int, int) const { to[i] = half_of(from[i]); }
};

struct ToSmallerHalves {
  const float* from;
  Half* to;
  SLIP_FN void operator()(int i, int, int) const { to[i] = half_towards_zero(from[i]); }
};

/// Converts each value between single and half precision by a kernel on a device, and returns the results.
template <class To, class Kernel, class From>
std::vector<To> converted(Backend backend, const std::vector<From>& values) {
  Stream stream({backend, 0});
  const Buffer<From> from(stream.device(), values.size());
  const Buffer<To> to(stream.device(), values.size());
  std::vector<To> result(values.size());
  copy(stream, from.data(), values.data(), from.bytes());
  launch(stream, Box{{0, 0, 0}, {static_cast<std::int64_t>(values.size()), 1, 1}}, Kernel{from.data(), to.data()});
  copy(stream, result.data(), to.data(), to.bytes());
  stream.synchronize();
  return result;
}

/// The value of a half by the definition of the format.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, significand = bits & 1023;
  const double size = exponent == 31  ? (significand == 0 ? INFINITY : NAN)
                      : exponent == 0 ? std::ldexp(significand, -24)
                                      : std::ldexp(1024 + significand, exponent - 25);
  return bits >> 15 ? -size : size;
}

/// The largest finite half that is not above `size`, by search.
int below(double size) {
  int low = 0, high = 0x7c00;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(static_cast<std::uint16_t>(middle)) <= size ? low : high) = middle;
  }
  return low;
}

/// The half nearest to a number that is not NaN; ties to even.
std::uint16_t nearest(float value) {
  const double size = std::abs(static_cast<double>(value));
  const int low = below(size), high = low + 1;
  // Infinity takes the place of the next larger number.
  const double above = high == 0x7c00 ? 65536 : value_of(static_cast<std::uint16_t>(high));
  const double down = size - value_of(static_cast<std::uint16_t>(low)), up = above - size;
  const int chosen = down < up || (down == up && low % 2 == 0) ? low : high;
  return static_cast<std::uint16_t>(chosen | (std::signbit(value) ? 0x8000 : 0));
}

class HalfOn : public testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, HalfOn, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(HalfOn, EveryOneHasItsValue) {
  std::vector<Half> all(1 << 16);
  for (std::size_t n = 0; n < all.size(); ++n) all[n].bits = static_cast<std::uint16_t>(n);
  const auto values = converted<float, ToFloats>(GetParam(), all);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const double expected = value_of(all[n].bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(values[n])) << n;
    } else {
      ASSERT_EQ(values[n], expected) << n;
      ASSERT_EQ(std::signbit(values[n]), std::signbit(expected)) << n;
    }
  }
}

std::uint16_t towards_zero(float value) {
  const int chosen = std::isinf(value) ? 0x7c00 : below(std::abs(static_cast<double>(value)));
  return static_cast<std::uint16_t>(chosen | (std::signbit(value) ? 0x8000 : 0));
}

/// Numbers that are difficult to round.
std::vector<float> hard_values() {
  std::vector<float> values{0.0f, -0.0f, 65504, 65519.996f, 65520, 65536, 1e38f, -1e38f, INFINITY, -INFINITY};
  // Every half, the midpoint to the next, and the floats adjacent to both.
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double here = value_of(static_cast<std::uint16_t>(bits)),
                 next = value_of(static_cast<std::uint16_t>(bits + 1));
    for (const float middle : {static_cast<float>(here), static_cast<float>((here + next) / 2)})
      for (const float value : {middle, std::nextafter(middle, -1.0f), std::nextafter(middle, 1e9f)})
        values.push_back(bits % 2 ? -value : value);
  }
  std::mt19937 random(7);
  while (values.size() < 300000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

TEST_P(HalfOn, FloatsBecomeTheNearestAndTiesTheEvenOne) {
  const std::vector<float> values = hard_values();
  const auto halves = converted<Half, ToHalves>(GetParam(), values);
  for (std::size_t n = 0; n < values.size(); ++n) ASSERT_EQ(halves[n].bits, nearest(values[n])) << values[n];
}

TEST_P(HalfOn, TowardsZeroNothingGrowsAndWhatIsFiniteStaysSo) {
  const std::vector<float> values = hard_values();
  const auto halves = converted<Half, ToSmallerHalves>(GetParam(), values);
  for (std::size_t n = 0; n < values.size(); ++n) ASSERT_EQ(halves[n].bits, towards_zero(values[n])) << values[n];
}

TEST_P(HalfOn, WhatIsNoNumberRemainsNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{nan, -nan, std::bit_cast<float>(0x7fffffffu)};
  for (const auto& halves :
       {converted<Half, ToHalves>(GetParam(), values), converted<Half, ToSmallerHalves>(GetParam(), values)})
    for (const Half half : halves) {
      EXPECT_EQ(half.bits & 0x7c00, 0x7c00);
      EXPECT_NE(half.bits & 0x03ff, 0);
    }
}

}  // namespace half_kernels
}  // namespace slipstream
