// Finite differences compared with brute force on one array, and equal bits for any decomposition.
#include <gtest/gtest.h>

#include <cmath>

#include "mpi/rank_table.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/stencil_rig.hpp"

namespace slipstream::stencil {
namespace {

std::vector<double> result(const Options& options, int devices, std::int64_t steps, Backend backend = Backend::host) {
  const Communicator comm = Communicator::world();
  Stencil run(comm, machine_here(backend, devices), options);
  run.start_from(of(scrambled), of([](auto i, auto j, auto k) { return 0.9 * scrambled(i, j, k); }));
  run.advance(steps / 3);
  run.advance(steps - steps / 3);
  return whole(run);
}

Options wave(Extent cells, std::array<bool, 3> periodic, int order) {
  Options options = heat(cells, periodic);
  options.equation = Equation::wave;
  options.order = order;
  options.speed = 2;
  options.speeds = of([cells](auto i, auto j, auto k) {
    const auto inside = [](std::int64_t n, std::int64_t of) { return (n + of) % of; };
    return 1.2 + 0.8 * scrambled(inside(i, cells[0]), inside(j, cells[1]), inside(k, cells[2]));
  });
  return options;
}

/// Damping sigma dt / 2 of a cell. At depth d in layers of width W, sigma is 3 c ln(1000) / W (d / W)^2, for each axis.
double damping(const Options& options, double dt, const Extent& cell) {
  if (options.absorbing == 0) return 0;
  const double width = options.absorbing * options.spacing;
  double sigma = 0;
  for (int a = 0; a < 3; ++a) {
    if (options.periodic[a] || options.cells[a] == 1) continue;
    const auto inside = [&](int end, std::int64_t from_side) {
      return options.sides.of[a][end] == Sides::fixed ? std::max<std::int64_t>(0, options.absorbing - from_side) : 0;
    };
    const double depth =
        static_cast<double>(std::max(inside(0, cell[a]), inside(1, options.cells[a] - 1 - cell[a]))) * options.spacing;
    sigma += 3 * options.speed * std::log(1000.0) / width * std::pow(depth / width, 2);
  }
  return sigma * dt / 2;
}

/// Expected values by one loop over one array, for features common to all equations, with weights from the literature.
std::vector<double> brute_force(const Options& options, std::int64_t steps) {
  const Extent n = options.cells;
  const double dt = options.time_step > 0 ? options.time_step : 0.9 * stable_time_step(options);
  const std::vector<std::vector<double>> central{{-2, 1},
                                                 {-5. / 2, 4. / 3, -1. / 12},
                                                 {-49. / 18, 3. / 2, -3. / 20, 1. / 90},
                                                 {-205. / 72, 8. / 5, -1. / 5, 8. / 315, -1. / 560}};
  std::vector<double> u = of(scrambled)({{0, 0, 0}, n}), before = u, next = u;
  for (double& value : before) value *= 0.9;
  const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) { return value_at(options, u, {i, j, k}); };
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t k = 0; k < n[2]; ++k)
      for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i = 0; i < n[0]; ++i) {
          const std::size_t here = static_cast<std::size_t>((k * n[1] + j) * n[0] + i);
          double laplacian = 0;
          if (options.equation == Equation::heat && options.points == 27) {
            for (int m = 0; m < 27; ++m) {
              const int d[3] = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
              laplacian += cube_weights[d[0] * d[0] + d[1] * d[1] + d[2] * d[2]] * at(i + d[0], j + d[1], k + d[2]);
            }
          } else {
            const auto& w = central[static_cast<std::size_t>(radius(options)) - 1];
            laplacian = 3 * w[0] * u[here];
            for (int r = 1; r < static_cast<int>(w.size()); ++r)
              laplacian += w[static_cast<std::size_t>(r)] * (at(i - r, j, k) + at(i + r, j, k) + at(i, j - r, k) +
                                                             at(i, j + r, k) + at(i, j, k - r) + at(i, j, k + r));
          }
          const double h = options.spacing;
          if (options.equation == Equation::heat) {
            next[here] = u[here] + options.diffusivity * dt / (h * h) * laplacian;
          } else {
            const double c = options.speeds({{i, j, k}, {i + 1, j + 1, k + 1}}).front() * dt / h;
            // The scheme is (next - 2 u + before) / dt^2 + sigma (next - before) / (2 dt) = c^2 Lap u.
            const double s = damping(options, dt, {i, j, k});
            next[here] = (2 * u[here] - (1 - s) * before[here] + c * c * laplacian) / (1 + s);
          }
        }
    for (const Source& source : options.sources) {
      const double a = std::pow(pi * source.frequency * (static_cast<double>(step) * dt - source.delay), 2);
      next[static_cast<std::size_t>((source.cell[2] * n[1] + source.cell[1]) * n[0] + source.cell[0])] +=
          dt * dt * source.amplitude * (1 - 2 * a) * std::exp(-a);
    }
    before = u;
    u = next;
  }
  return u;
}

struct Scenario {
  std::string name;
  Options options;
};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  all.push_back({"heat_of_7_points", heat({18, 11, 10}, {true, false, true})});
  all.push_back({"heat_of_27_points", heat({13, 12, 11}, {false, true, false})});
  all.back().options.points = 27;
  all.push_back({"heat_between_insulated_sides", heat({14, 9, 12}, {false, false, true})});
  all.back().options.sides = Sides::insulated;
  all.push_back({"heat_of_27_points_between_insulated_sides", heat({14, 9, 12}, {false, true, false})});
  all.back().options.points = 27;
  all.back().options.sides = Sides::insulated;
  all.push_back({"heat_in_a_plane", heat({21, 17, 1}, {true, false, false})});
  all.push_back({"heat_on_a_line", heat({40, 1, 1}, {false, false, false})});
  all.push_back({"wave_of_order_2", wave({18, 11, 10}, {false, true, false}, 2)});
  all.push_back({"wave_of_order_4", wave({20, 16, 16}, {true, true, true}, 4)});
  all.push_back({"wave_of_order_6", wave({24, 18, 1}, {true, false, true}, 6)});
  all.push_back({"wave_of_order_8", wave({32, 20, 18}, {true, false, true}, 8)});
  all.push_back({"wave_from_sources_into_absorbing_layers", wave({26, 20, 22}, {false, true, false}, 4)});
  all.back().options.absorbing = 7;
  all.back().options.sources = {{"inside", {13, 0, 11}, 0.4, 20, 0.3}, {"in_the_layer", {3, 10, 7}, 0.8, 30, 0.1}};
  all.push_back({"wave_of_order_2_between_free_sides", wave({18, 11, 10}, {false, true, false}, 2)});
  all.push_back({"wave_of_order_8_between_free_sides", wave({24, 18, 17}, {false, false, true}, 8)});
  for (auto scenario = all.end() - 2; scenario != all.end(); ++scenario) scenario->options.sides = Sides::free;
  all.push_back({"wave_under_a_free_top_into_absorbing_layers", wave({26, 20, 22}, {false, true, false}, 6)});
  all.back().options.absorbing = 7;
  all.back().options.sides.of[2][1] = Sides::free;
  all.push_back({"wave_between_a_free_and_a_fixed_end", wave({24, 18, 1}, {false, true, true}, 8)});
  all.back().options.sides.of[0][0] = Sides::free;
  all.push_back({"heat_of_7_points_on_an_insulated_floor", heat({14, 9, 12}, {false, true, false})});
  all.back().options.sides.of[2][0] = Sides::insulated;
  all.push_back({"heat_of_27_points_on_an_insulated_floor", heat({14, 9, 12}, {false, true, false})});
  all.back().options.points = 27;
  all.back().options.sides.of[2][0] = Sides::insulated;
  all.push_back({"wave_of_order_8_between_fixed_sides", wave({24, 17, 18}, {false, true, false}, 8)});
  all.push_back({"wave_on_a_line", wave({60, 1, 1}, {false, true, true}, 8)});
  all.push_back({"heat_in_f32", heat({18, 11, 10}, {true, false, true})});
  all.push_back({"heat_of_27_points_in_f32", heat({13, 12, 11}, {false, true, false})});
  all.back().options.points = 27;
  all.push_back({"wave_of_order_2_in_f32", wave({18, 11, 10}, {false, true, false}, 2)});
  all.push_back({"wave_of_order_4_in_f32", wave({20, 16, 16}, {true, true, true}, 4)});
  all.push_back({"wave_of_order_6_in_f32", wave({24, 18, 1}, {true, false, true}, 6)});
  all.push_back({"wave_of_order_8_in_f32", wave({32, 20, 18}, {true, false, true}, 8)});
  for (auto scenario = all.end() - 6; scenario != all.end(); ++scenario) scenario->options.precision = DType::f32;
  using R = RouteKind;
  const std::pair<std::string, std::vector<R>> routes[] = {{"by_staged", {R::kernel, R::staged}},
                                                           {"by_peer", {R::kernel, R::peer, R::staged}},
                                                           {"by_direct", {R::kernel, R::direct}}};
  for (const auto& [name, kinds] : routes) {
    all.push_back({"wave_" + name, wave({26, 20, 22}, {false, true, false}, 4)});
    all.push_back({"heat_" + name, heat({18, 12, 14}, {true, false, true})});
    for (auto scenario = all.end() - 2; scenario != all.end(); ++scenario) scenario->options.exchange.routes = kinds;
  }
  all.push_back({"wave_on_blocks", wave({26, 20, 22}, {false, true, false}, 4)});
  all.push_back({"heat_on_blocks", heat({18, 12, 14}, {true, false, true})});
  for (auto scenario = all.end() - 2; scenario != all.end(); ++scenario)
    scenario->options.grid.partition.blocks_per_device = {2, 1, 2};
  return all;
}

class Stencils : public testing::TestWithParam<std::tuple<Backend, std::size_t>> {
 protected:
  static inline const std::vector<Scenario> all = scenarios();
  Backend backend = std::get<0>(GetParam());
  Options options = all[std::get<1>(GetParam())].options;
};

TEST_P(Stencils, AreThoseOfABruteForceLoopWhateverTheCuts) {
  constexpr std::int64_t steps = 13;
  const double rounding = options.precision == DType::f32 ? 2e-5 : 1e-11;
  const std::vector<double> wanted = brute_force(options, steps);
  std::optional<std::vector<double>> first;
  // Several devices per rank are tested on one and two ranks only, because four ranks cut the grid in the same way.
  for (int devices = 1; devices <= (Communicator::world().size() > 2 ? 1 : 3); ++devices)
    for (const int together : {1, 2, 3})
      for (const Overlap overlap : {Overlap::off, Overlap::on}) {
        if (!unavailable(backend, devices).empty()) continue;
        // Runs half of the combinations, so that each pair of two choices occurs.
        if (!ranks::is_due(static_cast<std::size_t>(devices + together) + (overlap == Overlap::on ? 1 : 0), 2))
          continue;
        options.steps_per_exchange = together;
        options.overlap = overlap;
        std::vector<double> found;
        const auto error = error_of([&] { found = result(options, devices, steps, backend); });
        if (error && error->code() == ErrorCode::unsupported && !error->fact("block").empty())
          continue;  // blocks have too few cells for this number of time steps between exchanges
        ASSERT_FALSE(error) << error->what();
        EXPECT_LT(largest_off(found, wanted), rounding) << devices << " devices, " << together << " steps an exchange";
        if (!first) first = found;
        EXPECT_EQ(found, *first) << devices << " devices, " << together << " steps an exchange";
      }
  ASSERT_TRUE(first.has_value());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Stencils,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range<std::size_t>(0, scenarios().size())),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" + scenarios()[std::get<1>(info.param)].name;
                         });

Options shot(int devices_apart) {
  Options options;
  options.cells = {48, 40, 1};
  options.equation = Equation::wave;
  options.order = 4;
  options.precision = DType::f64;
  options.absorbing = 12;
  options.time_step = 0.4;
  options.sources = {{"shot", {24, 20, 0}, 0.05, 1, 25}};
  options.receivers = {{"near", {30, 20, 0}}, {"corner", {14, 14, 0}}};
  options.steps_per_exchange = devices_apart;
  return options;
}

class StencilPoints : public testing::TestWithParam<Backend> {
 protected:
  Backend backend = GetParam();
};

TEST_P(StencilPoints, ReceiversHearTheSourceAlikeHoweverTheGridIsCut) {
  const Communicator comm = Communicator::world();
  std::vector<std::vector<double>> first;
  for (const int devices : {1, 2, 4})
    for (const int together : {1, 2}) {
      if (!unavailable(backend, devices).empty()) continue;
      Stencil run(comm, machine_here(backend, devices), shot(together));
      run.advance(70);
      run.advance(130);
      std::vector<std::vector<double>> heard{run.seismogram(0), run.seismogram(1)};
      ASSERT_EQ(heard[0].size(), 200u);
      if (first.empty()) first = heard;
      EXPECT_EQ(heard, first) << devices << " devices, " << together << " steps an exchange";
    }
  const auto loudest = [](const std::vector<double>& trace) {
    return std::max_element(trace.begin(), trace.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  };
  const auto near = loudest(first[0]), corner = loudest(first[1]);
  EXPECT_GT(std::abs(*near), 1.1 * std::abs(*corner)) << "the wave does not spread";
  // The wave travels one cell per unit of time: 6 cells to one receiver and 11.66 to the other.
  EXPECT_NEAR(static_cast<double>((corner - first[1].begin()) - (near - first[0].begin())) * 0.4, 11.66 - 6, 1.5);
}

TEST_P(StencilPoints, ReceiversHearAsMuchWhereverTheirTableIsReadOverItsEnd) {
  Options options;
  options.cells = {12, 1, 1};
  options.equation = Equation::wave;
  options.precision = DType::f64;
  options.time_step = 0.4;
  options.sources = {{"one", {3, 0, 0}, 0.02, 1, 60}};
  options.receivers = {{"near", {5, 0, 0}}, {"far", {9, 0, 0}}};
  const auto heard = [&](std::int64_t first, std::int64_t then) {
    Stencil run(Communicator::world(), machine_here(backend, 1), options);
    run.advance(first);
    run.advance(then);
    return std::array{run.seismogram(0), run.seismogram(1)};
  };
  // Reads the wave's records at receivers when their table of 8192 samples on the device is full, and before that.
  const auto at_end = heard(8192, 808), between = heard(8000, 1000);
  ASSERT_EQ(at_end[0].size(), 9000u);
  EXPECT_EQ(at_end, between);
  EXPECT_NE(at_end[0][8190], at_end[0][8195]);
  EXPECT_NE(at_end[0], at_end[1]);
}

TEST_P(StencilPoints, AShotInSpaceIsHeardAsTheExactSolutionSays) {
  // Exact solution of a point source: u(r, t) = f(t - r / c) / (4 pi c^2 r). A cell is a point source with its volume.
  Options options;
  options.cells = {44, 40, 40};
  options.equation = Equation::wave;
  options.order = 8;
  options.precision = DType::f64;
  options.speed = 2;
  options.spacing = 0.5;
  options.time_step = 0.02;
  options.absorbing = 10;
  options.sources = {{"shot", {20, 20, 20}, 0.35, 3, 4.5}};
  options.receivers = {{"heard", {32, 20, 20}}};
  const Communicator comm = Communicator::world();
  Stencil run(comm, machine_here(backend, unavailable(backend, 2).empty() ? 2 : 1), options);
  run.advance(420);
  const std::vector<double> heard = run.seismogram(0);
  const double r = 12 * 0.5, most = 3 * std::pow(0.5, 3) / (4 * pi * 4 * r);
  double off = 0;
  for (std::size_t n = 0; n < heard.size(); ++n) {
    const double phase = pi * 0.35 * (0.02 * static_cast<double>(n + 1) - r / 2 - 4.5), a = phase * phase;
    off = std::max(off, std::abs(heard[n] - most * (1 - 2 * a) * std::exp(-a)));
  }
  EXPECT_LT(off, 0.03 * most);
}

/// Fraction of a wave packet of `length` cells that is reflected at the end of a line.
double reflected(Backend backend, int order, int layers, double length) {
  constexpr std::int64_t cells = 600;
  constexpr double courant = 0.4, middle = 300;
  Options options;
  options.cells = {cells, 1, 1};
  options.equation = Equation::wave;
  options.order = order;
  options.precision = DType::f64;
  options.time_step = courant;
  options.absorbing = layers;
  const auto going = [&](double steps) {
    return of([=](auto i, auto, auto) {
      const double x = static_cast<double>(i) + 0.5 - middle - courant * steps;
      return std::exp(-std::pow(x / length, 2)) * std::cos(2 * pi * x / length);
    });
  };
  Stencil run(Communicator::world(), machine_here(backend, 1), options);
  run.start_from(going(0), going(-1));
  run.advance(static_cast<std::int64_t>((2 * (cells - middle) - 100) / courant));
  double most = 0;
  for (const double value : whole(run)) most = std::max(most, std::abs(value));
  return most;
}

TEST_P(StencilPoints, TheAbsorbingLayerGivesBackAThousandthWhereItIsMuchDeeperThanAWave) {
  for (const int order : {2, 4, 8}) {
    EXPECT_GT(reflected(backend, order, 0, 20), 0.8) << "order " << order;
    EXPECT_NEAR(reflected(backend, order, 10, 20), 0.24, 0.02) << "order " << order;
    EXPECT_NEAR(reflected(backend, order, 20, 20), 0.045, 0.004) << "order " << order;
    EXPECT_NEAR(reflected(backend, order, 40, 20), 0.002, 0.0003) << "order " << order;
    EXPECT_NEAR(reflected(backend, order, 80, 20), 0.001, 0.0001) << "order " << order;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, StencilPoints, testing::ValuesIn(backends_here()),
                         [](const auto& info) { return to_string(info.param); });

/// Bytes of the device that needs most memory, if ghost cells are wide enough for `steps` time steps per exchange.
std::int64_t largest_need(const Machine& machine, Options options, int steps) {
  options.steps_per_exchange = steps;
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(machine.devices()), 0);
  for (const ArrayBytes& array : memory_needed(plan_grid(machine, options), options))
    bytes[static_cast<std::size_t>(array.device)] += array.bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

TEST(StencilSteps, ThoseForWhichThereIsNoMemoryAreNotMeasured) {
  const Communicator comm = Communicator::world();
  const Machine real = machine_here(Backend::host, 2);
  const Options options = heat({12, 12, 24}, {true, true, true});
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  for (int a = 0; a < real.devices(); ++a) {
    devices.push_back(real.device(a));
    devices.back().memory = largest_need(real, options, 3);
    for (int b = 0; b < real.devices(); ++b) links.push_back(real.link(a, b));
  }
  TuneOptions how;
  how.retune = true;
  how.cache_folder = testing::TempDir();
  const StepsTuning found = tune_steps(comm, Machine("small", devices, links), options, how);
  ASSERT_EQ(found.tried.size(), 3u);
  EXPECT_EQ(found.tried.back().first, 3);
}

TEST(StencilSteps, AStartWithARateHasTheSameBitsHoweverTheGridIsCut) {
  const auto started = [](bool free, int devices) {
    Options options = wave({24, 20, 18}, {false, true, false}, 6);
    options.sides = free ? Sides::free : Sides::fixed;
    Stencil run(Communicator::world(), machine_here(Backend::host, devices), options);
    run.start_moving(of(scrambled), of([](auto i, auto j, auto k) { return scrambled(k, i, j); }));
    run.advance(1);
    return whole(run);
  };
  for (const bool free : {false, true}) EXPECT_EQ(started(free, 3), started(free, 1)) << (free ? "free" : "fixed");
}

TEST(StencilSteps, GhostsAreWideOnlyAlongCuts) {
  const Machine machine = machine_here(Backend::host, 2);
  const Options thin = heat({40, 3, 1}, {false, false, false});
  Options options = thin;
  options.steps_per_exchange = 4;
  check_blocks(plan_grid(machine, options), options);
  EXPECT_EQ(result(options, 2, 9), result(thin, 2, 9));
}

TEST(StencilRefuses, WhatItCannotCompute) {
  const Communicator comm = Communicator::world();
  const auto said = [&](Options options, int devices = 1) {
    return error_of([&] { Stencil run(comm, machine_here(Backend::host, devices), std::move(options)); });
  };
  Options options = heat({16, 16, 16}, {true, true, true});
  options.time_step = 1.01 * stable_time_step(options);
  expect_error(said(options), ErrorCode::invalid_argument,
               {{"option", "time_step"}, {"given", options.time_step}, {"limit", stable_time_step(options)}});
  options = wave({8, 8, 8}, {true, true, true}, 8);
  options.steps_per_exchange = 3;
  expect_error(said(options, 2), ErrorCode::unsupported, {{"given", 4}, {"needed", 12}});
  options.cells = {8, 8, 3};
  options.steps_per_exchange = 1;
  expect_error(said(options), ErrorCode::unsupported,
               {{"option", "cells"}, {"axis", "z"}, {"given", 3}, {"needed", 4}});
  options = shot(1);
  options.sources[0].cell = {48, 0, 0};
  expect_error(said(options), ErrorCode::invalid_argument, {{"source", "shot"}, {"cell", "(48, 0, 0)"}});
  options = shot(1);
  options.receivers[0].cell = {0, -1, 0};
  expect_error(said(options), ErrorCode::invalid_argument, {{"receiver", "near"}, {"cell", "(0, -1, 0)"}});
  options = shot(1);
  options.absorbing = 21;
  expect_error(said(options), ErrorCode::unsupported,
               {{"option", "absorbing"}, {"axis", "y"}, {"given", 42}, {"limit", 40}});
  options = shot(1);
  options.sides = Sides::free;
  expect_error(said(options), ErrorCode::unsupported, {{"option", "absorbing"}, {"sides", "free"}});
  options = heat({16, 16, 16}, {true, true, true});
  options.coding.kind = Coding::Kind::cast;
  expect_error([&] { tune_steps(comm, machine_here(Backend::host, 1), options); }, ErrorCode::unsupported,
               {{"option", "steps_per_exchange"}, {"coding", "cast"}});
  options = heat({16, 16, 16}, {true, false, true});
  options.sides = Sides::free;
  expect_error(said(options), ErrorCode::unsupported, {{"option", "sides"}, {"given", "free"}});
  options = heat({16, 16, 16}, {true, true, true});
  options.points = 9;
  expect_error(said(options), ErrorCode::unsupported, {{"option", "points"}, {"given", 9}});
}

}  // namespace
}  // namespace slipstream::stencil
