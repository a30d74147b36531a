// Rounding of stored populations.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {
namespace {

constexpr int draws = 40000;

/// Calls f with random values of the population at rest, from which stochastic rounding computes its random bits.
template <class F>
void for_many_rests(F f) {
  std::mt19937 random(11);
  std::normal_distribution<float> rest(0, 100);
  for (int n = 0; n < draws; ++n) f(rest(random));
}

TEST(DitheredHalves, AreOneOfTheTwoNeighboursAndTheirMeanIsTheNumber) {
  for (const float number : {300.07f, 300.12f, 300.2f, -300.01f, 0.0123456f, -17.0078f, 4e-4f}) {
    const float below = float_of(half_towards_zero(number));
    const float unit = std::ldexp(1.0f, std::ilogb(number) - 10), above = below + std::copysign(unit, number);
    double sum = 0;
    for_many_rests([&](float rest) {
      const float found = float_of(DitheredHalf(rest)(number));
      ASSERT_TRUE(found == below || found == above) << number << " became " << found;
      sum += found;
    });
    // Tolerance: four standard deviations of the mean of `draws` randomly rounded values.
    EXPECT_NEAR(sum / draws, number, 4 * 0.5 * unit / std::sqrt(draws));
  }
}

TEST(DitheredHalves, KeepWhatIsAHalfAndWhatIsNoNumber) {
  const float nan = std::bit_cast<float>(0x7fffffffu);
  for_many_rests([](float rest) {
    for (const float number : {0.0f, 1.0f, -0.125f, 65504.0f, 300.25f})
      ASSERT_EQ(float_of(DitheredHalf(rest)(number)), number);
    ASSERT_TRUE(std::isnan(float_of(DitheredHalf(rest)(std::numeric_limits<float>::quiet_NaN()))));
  });
  EXPECT_TRUE(std::isnan(float_of(DitheredHalf(nan)(nan))));
  const float of_hosts = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(float_of(DitheredHalf(of_hosts)(of_hosts))));
}

TEST(DitheredHalves, AreTheSameOfDeviationsAndOfUnits) {
  std::mt19937 random(12);
  std::normal_distribution<float> deviation(0, 0.01f);
  for (int n = 0; n < draws; ++n) {
    const float rest = deviation(random), number = deviation(random);
    ASSERT_EQ(StoredF16::Rounding(rest)(number).bits,
              RawF16::Rounding(rest * RawF16::unit)(number * RawF16::unit).bits);
  }
}

}  // namespace
}  // namespace slipstream::lbm
