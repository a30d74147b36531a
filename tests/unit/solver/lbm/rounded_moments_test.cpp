// Flows that are uniform along two axes, with moments in 16 bits: random rounding must differ from cell to cell.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

Options halves(const Extent& cells) {
  Options o = moments_held.options();
  o.cells = cells;
  o.periodic = {true, true, true};
  o.precision = DType::f16;
  o.viscosity = 0.02;
  return o;
}

constexpr std::int64_t length = 16;

double wave(double y, double phase) { return std::sin(2 * std::numbers::pi * (y + 0.5) / length + phase); }

/// Viscosity from the decay of a shear wave, relative to the given one; by projection of the velocity on the wave.
double viscosity_of_shear_wave(DType precision, double size, double phase) {
  constexpr double k = 2 * std::numbers::pi / length;
  constexpr int steps = 330;  // number of steps after which the shear wave's amplitude has fallen by a factor of e
  Options o = halves({2 * length, length, 4});
  o.precision = precision;
  HostRun run(o);
  run.start_from([&](const Vector& x) { return Vector{size * wave(x[1], phase), 0, 0}; });
  const auto part = [&] {
    const auto velocity = run.numbers("velocity");
    double sum = 0;
    for (std::int64_t cell = 0; cell < volume(o.cells); ++cell)
      sum += velocity[3 * cell] * wave(static_cast<double>(cell / o.cells[0] % length), phase);
    return sum;
  };
  const double early = part();
  run.lbm.advance(steps);
  return -std::log(part() / early) / (k * k * steps) / o.viscosity;
}

/// Rounding to half precision has a mean square error of q^2 f (1 - f): q is the spacing of the numbers, f the position
/// between two of them. With q from 2^-11 to 2^-10 of the momentum, the variance of the wave's amplitude grows by
/// 1.3e-7 / N of its square per step. N is the number of independent cells: half of all, as the others are mirror
/// images. The measured viscosity then has a standard deviation of sqrt(1.3e-7 steps / N) / (k^2 viscosity steps) =
/// 2e-4 for a wave number k. It is 1.6e-3 or more if the cells of a plane round alike.
TEST(RoundedMoments, LetAShearWaveDecayAsF32DoesAtAnyAmplitude) {
  const double right = viscosity_of_shear_wave(DType::f32, 1e-2, 0);
  for (const double size : {1e-2, 1e-3, 1e-4}) {
    double mean = 0, square = 0;
    for (const double phase : {0.0, 0.05, 0.1, 0.15}) {
      const double off = viscosity_of_shear_wave(DType::f16, size, phase) - right;
      mean += off / 4;
      square += off * off / 4;
    }
    EXPECT_LT(std::abs(mean), 4e-4) << size;  // bound: four standard deviations of the mean error of four viscosities
    EXPECT_LT(std::sqrt(square), 4.5e-4) << size;
  }
}

struct Driven {
  const char* name;
  void (*drive)(Options&);
};

class PlaneFlow : public testing::TestWithParam<Driven> {};
INSTANTIATE_TEST_SUITE_P(RoundedMoments, PlaneFlow,
                         testing::Values(Driven{"force",
                                                [](Options& o) {
                                                  o.force = {1e-5, 0, 0};
                                                }},
                                         Driven{"wall",
                                                [](Options& o) {
                                                  o.walls[Side::y_high] = {0.1, 0, 0};
                                                }},
                                         Driven{"slow_wall",
                                                [](Options& o) {
                                                  o.walls[Side::y_high] = {1e-4, 0, 0};
                                                }},
                                         Driven{"pressure_drop",
                                                [](Options& o) {
                                                  o.density_drop = {1e-3, 0, 0};
                                                }}),
                         [](const auto& info) { return info.param.name; });

/// The flow of this test is between walls along y.
TEST_P(PlaneFlow, FromRestRoundsTheCellsOfAPlaneApart) {
  Options o = halves({16, 8, 8});
  o.periodic[1] = false;
  GetParam().drive(o);
  HostRun run(o);
  run.lbm.advance(60);
  const auto velocity = run.numbers("velocity");
  for (std::int64_t y = 0; y < o.cells[1]; ++y) {
    // Cells are grouped by x, because a pressure drop alone makes velocities vary along x.
    std::set<std::pair<std::int64_t, double>> found;
    for (std::int64_t cell = 0; cell < volume(o.cells); ++cell)
      if (cell / o.cells[0] % o.cells[1] == y) found.emplace(cell % o.cells[0], velocity[3 * cell]);
    EXPECT_GT(found.size(), o.cells[0]) << y;
  }
}

TEST(RoundedMoments, OfAFluidAtRestStayNearlyAtRest) {
  Options o = halves({16, 8, 8});
  HostRun run(o);
  const double mass = run.lbm.excess_mass();
  EXPECT_LT(std::abs(mass), 1e-9 * static_cast<double>(volume(o.cells)));
  run.lbm.advance(40);
  for (const double u : run.numbers("velocity")) EXPECT_LT(std::abs(u), 1e-9);
}

}  // namespace
}  // namespace slipstream::lbm
