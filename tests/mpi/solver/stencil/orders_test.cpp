// Convergence orders of finite differences in space and time.
#include <gtest/gtest.h>

#include <cmath>

#include "support/machine_rig.hpp"
#include "support/stencil_rig.hpp"

namespace slipstream::stencil {
namespace {

TEST(StencilOrders, HeatIsOfSecondOrder) {
  const Communicator comm = Communicator::world();
  std::vector<double> errors;
  for (const std::int64_t n : {16, 32, 64}) {
    Options options = heat({n, 4, 4}, {true, true, true});
    options.spacing = 1.0 / static_cast<double>(n);
    options.diffusivity = 1;
    options.time_step = 0.1 * options.spacing * options.spacing;
    Stencil run(comm, machine_here(Backend::host, 1), options);
    const auto x = [&](std::int64_t i) { return (static_cast<double>(i) + 0.5) * options.spacing; };
    run.start_from(of([&](auto i, auto, auto) { return std::sin(2 * pi * x(i)); }));
    run.advance(static_cast<std::int64_t>(std::llround(0.025 / options.time_step)));
    const std::vector<double> found = whole(run);
    double error = 0;
    for (std::int64_t i = 0; i < n; ++i)
      error = std::max(error, std::abs(found[static_cast<std::size_t>(i)] -
                                       std::exp(-4 * pi * pi * run.state().time) * std::sin(2 * pi * x(i))));
    errors.push_back(error);
  }
  EXPECT_LT(errors.back(), 2e-4);
  for (std::size_t n = 1; n < errors.size(); ++n) EXPECT_NEAR(std::log2(errors[n - 1] / errors[n]), 2, 0.1);
}

TEST(StencilOrders, WavesHaveTheOrderThatIsAskedFor) {
  const Communicator comm = Communicator::world();
  const double largest_error[] = {2e-2, 1e-3, 1e-4, 1e-5};
  for (const int order : {2, 4, 6, 8}) {
    std::vector<double> errors;
    // A time step so small that its second-order error is negligible.
    constexpr double time_step = 5e-5, end = 0.1;
    for (const std::int64_t n : {8, 16}) {
      Options options;
      options.cells = {n, 5, 5};
      options.periodic = {true, true, true};
      options.equation = Equation::wave;
      options.order = order;
      options.precision = DType::f64;
      options.spacing = 1.0 / static_cast<double>(n);
      options.time_step = time_step;
      Stencil run(comm, machine_here(Backend::host, 1), options);
      const auto standing = [&](std::int64_t i, double t) {
        return std::sin(2 * pi * (static_cast<double>(i) + 0.5) * options.spacing) * std::cos(2 * pi * t);
      };
      run.start_from(of([&](auto i, auto, auto) { return standing(i, 0); }),
                     of([&](auto i, auto, auto) { return standing(i, -time_step); }));
      run.advance(static_cast<std::int64_t>(std::llround(end / time_step)));
      const std::vector<double> found = whole(run);
      double error = 0;
      for (std::int64_t i = 0; i < n; ++i)
        error = std::max(error, std::abs(found[static_cast<std::size_t>(i)] - standing(i, run.state().time)));
      errors.push_back(error);
    }
    EXPECT_LT(errors.back(), largest_error[order / 2 - 1]) << "order " << order;
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), order, 0.35) << "order " << order;
  }
}

/// Largest error of a standing wave in a unit box with n cells along each of `axes` axes. The reference has leapfrog's
/// frequency, so the error is purely spatial.
double error_between(Sides sides, int order, int axes, std::int64_t n) {
  constexpr double time_step = 0.01;
  Options options;
  options.cells = {n, axes > 1 ? n : 1, axes > 2 ? n : 1};
  options.equation = Equation::wave;
  options.order = order;
  options.precision = DType::f64;
  options.sides = sides;
  options.spacing = 1.0 / static_cast<double>(sides == Sides::fixed ? n + 1 : n);
  options.time_step = time_step;
  const double frequency = 2 / time_step * std::asin(0.5 * time_step * 2 * pi * std::sqrt(axes));
  const auto standing = [&](Extent cell, double t) {
    double value = std::cos(frequency * t);
    for (int a = 0; a < axes; ++a) {
      const double at = static_cast<double>(cell[a]) * options.spacing;
      value *= sides == Sides::fixed ? std::sin(2 * pi * (at + options.spacing))
                                     : std::cos(2 * pi * (at + 0.5 * options.spacing));
    }
    return value;
  };
  Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
  run.start_from(of([&](auto i, auto j, auto k) { return standing({i, j, k}, 0); }));
  run.advance(20);
  const double end = run.state().time;
  return largest_off(whole(run), of([&](auto i, auto j, auto k) {
                       return standing({i, j, k}, end);
                     })(run.grid().box()));
}

TEST(StencilOrders, WavesKeepTheirOrderBetweenSides) {
  for (const Sides sides : {Sides::fixed, Sides::free})
    for (const int axes : {1, 3})
      for (const int order : {2, 4, 6, 8}) {
        const std::int64_t more = sides == Sides::fixed ? 1 : 0;
        const double coarse = error_between(sides, order, axes, 12 - more),
                     fine = error_between(sides, order, axes, 24 - more);
        EXPECT_NEAR(std::log2(coarse / fine), order, 0.25)
            << (sides == Sides::fixed ? "fixed" : "free") << " sides, order " << order << ", axes " << axes;
      }
}

/// Error of a wave started with u and du/dt, for a time step.
double error_of_a_start(double time_step) {
  Options options;
  options.cells = {32, 1, 1};
  options.equation = Equation::wave;
  options.order = 8;
  options.precision = DType::f64;
  options.sides = Sides::free;
  options.spacing = 1.0 / 32;
  options.time_step = time_step;
  const auto standing = [&](double phase) {
    return of([=](auto i, auto, auto) { return std::cos(2 * pi * (static_cast<double>(i) + 0.5) / 32) * phase; });
  };
  Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
  run.start_moving(standing(std::cos(0.5)), standing(-2 * pi * std::sin(0.5)));
  run.advance(std::llround(0.2 / time_step));
  return largest_off(whole(run), standing(std::cos(2 * pi * run.state().time + 0.5))(run.grid().box()));
}

TEST(StencilOrders, AWaveThatStartsWithARateIsOfSecondOrderInTime) {
  EXPECT_NEAR(std::log2(error_of_a_start(0.004) / error_of_a_start(0.002)), 2, 0.05);
}

TEST(StencilOrders, AWaveThatStartsInAnAbsorbingLayerIsOfSecondOrderInTime) {
  const auto waves = [](double time_step) {
    Options options;
    options.cells = {32, 1, 1};
    options.equation = Equation::wave;
    options.order = 8;
    options.precision = DType::f64;
    options.spacing = 1.0 / 33;
    options.time_step = time_step;
    options.absorbing = 16;
    const Values u = of([](auto i, auto, auto) { return std::sin(2 * pi * static_cast<double>(i + 1) / 33); });
    Stencil run(Communicator::world(), machine_here(Backend::host, 1), options);
    run.start_moving(u, u);
    run.advance(std::llround(0.1 / time_step));
    return whole(run);
  };
  const std::vector<double> coarse = waves(0.002), middle = waves(0.001), fine = waves(0.0005);
  EXPECT_NEAR(std::log2(largest_off(coarse, middle) / largest_off(middle, fine)), 2, 0.1);
}

}  // namespace
}  // namespace slipstream::stencil
