// A pseudo-spectral flow, compared with reference data, with its balance equations, and between numbers of devices.
#include <slipstream/dns.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

using dns::Dns;
using dns::Options;
using dns::Scheme;
using dns::Statistics;

Options flow(std::int64_t n, double viscosity, double time_step, Scheme scheme = Scheme::rk4) {
  Options o;
  o.cells = {n, n, n};
  o.viscosity = viscosity;
  o.time_step = time_step;
  o.scheme = scheme;
  return o;
}

/// Parameter: number of devices per rank.
class PseudoSpectralFlow : public OnDevices {};

/// Compares energy and dissipation at t = 1, 2, ... with a spectral DNS of 512^3 modes at Re 1600 (International
/// Workshops on High-Order CFD Methods, case C3.5). `within`: tolerance of the dissipation, limited by the grid.
void follow_taylor_green(const Communicator& comm, const Machine& machine, std::int64_t n, double time_step,
                         const std::vector<double>& within) {
  constexpr double energy[] = {0.124515267367, 0.12391676584, 0.123023878593},
                   dissipation[] = {0.000518820935, 0.00070756353, 0.001126516665};
  Dns d(comm, machine, flow(n, 1.0 / 1600, time_step));
  d.taylor_green();
  const Statistics start = d.statistics();
  EXPECT_NEAR(start.energy, 1.0 / 8, 1e-14);
  EXPECT_NEAR(start.enstrophy, 3.0 / 8, 1e-13);
  EXPECT_NEAR(start.dissipation, 0.75 / 1600, 1e-16);
  for (std::size_t t = 0; t < within.size(); ++t) {
    d.advance(std::lround(1 / time_step));
    const Statistics s = d.statistics();
    EXPECT_NEAR(s.time, static_cast<double>(t + 1), 1e-12);
    EXPECT_NEAR(s.energy, energy[t], 0.001 * within[t]) << "t = " << t + 1;
    EXPECT_NEAR(s.dissipation / dissipation[t], 1, within[t]) << "t = " << t + 1;
  }
}

TEST_P(PseudoSpectralFlow, FollowsTheTaylorGreenVortex) { follow_taylor_green(comm, machine(), 32, 0.1, {1e-5, 2e-3}); }

TEST_P(PseudoSpectralFlow, IsTheSameOnOneDevice) {
  const Machine m = machine(), alone = machine_here(std::get<0>(GetParam()), 1, 0, Communicator(MPI_COMM_SELF));
  for (const DType type : {DType::f64, DType::f32})
    for (const int first : {1, 2, m.devices()}) {
      if (m.devices() % first) continue;
      SCOPED_TRACE(to_string(type) + ", " + std::to_string(first) + " devices share y");
      Options o = flow(16, 0.02, 0.02, first == 2 ? Scheme::rk2 : Scheme::rk4);
      o.cells = {16, 18, 15};
      o.type = type;
      o.forcing.power = 0.1;
      Dns one(Communicator(MPI_COMM_SELF), alone, o);
      o.process_grid = {first, m.devices() / first};
      o.overlap = first != 2;
      Dns several(comm, m, o);
      for (Dns* d : {&one, &several}) {
        d->random(dns::peaked_spectrum(4, 2, 0.5), 11);
        d->advance(3);
      }
      const Statistics a = one.statistics(), b = several.statistics();
      const double exact = type == DType::f64 ? 1e-13 : 1e-5;
      EXPECT_NEAR(a.energy, b.energy, exact);
      EXPECT_NEAR(a.courant, b.courant, exact);
      const Field &whole = one.velocity(), &parts = several.velocity();
      const std::size_t size = size_of(type);
      for (const std::int64_t id : parts.grid().local()) {
        const Box& box = parts.grid().block(id).box;
        std::vector<std::byte> wanted(static_cast<std::size_t>(3 * box.volume()) * size), found = wanted;
        whole.read(box, wanted.data());
        parts.read(box, found.data());
        for (std::size_t i = 0; i < wanted.size(); i += size) {
          const auto value = [&](const std::vector<std::byte>& of) {
            return type == DType::f64 ? *reinterpret_cast<const double*>(&of[i])
                                      : double{*reinterpret_cast<const float*>(&of[i])};
          };
          ASSERT_NEAR(value(found), value(wanted), exact);
        }
      }
    }
}

TEST_P(PseudoSpectralFlow, HoldsWhatItsPlanSays) {
  const Machine m = machine();
  for (const auto& [scheme, power, scalars, arrays] : {std::tuple{Scheme::rk2, 0.4, 0, 12},
                                                       {Scheme::rk4, 0.0, 0, 12},
                                                       {Scheme::rk4, 0.4, 0, 15},
                                                       {Scheme::rk2, 0.0, 2, 21}}) {
    Options o = flow(16, 0.02, 0.02, scheme);
    o.scalars.resize(static_cast<std::size_t>(scalars));
    o.forcing.power = power;
    Dns d(comm, m, o);
    const std::vector<ArrayBytes> needed = dns::memory_needed(m, o);
    for (const int device : m.devices_of_rank(comm.rank())) {
      std::int64_t fields = 0;
      for (const ArrayBytes& array : needed)
        if (array.device == device && array.array != "transforms" && array.array != "messages") fields += array.bytes;
      EXPECT_EQ(d.bytes_on(m.device(device).local) - d.fft().bytes_on(m.device(device).local), fields);
      if (m.devices() == 1) EXPECT_EQ(fields, arrays * 16 * 16 * 18 * 8);
    }
  }
}

TEST_P(PseudoSpectralFlow, BalancesItsEnergyInEveryStep) {
  for (const double power : {0.0, 0.4}) {
    Options o = flow(16, 0.05, 0.005);
    o.forcing.power = power;
    o.budget = true;
    Dns d(comm, machine(), o);
    d.random(dns::peaked_spectrum(4, 2, 0.5), 3);
    std::vector<Statistics> s{d.statistics()};
    for (int n = 0; n < 2; ++n) {
      d.advance(1);
      s.push_back(d.statistics());
      EXPECT_LT(s.back().budget_error, 1e-6) << "power " << power << ", step " << n + 1;
      EXPECT_GT(s.back().budget_error, 0);
    }
    // Energy dissipated in two steps, by Simpson's rule.
    const double lost = o.time_step / 3 * (s[0].dissipation + 4 * s[1].dissipation + s[2].dissipation);
    const double put_in = 2 * o.time_step * power;
    // The forcing keeps its factor for a step, so its power is exact to the order of the time step.
    EXPECT_NEAR(s[2].energy - s[0].energy, put_in - lost, power > 0 ? 0.02 * put_in : 1e-6 * lost);
  }
}

TEST_P(PseudoSpectralFlow, HoldsTheEnergyOfItsLowestShells) {
  for (const Scheme scheme : {Scheme::rk2, Scheme::rk4}) {
    Options o = flow(16, 0.05, 0.002, scheme);
    o.forcing.kind = dns::Forcing::Kind::energy;
    o.budget = true;
    Dns d(comm, machine(), o);
    d.random(dns::peaked_spectrum(4, 2, 0.5), 3);
    const auto low = [&] {
      const Statistics s = d.statistics();
      return s.spectrum[1] + s.spectrum[2];
    };
    const double before = low();
    d.advance(3);
    EXPECT_NEAR(low(), before, 1e-13 * before);
    const Statistics s = d.statistics();
    EXPECT_GT(s.power, 0);
    EXPECT_LT(s.budget_error, scheme == Scheme::rk4 ? 1e-7 : 1e-3);
  }
}

TEST_P(PseudoSpectralFlow, BeginsWithAVelocityButForWhatDivergesOrIsTruncated) {
  Dns d(comm, machine(), flow(12, 0.01, 0.01));
  std::vector<std::vector<double>> blocks;
  std::vector<const double*> velocity;
  const double h = 2 * std::numbers::pi / 12;
  for (const std::int64_t id : d.fft().physical().local()) {
    const Box& box = d.fft().physical().block(id).box;
    std::vector<double>& values = blocks.emplace_back();
    for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
      for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
        for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) {
          const double x = h * i, y = h * j, z = h * k;
          values.insert(values.end(), {0.5 + std::sin(z) + std::sin(x), std::sin(2 * x), std::cos(4 * y)});
        }
    velocity.push_back(values.data());
  }
  d.begin(velocity);
  const Statistics s = d.statistics();
  EXPECT_NEAR(s.energy, 0.25 + 0.25, 1e-14);
  EXPECT_NEAR(s.mean_velocity[0], 0.5, 1e-14);
  EXPECT_EQ(s.spectrum[0], 0);
  EXPECT_NEAR(s.spectrum[1], 0.25, 1e-14);
  EXPECT_NEAR(s.spectrum[2], 0.25, 1e-14);
}

TEST_P(PseudoSpectralFlow, ConservesEnergyToTheOrderOfItsScheme) {
  const Machine m = machine();
  const auto lost = [&](Scheme scheme, double time_step) {
    Dns d(comm, m, flow(16, 0, time_step, scheme));
    d.random(dns::peaked_spectrum(5, 3, 0.5), 5);
    const double before = d.statistics().energy;
    d.advance(std::lround(0.8 / time_step));
    return std::abs(d.statistics().energy - before) / before;
  };
  // Errors of the energy at the end: third order for Heun's scheme and fifth for the classical one, whose leading error
  // terms conserve energy.
  const double heun[] = {lost(Scheme::rk2, 0.04), lost(Scheme::rk2, 0.02)};
  EXPECT_LT(heun[1], 1e-3);
  EXPECT_NEAR(std::log2(heun[0] / heun[1]), 3, 0.25);
  const double classical[] = {lost(Scheme::rk4, 0.08), lost(Scheme::rk4, 0.04)};
  EXPECT_LT(classical[1], 1e-6);
  EXPECT_NEAR(std::log2(classical[0] / classical[1]), 5, 0.35);
}

TEST_P(PseudoSpectralFlow, BeginsWithTheGivenSpectrumWithoutDivergence) {
  Dns d(comm, machine(), flow(20, 0.01, 0.01));
  const std::vector<double> spectrum = dns::peaked_spectrum(6, 3, 0.7);
  d.random(spectrum, 1);
  const Statistics s = d.statistics();
  EXPECT_NEAR(s.energy, 0.7, 1e-13);
  double squares = 0, sum = 0;
  for (std::size_t k = 0; k < s.spectrum.size(); ++k) {
    EXPECT_NEAR(s.spectrum[k], k < spectrum.size() ? spectrum[k] : 0, 1e-14) << "shell " << k;
    squares += static_cast<double>(k * k) * s.spectrum[k];
    sum += s.spectrum[k];
  }
  EXPECT_NEAR(sum, s.energy, 1e-14);
  EXPECT_NEAR(s.enstrophy, squares, 0.1 * squares) << "shells are 1 wide";
  const Field& modes = d.state()["modes"];
  double most = 0;
  for (const std::int64_t id : modes.grid().local()) {
    const auto values = array_of<std::complex<double>>(modes, id);
    const Box& box = modes.grid().block(id).box;
    const auto count = static_cast<std::size_t>(box.volume());
    const auto wave = [](std::int64_t k) { return static_cast<double>(k > 10 ? k - 20 : k); };
    std::size_t at = 0;
    for (std::int64_t y = box.lo[2]; y < box.hi[2]; ++y)
      for (std::int64_t x = box.lo[1]; x < box.hi[1]; ++x)
        for (std::int64_t z = box.lo[0]; z < box.hi[0]; ++z, ++at)
          most = std::max(
              most, std::abs(wave(x) * values[at] + wave(y) * values[at + count] + wave(z) * values[at + 2 * count]));
  }
  EXPECT_LT(most, 1e-14);
  EXPECT_NEAR(s.taylor_reynolds * s.taylor_reynolds, 20.0 / 3 * s.energy * s.energy / (0.01 * s.dissipation), 1e-8);
  double scales = 0;
  for (std::size_t k = 1; k < spectrum.size(); ++k) scales += spectrum[k] / static_cast<double>(k);
  EXPECT_NEAR(s.integral_scale, 0.75 * std::numbers::pi / 0.7 * scales, 1e-13);
  EXPECT_NEAR(s.c_epsilon, s.dissipation * s.integral_scale / std::pow(2 * 0.7 / 3, 1.5), 1e-13);
}

TEST_P(PseudoSpectralFlow, GoesOnWithTheSameBitsFromItsState) {
  const Machine m = machine();
  Dns all(comm, m, flow(12, 0.02, 0.02)), half(comm, m, flow(12, 0.02, 0.02));
  all.random(dns::peaked_spectrum(3, 2, 0.5), 2);
  all.advance(2);
  for (const std::int64_t id : all.state()["modes"].grid().local())
    set_array(half.state()["modes"], id, array_of<std::byte>(all.state()["modes"], id));
  half.state().time = all.state().time;
  ++half.state().restarts;
  all.advance(2);
  half.advance(2);
  for (const std::int64_t id : all.state()["modes"].grid().local())
    EXPECT_EQ(array_of<std::byte>(all.state()["modes"], id), array_of<std::byte>(half.state()["modes"], id));
}

TEST_P(PseudoSpectralFlow, IsWatchedEverySoManySteps) {
  Dns d(comm, machine(), flow(12, 0.01, 0.01));
  GuardOptions every;
  every.every = 2;
  d.guard(every);
  d.taylor_green();
  EXPECT_NO_THROW(d.advance(4));
  std::vector<std::vector<double>> blocks;
  std::vector<const double*> velocity;
  const Grid& grid = d.fft().physical();
  for (const std::int64_t id : grid.local()) {
    const Box& box = grid.block(id).box;
    std::vector<double>& values = blocks.emplace_back(static_cast<std::size_t>(3 * box.volume()), 1.0);
    if (box.lo == Extent{0, 0, 0}) values[3 * 5] = std::numeric_limits<double>::quiet_NaN();
    velocity.push_back(values.data());
  }
  d.begin(velocity);
  try {
    d.advance(6);
    FAIL() << "went on with a velocity that is no number";
  } catch (const Diverged& error) {
    EXPECT_EQ(error.finding.quantity, "velocity");
    EXPECT_EQ(error.finding.step, 2);
    EXPECT_TRUE(std::isnan(error.finding.value));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PseudoSpectralFlow,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3)),
                         OnDevices::name);

TEST(PseudoSpectralFlowRefined, FollowsTheTaylorGreenVortexLonger) {
  follow_taylor_green(Communicator::world(), machine_here(Backend::host, 2), 64, 0.1, {1e-5, 1e-4, 5e-3});
}

TEST(PseudoSpectralFlowRefuses, WhatCannotBe) {
  const Communicator comm = Communicator::world();
  const Machine m = machine_here(Backend::host, 1);
  const auto refused = [&](const Options& o, const Facts& facts) {
    expect_error([&] { Dns(comm, m, o); }, ErrorCode::invalid_argument, facts);
  };
  refused(flow(3, 0.1, 0.1), {{"option", "cells"}, {"given", "3 x 3 x 3"}});
  refused(flow(8, -1, 0.1), {{"option", "viscosity"}, {"given", -1}});
  refused(flow(8, 0.1, 0), {{"option", "time_step"}, {"given", 0}});
  Options o = flow(8, 0.1, 0.1);
  o.type = DType::c128;
  refused(o, {{"option", "type"}, {"given", "c128"}});
  expect_error([] { dns::scheme_from_string("rk3"); }, ErrorCode::invalid_argument,
               {{"option", "scheme"}, {"given", "rk3"}});
}

TEST(PseudoSpectralFlowRefuses, ATimeStepAboveTheLimitAndSpectraThatDoNotFit) {
  const Communicator comm = Communicator::world();
  Dns d(comm, machine_here(Backend::host, 1), flow(16, 0.01, 2));
  d.taylor_green();
  const double before = d.statistics().energy;
  const auto error = error_of([&] { d.check_time_step(); });
  expect_error(error, ErrorCode::unsupported, {{"option", "time_step"}, {"given", 2}});
  EXPECT_LT(std::stod(error->fact("limit")), 2);
  EXPECT_EQ(d.statistics().energy, before);
  expect_error(
      [&] {
        d.random({0, 1, -1}, 0);
      },
      ErrorCode::invalid_argument, {{"option", "spectrum"}, {"shell", 2}, {"given", -1}});
  expect_error([&] { d.random({1}, 0); }, ErrorCode::unsupported, {{"option", "spectrum"}, {"shell", 0}});
  expect_error([&] { d.random(std::vector<double>(20, 1e-3), 0); }, ErrorCode::unsupported,
               {{"option", "spectrum"}, {"shell", 0}});
  std::vector<double> far(20, 0.0);
  far[19] = 1;
  expect_error([&] { d.random(far, 0); }, ErrorCode::unsupported, {{"option", "spectrum"}, {"shell", 19}});
  Options o = flow(16, 0.01, 0.01);
  o.forcing.power = 1;
  o.forcing.shells = 1;
  Dns forced(comm, machine_here(Backend::host, 1), o);
  forced.random({0, 0, 0, 1}, 0);
  for (const auto& call : {std::function([&] { forced.check_forcing(); }), std::function([&] { forced.advance(1); })})
    expect_error(call, ErrorCode::unsupported, {{"option", "shells"}, {"given", 1}});
  o.forcing.kind = dns::Forcing::Kind::energy;
  expect_error([&] { Dns(comm, machine_here(Backend::host, 1), o); }, ErrorCode::unsupported, {{"option", "power"}});
}

}  // namespace
}  // namespace slipstream
