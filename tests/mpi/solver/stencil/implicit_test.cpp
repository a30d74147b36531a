// Implicit steps of the heat equation: each solves its equation for any decomposition; convergence orders in time.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/stencil_rig.hpp"

namespace slipstream::stencil {
namespace {

Options implicit_heat(Extent cells, std::array<bool, 3> periodic, Scheme scheme) {
  Options options = heat(cells, periodic);
  options.scheme = scheme;
  options.time_step = 4 * stable_time_step(options);
  options.krylov.tolerance = 1e-13;
  return options;
}

/// Computes u + rate spacing^2 Lap u, by one loop over one array.
std::vector<double> with_laplacian(const Options& options, const std::vector<double>& u, double rate) {
  const Extent n = options.cells;
  const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) { return value_at(options, u, {i, j, k}); };
  const double star[] = {-6, 1, 0, 0};
  std::vector<double> found;
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i) {
        double sum = 0;
        for (int m = 0; m < 27; ++m) {
          const int d[3] = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
          sum += (options.points == 27 ? cube_weights : star)[d[0] * d[0] + d[1] * d[1] + d[2] * d[2]] *
                 at(i + d[0], j + d[1], k + d[2]);
        }
        found.push_back(at(i, j, k) + rate * sum);
      }
  return found;
}

struct ImplicitScenario {
  const char* name;
  Options options;
};

std::vector<ImplicitScenario> implicit_scenarios() {
  std::vector<ImplicitScenario> all;
  all.push_back({"euler_of_7_points", implicit_heat({18, 11, 13}, {true, false, true}, Scheme::backward_euler)});
  all.push_back({"euler_of_27_points", implicit_heat({13, 12, 11}, {false, true, false}, Scheme::backward_euler)});
  all.back().options.points = 27;
  all.push_back({"crank_nicolson", implicit_heat({13, 12, 11}, {false, true, false}, Scheme::crank_nicolson)});
  all.push_back({"insulated_7_points", implicit_heat({14, 9, 12}, {false, false, true}, Scheme::crank_nicolson)});
  all.back().options.sides = Sides::insulated;
  all.push_back({"insulated_27_points", implicit_heat({14, 9, 12}, {false, true, false}, Scheme::backward_euler)});
  all.back().options.points = 27;
  all.back().options.sides = Sides::insulated;
  all.push_back({"a_plane", implicit_heat({21, 17, 1}, {true, false, false}, Scheme::crank_nicolson)});
  all.push_back({"a_line", implicit_heat({40, 1, 1}, {false, false, false}, Scheme::backward_euler)});
  return all;
}

class ImplicitHeat : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<ImplicitScenario> all = implicit_scenarios();
  Backend backend = std::get<0>(GetParam());
  Options options = all[std::get<1>(GetParam())].options;
};

TEST_P(ImplicitHeat, SolvesItsEquationWithTheSameBitsWhateverTheCuts) {
  const Communicator comm = Communicator::world();
  const double theta = options.scheme == Scheme::backward_euler ? 1 : 0.5;
  const double rate = options.diffusivity * options.time_step / (options.spacing * options.spacing);
  std::optional<std::vector<double>> first;
  for (const int devices : {1, 2, 3})
    for (const Overlap overlap : {Overlap::off, Overlap::on}) {
      if (!unavailable(backend, devices).empty()) continue;
      options.overlap = overlap;
      Stencil run(comm, machine_here(backend, devices), options);
      run.start_from(of(scrambled));
      run.advance(2);
      const std::vector<double> before = whole(run);
      run.advance(1);
      const std::vector<double> after = whole(run);
      EXPECT_LT(largest_off(with_laplacian(options, after, -theta * rate),
                            with_laplacian(options, before, (1 - theta) * rate)),
                1e-12)
          << devices << " devices";
      EXPECT_GT(largest_off(after, before), 1e-4);
      EXPECT_EQ(run.effort().solutions, 3);
      EXPECT_GT(run.effort().last.iterations, 0);
      if (!first) first = after;
      EXPECT_EQ(after, *first) << devices << " devices";
    }
  ASSERT_TRUE(first.has_value());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ImplicitHeat,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, implicit_scenarios().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  implicit_scenarios()[std::get<1>(info.param)].name;
                         });

/// A grid wave decays by exp(-kappa m t) with its eigenvalue m, so any deviation is the temporal error.
double error_in_time(Scheme scheme, int points, int steps) {
  constexpr std::int64_t n = 16;
  Options options = implicit_heat({n, 8, 8}, {true, true, true}, scheme);
  options.points = points;
  options.spacing = 1.0 / n;
  options.diffusivity = 1;
  constexpr double end = 0.1;
  options.time_step = end / steps;
  Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
  const auto x = [](std::int64_t i) { return (static_cast<double>(i) + 0.5) / n; };
  run.start_from(of([&](auto i, auto, auto) { return std::sin(2 * pi * x(i)); }));
  run.advance(steps);
  const std::vector<double> found = whole(run);
  const double m = 4 * n * n * std::pow(std::sin(pi / n), 2);
  double error = 0;
  for (std::int64_t i = 0; i < n; ++i)
    error =
        std::max(error, std::abs(found[static_cast<std::size_t>(i)] - std::exp(-m * end) * std::sin(2 * pi * x(i))));
  return error;
}

TEST(ImplicitHeatOrders, AreThoseOfTheSchemes) {
  struct Row {
    Scheme scheme;
    int points;
    double order, error;
  };
  for (const Row& row : {Row{Scheme::backward_euler, 7, 1, 2.6e-3}, Row{Scheme::backward_euler, 27, 1, 2.6e-3},
                         Row{Scheme::crank_nicolson, 7, 2, 3e-5}, Row{Scheme::crank_nicolson, 27, 2, 3e-5}}) {
    const double errors[] = {error_in_time(row.scheme, row.points, 32), error_in_time(row.scheme, row.points, 64)};
    EXPECT_LT(errors[1], row.error);
    EXPECT_GT(errors[1], 0.5 * row.error);
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), row.order, 0.06);
  }
}

TEST(ImplicitHeatTolerances, EndASolveAtTheLargerOfTheRelativeAndTheAbsoluteOne) {
  Options options = implicit_heat({16, 12, 14}, {true, false, true}, Scheme::backward_euler);
  double square = 0;
  const Extent n = options.cells;
  for (std::int64_t k = 0; k < n[2]; ++k)
    for (std::int64_t j = 0; j < n[1]; ++j)
      for (std::int64_t i = 0; i < n[0]; ++i) square += std::pow(scrambled(i, j, k), 2);
  const double size = std::sqrt(square);
  const auto iterations = [&](double relative, double absolute) {
    options.krylov.tolerance = relative;
    options.krylov.absolute_tolerance = absolute;
    Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
    run.start_from(of(scrambled));
    run.advance(1);
    EXPECT_LE(run.effort().last.true_residual, 1.001 * std::max(relative, absolute / size));
    return run.effort().last.iterations;
  };
  const std::int64_t loose = iterations(1e-4, 0), tight = iterations(1e-10, 0);
  EXPECT_LT(loose, tight);
  struct Row {
    double relative, absolute;
    std::int64_t iterations;
  };
  for (const Row& row : {Row{0, 1e-4, loose}, Row{1e-10, 1e-4, loose}, Row{1e-4, 1e-10, loose}, Row{0, 1e-10, tight}})
    EXPECT_EQ(iterations(row.relative, row.absolute * size), row.iterations) << row.relative << " " << row.absolute;
  EXPECT_EQ(iterations(0, 1e3 * size), 0);
}

TEST(ImplicitHeatRange, DataTimesPowersOfTwoHaveTheSameBits) {
  for (const Scheme scheme : {Scheme::backward_euler, Scheme::crank_nicolson}) {
    const Options options = implicit_heat({16, 12, 14}, {true, false, true}, scheme);
    const auto found = [&](int exponent) {
      Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
      run.start_from(of([&](auto... cell) { return std::ldexp(scrambled(cell...), exponent); }));
      run.advance(2);
      EXPECT_GT(run.effort().iterations, 4);
      std::vector<double> values = whole(run);
      for (double& value : values) value = std::ldexp(value, -exponent);
      return std::tuple{values, run.effort().iterations, run.effort().last.history, run.effort().last.true_residual};
    };
    const auto plain = found(0);
    for (const int exponent : {-700, -300, 300, 700}) EXPECT_TRUE(found(exponent) == plain) << exponent;
    for (const int exponent : {-950, 950})
      expect_error([&] { found(exponent); }, ErrorCode::not_converged, {{"problem", "range"}});
  }
}

TEST(ImplicitHeatIterations, AreThoseThatTheToleranceNeeds) {
  // Cosines along x are eigenvectors. From the fitted guess, a solve needs no iteration for one cosine and two for two.
  for (const int waves : {1, 2})
    for (const Scheme scheme : {Scheme::backward_euler, Scheme::crank_nicolson}) {
      const Options options = implicit_heat({16, 12, 14}, {true, true, true}, scheme);
      Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
      run.start_from(of([&](auto i, auto, auto) {
        const double x = 2 * pi * (static_cast<double>(i) + 0.5) / 16;
        return std::cos(x) + (waves > 1 ? 0.5 * std::cos(3 * x) : 0);
      }));
      run.advance(3);
      EXPECT_EQ(run.effort().iterations, waves > 1 ? 6 : 0);
      EXPECT_EQ(run.effort().last.history.size(), waves > 1 ? 3u : 1u);
      EXPECT_LT(run.effort().last.true_residual, 1e-13);
    }
}

TEST(ImplicitHeatFormats, SinglePrecisionKeepsUToItsRounding) {
  const auto found = [](DType type) {
    Options options = implicit_heat({18, 11, 13}, {true, false, true}, Scheme::crank_nicolson);
    options.precision = type;
    Stencil run(Communicator::world(), machine_here(Backend::host, 2), options);
    run.start_from(of(scrambled));
    run.advance(5);
    return whole(run);
  };
  const std::vector<double> wanted = found(DType::f64), single = found(DType::f32);
  EXPECT_LT(largest_off(single, wanted), 3e-7);
  EXPECT_GT(largest_off(single, wanted), 0);
}

TEST(ImplicitHeatRefuses, WhatItCannotSolve) {
  const auto said = [](Options options) {
    return error_of([&] {
      Stencil run(Communicator::world(), machine_here(Backend::host, 2), std::move(options));
      run.start_from(of(scrambled));
      run.advance(3);
    });
  };
  const Options fine = implicit_heat({16, 16, 16}, {true, true, true}, Scheme::backward_euler);
  EXPECT_FALSE(said(fine));
  Options options = fine;
  options.krylov.most_iterations = 3;
  expect_error(said(options), ErrorCode::not_converged, {{"field", "u at step 1"}, {"iterations", 3}});
  options.krylov.must_converge = false;
  EXPECT_FALSE(said(options));
  options = fine;
  options.krylov.absolute_tolerance = -1;
  expect_error(said(options), ErrorCode::invalid_argument, {{"option", "tolerance, absolute_tolerance"}});
  options = fine;
  options.time_step = 0;
  expect_error(said(options), ErrorCode::invalid_argument, {{"option", "time_step"}});
  options = fine;
  options.steps_per_exchange = 2;
  expect_error(said(options), ErrorCode::unsupported, {{"option", "steps_per_exchange"}});
  options = fine;
  options.equation = Equation::wave;
  expect_error(said(options), ErrorCode::unsupported, {{"option", "scheme"}});
}

}  // namespace
}  // namespace slipstream::stencil
