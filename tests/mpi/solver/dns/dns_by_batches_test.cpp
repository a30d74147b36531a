// A pseudo-spectral flow with arrays in host memory, compared with the same flow in device memory.
#include <slipstream/dns.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "support/exchange_rig.hpp"
#include "support/expect_error.hpp"
#include "support/on_devices.hpp"

namespace slipstream {
namespace {

class FlowByBatches : public OnDevices {
 protected:
  Communicator alone{MPI_COMM_SELF};
  Machine one() const { return machine_here(std::get<0>(GetParam()), 1, 0, Communicator(MPI_COMM_SELF)); }

  static dns::Options options(const Extent& cells, dns::Scheme scheme, DType type) {
    dns::Options o;
    o.cells = cells;
    o.viscosity = 0.02;
    o.time_step = 0.01;
    o.scheme = scheme;
    o.type = type;
    return o;
  }
  /// Enables all optional features of a flow.
  static void add_all(dns::Options& o) {
    o.courant = 0.1;
    o.lengths = {6, 7, 9};
    o.dealiasing = dns::Dealiasing::phase_shift;
    o.scalars = {{0.7, {0, 0.5, 1}}, {2, {1, 0, 0}}};
    o.forcing.kind = dns::Forcing::Kind::stochastic;
    o.forcing.acceleration = 0.2;
    o.forcing.correlation_time = 0.3;
  }
  /// Velocity after `steps` steps from random modes.
  static std::vector<std::byte> velocity_after(dns::Dns& d, std::int64_t steps) {
    d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
    d.advance(steps);
    const Extent& cells = d.options().cells;
    std::vector<std::byte> values(static_cast<std::size_t>(3 * volume(cells)) * size_of(d.options().type));
    d.velocity().read({{0, 0, 0}, cells}, values.data());
    return values;
  }
  std::int64_t least(const dns::Options& wanted) const {
    dns::Options o = wanted;
    o.device_memory = 1;
    const std::optional<Error> error = error_of([&] { dns::Dns(alone, one(), o); });
    expect_error(error, ErrorCode::unsupported, {{"option", "device_memory"}, {"given", 1}});
    return std::stoll(error->fact("needed"));
  }
};

double largest_difference(DType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  double most = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); i += size_of(type)) {
    const auto value = [&](const std::vector<std::byte>& of) {
      return type == DType::f64 ? *reinterpret_cast<const double*>(&of[i])
                                : double{*reinterpret_cast<const float*>(&of[i])};
    };
    most = std::max(most, std::abs(value(a) - value(b)));
  }
  return most;
}

TEST_P(FlowByBatches, IsTheFlowOnTheDevice) {
  for (const dns::Scheme scheme : {dns::Scheme::rk2, dns::Scheme::rk4})
    for (const DType type : {DType::f64, DType::f32})
      for (const int forcing : {0, 1, 2}) {
        SCOPED_TRACE(std::string(scheme == dns::Scheme::rk2 ? "rk2 " : "rk4 ") + to_string(type) + ", forcing " +
                     std::to_string(forcing));
        dns::Options o = options({20, 18, 15}, scheme, type);
        if (forcing == 1) o.forcing.power = 0.4;
        if (forcing == 2) o.forcing.kind = dns::Forcing::Kind::energy;
        dns::Dns resident(alone, one(), o);
        o.device_memory = 1 << 22;
        dns::Dns batches(alone, one(), o);
        const double exact = type == DType::f64 ? 1e-13 : 1e-5;
        EXPECT_LE(largest_difference(type, velocity_after(resident, 3), velocity_after(batches, 3)), exact);
        EXPECT_LE(batches.bytes_on(one().device(0).local), o.device_memory);
        const dns::Statistics a = resident.statistics(), b = batches.statistics();
        EXPECT_NEAR(a.energy, b.energy, exact);
        EXPECT_NEAR(a.dissipation, b.dissipation, exact);
        EXPECT_NEAR(a.power, b.power, 100 * exact);
        EXPECT_NEAR(a.courant, b.courant, exact);
        EXPECT_NEAR(a.skewness, b.skewness, 10 * exact);
        EXPECT_NEAR(a.flatness, b.flatness, 10 * exact);
        ASSERT_EQ(a.spectrum.size(), b.spectrum.size());
        for (std::size_t k = 0; k < a.spectrum.size(); ++k) EXPECT_NEAR(a.spectrum[k], b.spectrum[k], exact);
        // Output between steps must not change the flow.
        resident.advance(2);
        batches.advance(2);
        EXPECT_NEAR(resident.statistics().energy, batches.statistics().energy, exact);
      }
}

/// All sums that a flow reports.
std::vector<double> figures(dns::Dns& d) {
  const dns::Statistics s = d.statistics();
  std::vector<double> all{s.energy, s.dissipation, s.power, s.courant, s.skewness, s.flatness};
  const auto add = [&](const std::vector<double>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(s.spectrum);
  for (const dns::ScalarStatistics& scalar : s.scalars) {
    add({scalar.variance, scalar.dissipation, scalar.flux[0], scalar.flux[1], scalar.flux[2]});
    add(scalar.spectrum);
  }
  add(d.transfer().transfer);
  return all;
}

/// Grid sizes whose batches in device memory are whole planes, pieces of planes of constant y, or those of constant z.
TEST_P(FlowByBatches, HasTheSameBitsWithAnyBudget) {
  for (const Extent& cells : {Extent{24, 20, 33}, Extent{54, 12, 20}, Extent{160, 64, 8}})
    for (const dns::Scheme scheme : {dns::Scheme::rk2, dns::Scheme::rk4}) {
      SCOPED_TRACE(to_string(cells) + (scheme == dns::Scheme::rk2 ? ", rk2" : ", rk4"));
      dns::Options o = options(cells, scheme, DType::f64);
      if (scheme == dns::Scheme::rk4) o.forcing.power = 0.4;
      if (scheme == dns::Scheme::rk2) add_all(o);
      const std::int64_t fewest = least(o);
      std::vector<std::vector<std::byte>> found;
      std::vector<std::vector<double>> of;
      for (const std::int64_t budget : {std::int64_t{1} << 30, fewest, 2 * fewest, 5 * fewest}) {
        o.device_memory = budget;
        dns::Dns d(alone, one(), o);
        found.push_back(velocity_after(d, 2));
        of.push_back(figures(d));
        EXPECT_LE(d.bytes_on(one().device(0).local), budget);
        EXPECT_TRUE(found.back() == found.front()) << "budget " << budget;
        EXPECT_TRUE(of.back() == of.front()) << "budget " << budget;
        const bool in_three = d.describe_batches().find("three sweeps") != std::string::npos;
        if (budget <= fewest) EXPECT_EQ(in_three, cells[0] == 160);
        if (budget == std::int64_t{1} << 30) EXPECT_FALSE(in_three);
      }
      o.device_memory = fewest;
      o.synchronous = true;
      o.host_copies = RowCopies::kernel;
      dns::Dns d(alone, one(), o);
      EXPECT_TRUE(velocity_after(d, 2) == found.front()) << "synchronous";
    }
}

TEST_P(FlowByBatches, BeginsWithTheTaylorGreenVortex) {
  for (const std::int64_t budget : {0, 1 << 22}) {
    dns::Options o = options({8, 10, 4}, dns::Scheme::rk2, DType::f64);
    o.device_memory = budget;
    o.lengths = {6, 9, 7};
    o.scalars = {{1, {0, 0, 1}}};
    dns::Dns d(alone, one(), o);
    d.random(dns::peaked_spectrum(2, 1, 0.5), 11);  // a second initial state, which must replace the first one
    const std::vector<double> ones(static_cast<std::size_t>(volume(o.cells)), 1.0);
    d.begin_scalars({ones.data()});
    d.taylor_green();
    std::vector<double> u(static_cast<std::size_t>(3 * volume(o.cells)));
    d.velocity().read({{0, 0, 0}, o.cells}, u.data());
    std::size_t at = 0;
    const auto angle = [&](std::int64_t n, std::size_t axis) {
      return 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(o.cells[axis]);
    };
    for (std::int64_t k = 0; k < o.cells[2]; ++k)
      for (std::int64_t j = 0; j < o.cells[1]; ++j)
        for (std::int64_t i = 0; i < o.cells[0]; ++i, at += 3) {
          const double x = angle(i, 0), y = angle(j, 1), z = angle(k, 2);
          ASSERT_NEAR(u[at], std::sin(x) * std::cos(y) * std::cos(z), 1e-15);
          // The third component follows from zero divergence
          ASSERT_NEAR(u[at + 1], -1.5 * std::cos(x) * std::sin(y) * std::cos(z), 1e-15);
          ASSERT_NEAR(u[at + 2], 0, 1e-15);
        }
    std::vector<std::complex<double>> modes(static_cast<std::size_t>(4 * 4 * 5 * 10));
    d.state().fields.at("modes")->read({{0, 0, 0}, {4, 5, 10}}, modes.data());
    for (std::size_t n = 3; n < modes.size(); n += 4) ASSERT_EQ(modes[n], 0.0);
  }
}

TEST_P(FlowByBatches, IsTheFlowOnTheDeviceWithAllOptions) {
  for (const dns::Scheme scheme : {dns::Scheme::rk2, dns::Scheme::rk4})
    for (const DType type : {DType::f64, DType::f32}) {
      SCOPED_TRACE(std::string(scheme == dns::Scheme::rk2 ? "rk2 " : "rk4 ") + to_string(type));
      dns::Options o = options({20, 18, 15}, scheme, type);
      add_all(o);
      dns::Dns resident(alone, one(), o);
      o.device_memory = 1 << 22;
      dns::Dns batches(alone, one(), o);
      const double exact = type == DType::f64 ? 1e-13 : 1e-5;
      EXPECT_LE(largest_difference(type, velocity_after(resident, 3), velocity_after(batches, 3)), exact);
      EXPECT_LE(batches.bytes_on(one().device(0).local), o.device_memory);
      const dns::Statistics a = resident.statistics(), b = batches.statistics();
      EXPECT_NEAR(a.time, b.time, exact);
      EXPECT_NEAR(a.time_step, b.time_step, exact);
      EXPECT_NEAR(a.power, b.power, exact);
      ASSERT_EQ(b.scalars.size(), 2U);
      for (std::size_t n = 0; n < 2; ++n) {
        EXPECT_GT(a.scalars[n].variance, 1e-5);
        EXPECT_NEAR(a.scalars[n].variance, b.scalars[n].variance, exact);
        EXPECT_NEAR(a.scalars[n].dissipation, b.scalars[n].dissipation, exact);
        for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(a.scalars[n].flux[c], b.scalars[n].flux[c], exact);
      }
      const dns::Transfer of_a = resident.transfer(), of_b = batches.transfer();
      for (std::size_t k = 0; k < of_a.transfer.size(); ++k) EXPECT_NEAR(of_a.transfer[k], of_b.transfer[k], exact);
      resident.advance(1);
      batches.advance(1);
      EXPECT_NEAR(resident.statistics().energy, batches.statistics().energy, exact);
    }
}

// Uses the error bounds of PseudoSpectralFlow.FollowsTheTaylorGreenVortex, for a flow that is processed in batches.
TEST_P(FlowByBatches, FollowsTheTaylorGreenVortex) {
  dns::Options o = options({32, 32, 32}, dns::Scheme::rk4, DType::f64);
  o.viscosity = 1.0 / 1600;
  o.time_step = 0.1;
  o.device_memory = least(o);
  dns::Dns d(alone, one(), o);
  d.taylor_green();
  EXPECT_NEAR(d.statistics().energy, 1.0 / 8, 1e-14);
  EXPECT_NEAR(d.statistics().enstrophy, 3.0 / 8, 1e-13);
  d.advance(10);
  EXPECT_NEAR(d.statistics().dissipation / 0.000518820935, 1, 1e-5);
  d.advance(10);
  EXPECT_NEAR(d.statistics().dissipation / 0.00070756353, 1, 2e-3);
}

/// Counts the bytes between host and device: 11 fields of modes each way per Runge-Kutta stage.
TEST_P(FlowByBatches, MovesElevenFieldsEachWayAStageOfRk2) {
  dns::Options o = options({24, 18, 12}, dns::Scheme::rk2, DType::f32);
  o.device_memory = 1 << 22;
  dns::Dns d(alone, one(), o);
  d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
  d.advance(1);  // a first step, which also sets up arrays
  const std::int64_t before = d.host_bytes_moved();
  d.advance(3);
  const std::int64_t field = std::int64_t{8} * (7 + 1) * (2 * 5 + 1) * 12;  // bytes of one field's dealiased modes
  EXPECT_EQ(d.host_bytes_moved() - before, 3 * 2 * 2 * 11 * field);
  o.scalars = {{1, {0, 0, 1}}, {2, {0, 0, 1}}};
  dns::Dns with_scalars(alone, one(), o);
  with_scalars.random(dns::peaked_spectrum(4, 2, 0.5), 11);
  with_scalars.advance(1);
  const std::int64_t then = with_scalars.host_bytes_moved();
  with_scalars.advance(3);
  EXPECT_EQ(with_scalars.host_bytes_moved() - then, 3 * 2 * 2 * (11 + 2 * 4) * field);
}

TEST_P(FlowByBatches, IsGuarded) {
  dns::Options o = options({16, 12, 12}, dns::Scheme::rk2, DType::f64);
  o.device_memory = 1 << 22;
  dns::Dns d(alone, one(), o);
  GuardOptions every;
  every.every = 2;
  d.guard(every);
  d.random(dns::peaked_spectrum(4, 2, 1e300), 1);
  EXPECT_THROW(d.advance(4), Diverged);
}

TEST_P(FlowByBatches, RefusesWhatItCannotDo) {
  dns::Options o = options({16, 16, 16}, dns::Scheme::rk2, DType::f64);
  const std::int64_t fewest = least(o);
  const auto make = [&] { dns::Dns(alone, one(), o); };
  o.device_memory = fewest - 1;
  expect_error(make, ErrorCode::unsupported, {{"needed", fewest}});
  o.device_memory = fewest;
  make();
  o.budget = true;
  expect_error(make, ErrorCode::unsupported, {{"problem", "budget"}});
  o.budget = false;
  o.cells = {8192, 8192, 8192};  // fields of 8192^3 cells need terabytes of host memory
  o.device_memory = std::int64_t{1} << 40;
  expect_error(make, ErrorCode::out_of_memory, {{"option", "cells"}});
}

INSTANTIATE_TEST_SUITE_P(Backends, FlowByBatches,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)), OnDevices::name);

/// Flows whose arrays lie in host memory, computed in batches on all devices of all ranks.
class FlowOnSeveral : public FlowByBatches {
 protected:
  void SetUp() override {
    FlowByBatches::SetUp();
    if (!IsSkipped() && machine().devices() == 1) GTEST_SKIP() << "needs several devices";
  }
  std::int64_t least_on_all(const dns::Options& wanted) const {
    dns::Options o = wanted;
    o.device_memory = 1;
    const std::optional<Error> error = error_of([&] { dns::Dns(comm, machine(), o); });
    expect_error(error, ErrorCode::unsupported, {{"option", "device_memory"}, {"given", 1}});
    return std::stoll(error->fact("needed"));
  }
  /// Velocity field after some steps from the same random start as velocity_after(). Cells of this rank's blocks are
  /// computed. Others keep the values in `wanted`, so that both fields can be compared as a whole.
  static std::vector<std::byte> with_own(dns::Dns& d, std::int64_t steps, std::vector<std::byte> wanted) {
    d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
    d.advance(steps);
    d.velocity().read({{0, 0, 0}, d.options().cells}, wanted.data());
    return wanted;
  }
};

TEST_P(FlowOnSeveral, HasTheBitsOfOneDevice) {
  for (const dns::Scheme scheme : {dns::Scheme::rk2, dns::Scheme::rk4})
    for (const int forcing : {0, 1, 2}) {
      SCOPED_TRACE(std::string(scheme == dns::Scheme::rk2 ? "rk2" : "rk4") + ", forcing " + std::to_string(forcing));
      dns::Options o = options({20, 18, 15}, scheme, DType::f64);
      if (forcing == 1) o.forcing.power = 0.4;
      if (forcing == 2) o.forcing.kind = dns::Forcing::Kind::energy;
      o.device_memory = 1 << 22;
      dns::Dns one_device(alone, one(), o);
      const std::vector<std::byte> wanted = velocity_after(one_device, 3);
      const dns::Statistics a = one_device.statistics();
      const std::int64_t fewest = least_on_all(o);
      for (const std::int64_t budget : {std::int64_t{1} << 24, fewest, 3 * fewest}) {
        SCOPED_TRACE("budget " + std::to_string(budget));
        o.device_memory = budget;
        o.synchronous = budget == fewest;
        dns::Dns several(comm, machine(), o);
        // A forcing that keeps the energy constant takes a sum over blocks, whose rounding depends on their number.
        if (forcing == 0) {
          EXPECT_TRUE(with_own(several, 3, wanted) == wanted);
        } else {
          EXPECT_LE(largest_difference(o.type, with_own(several, 3, wanted), wanted), 1e-13);
        }
        for (const Device device : several.devices()) EXPECT_LE(several.bytes_on(device), budget);
        const dns::Statistics b = several.statistics();
        EXPECT_NEAR(a.energy, b.energy, 1e-13);
        EXPECT_NEAR(a.dissipation, b.dissipation, 1e-13);
        EXPECT_NEAR(a.courant, b.courant, 1e-13);
        EXPECT_NEAR(a.skewness, b.skewness, 1e-11);
        EXPECT_NEAR(a.flatness, b.flatness, 1e-11);
        ASSERT_EQ(a.spectrum.size(), b.spectrum.size());
        for (std::size_t k = 0; k < a.spectrum.size(); ++k) EXPECT_NEAR(a.spectrum[k], b.spectrum[k], 1e-13);
      }
      o.synchronous = false;
    }
}

TEST_P(FlowOnSeveral, HasTheBitsOfOneDeviceWherePlanesAreCut) {
  for (const Extent& cells : {Extent{54, 12, 20}, Extent{160, 64, 8}}) {
    SCOPED_TRACE(to_string(cells));
    dns::Options o = options(cells, dns::Scheme::rk2, DType::f64);
    add_all(o);
    o.device_memory = 1 << 30;
    dns::Dns one_device(alone, one(), o);
    const std::vector<std::byte> wanted = velocity_after(one_device, 2);
    const dns::Statistics a = one_device.statistics();
    for (const std::int64_t times : {1, 2, 4}) {
      o.device_memory = times * least_on_all(o);
      dns::Dns several(comm, machine(), o);
      EXPECT_TRUE(with_own(several, 2, wanted) == wanted) << "budget " << o.device_memory;
      for (const Device device : several.devices()) EXPECT_LE(several.bytes_on(device), o.device_memory);
      const dns::Statistics b = several.statistics();
      EXPECT_NEAR(a.dissipation, b.dissipation, 1e-13);
      EXPECT_NEAR(a.skewness, b.skewness, 1e-11);
      for (std::size_t k = 0; k < a.spectrum.size(); ++k) EXPECT_NEAR(a.spectrum[k], b.spectrum[k], 1e-13);
    }
  }
}

TEST_P(FlowOnSeveral, IsTheFlowInTheDevices) {
  dns::Options o = options({24, 20, 33}, dns::Scheme::rk4, DType::f32);
  o.rotation = {0.1, 0.2, 0.3};
  dns::Dns resident(comm, machine(), o);
  std::vector<std::byte> nothing(static_cast<std::size_t>(3 * volume(o.cells)) * size_of(o.type));
  const std::vector<std::byte> wanted = with_own(resident, 3, nothing);
  o.device_memory = 1 << 24;
  dns::Dns batches(comm, machine(), o);
  EXPECT_LE(largest_difference(o.type, with_own(batches, 3, nothing), wanted), 1e-5);
}

struct Asked {
  std::string name;
  dns::Scheme scheme;
  std::function<void(dns::Options&)> of;
  bool bits = true;  ///< whether results are equal to the bit; not if forcing depends on a sum over blocks
};
const std::vector<Asked>& asked() {
  using dns::Options;
  static const auto box = [](Options& o) { o.lengths = {6, 7, 9}; };
  static const auto steps = [](Options& o) { o.courant = 0.1; };
  static const auto scalars = [](Options& o) { o.scalars = {{0.7, {0, 0.5, 1}}, {2, {1, 0, 0}}}; };
  static const auto shifts = [](Options& o) { o.dealiasing = dns::Dealiasing::phase_shift; };
  static const auto random = [](Options& o) { o.forcing = {dns::Forcing::Kind::stochastic, 0, 2, 0.2, 0.3}; };
  static const std::vector<Asked> all{
      {"box", dns::Scheme::rk4, box},
      {"Courant steps", dns::Scheme::rk2, steps},
      {"sphere", dns::Scheme::rk2, [](Options& o) { o.dealiasing = dns::Dealiasing::spherical; }},
      {"shifts", dns::Scheme::rk4, shifts},
      {"scalars", dns::Scheme::rk2, scalars},
      {"stochastic forcing", dns::Scheme::rk4, random},
      {"scalars on shifted grids", dns::Scheme::rk4, [](Options& o) { scalars(o), shifts(o); }},
      {"Courant steps with stochastic forcing", dns::Scheme::rk4, [](Options& o) { steps(o), random(o); }},
      {"all, rk2", dns::Scheme::rk2, [](Options& o) { box(o), steps(o), scalars(o), shifts(o), random(o); }},
      {"all, rk4", dns::Scheme::rk4, [](Options& o) { box(o), steps(o), scalars(o), shifts(o), random(o); }},
      {"all with a power", dns::Scheme::rk4,
       [](Options& o) { box(o), steps(o), scalars(o), shifts(o), o.forcing.power = 0.4; }, false},
      {"all with an energy", dns::Scheme::rk2,
       [](Options& o) { box(o), steps(o), scalars(o), shifts(o), o.forcing.kind = dns::Forcing::Kind::energy; },
       false}};
  return all;
}

/// Sets the n-th passive scalar to sin(2 z + n) cos y + cos(x - n), with coordinates from 0 to 2 pi.
void begin_scalars(dns::Dns& d) {
  const std::size_t scalars = d.options().scalars.size();
  if (scalars == 0) return;
  const Grid& grid = d.fft().physical();
  std::vector<std::vector<double>> blocks;
  std::vector<const double*> pointers;
  const auto angle = [&](std::int64_t n, std::size_t axis) {
    return 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(d.options().cells[axis]);
  };
  for (const std::int64_t id : grid.local()) {
    const Box& box = grid.block(id).box;
    std::vector<double>& values = blocks.emplace_back();
    for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
      for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
        for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i)
          for (std::size_t n = 0; n < scalars; ++n) {
            const auto phase = static_cast<double>(n);
            values.push_back(std::sin(2 * angle(k, 2) + phase) * std::cos(angle(j, 1)) + std::cos(angle(i, 0) - phase));
          }
    pointers.push_back(values.data());
  }
  d.begin_scalars(pointers);
}

/// Modes of velocity and scalars after `steps` steps. Modes of other ranks keep the entries of `values`.
std::vector<double> modes_after(dns::Dns& d, std::int64_t steps, std::vector<double> values) {
  d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
  begin_scalars(d);
  d.advance(steps);
  const Field& modes = *d.state().fields.at("modes");
  const Extent& extent = modes.grid().extent();
  values.resize(static_cast<std::size_t>(2 * (3 + static_cast<int>(d.options().scalars.size())) * volume(extent)));
  modes.read({{0, 0, 0}, extent}, values.data());
  return values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : 1;
  for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n)
    if (const double off = std::abs(a[n] - b[n]); !(off <= most)) most = off;
  return most;
}

TEST_P(FlowOnSeveral, HasWhatIsAskedForAsOneDeviceAndAsInTheDevices) {
  for (const Asked& a : asked()) {
    SCOPED_TRACE(a.name);
    dns::Options o = options({20, 18, 15}, a.scheme, DType::f64);
    a.of(o);
    dns::Dns whole(alone, one(), o), resident(comm, machine(), o);
    const std::vector<double> wanted = modes_after(whole, 3, {});
    EXPECT_LE(largest_difference(modes_after(resident, 3, wanted), wanted), 1e-13);
    o.device_memory = 1 << 22;
    dns::Dns one_device(alone, one(), o);
    const std::vector<double> by_batches = modes_after(one_device, 3, {});
    EXPECT_LE(largest_difference(by_batches, wanted), 1e-13);
    const std::int64_t fewest = least_on_all(o);
    for (const std::int64_t budget : {std::int64_t{1} << 24, fewest}) {
      SCOPED_TRACE("budget " + std::to_string(budget));
      o.device_memory = budget;
      dns::Dns several(comm, machine(), o);
      const std::vector<double> found = modes_after(several, 3, by_batches);
      if (a.bits) {
        EXPECT_TRUE(found == by_batches);
      } else {
        EXPECT_LE(largest_difference(found, by_batches), 1e-13);
      }
      for (const Device device : several.devices()) EXPECT_LE(several.bytes_on(device), budget);
      const dns::Statistics s = several.statistics(), w = resident.statistics();
      EXPECT_NEAR(s.time, w.time, 1e-14);
      EXPECT_NEAR(s.time_step, w.time_step, 1e-14);
      EXPECT_NEAR(s.courant, w.courant, 1e-13);
      EXPECT_NEAR(s.power, w.power, 1e-11);
      EXPECT_NEAR(s.dissipation, w.dissipation, 1e-13);
      ASSERT_EQ(s.scalars.size(), o.scalars.size());
      for (std::size_t n = 0; n < s.scalars.size(); ++n) {
        EXPECT_GT(s.scalars[n].variance, 0.1);
        EXPECT_NEAR(s.scalars[n].variance, w.scalars[n].variance, 1e-12);
        EXPECT_NEAR(s.scalars[n].dissipation, w.scalars[n].dissipation, 1e-12);
        for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(s.scalars[n].flux[c], w.scalars[n].flux[c], 1e-12);
        for (std::size_t k = 0; k < s.scalars[n].spectrum.size(); ++k)
          EXPECT_NEAR(s.scalars[n].spectrum[k], w.scalars[n].spectrum[k], 1e-12);
      }
      const dns::Transfer t = several.transfer(), t_wanted = resident.transfer();
      ASSERT_EQ(t.transfer.size(), t_wanted.transfer.size());
      for (std::size_t k = 0; k < t.transfer.size(); ++k) EXPECT_NEAR(t.transfer[k], t_wanted.transfer[k], 1e-12);
      // Output between steps must not change the flow.
      one_device.advance(1);
      several.advance(1);
      EXPECT_NEAR(several.statistics().energy, one_device.statistics().energy, 1e-13);
      modes_after(one_device, 3, {});
    }
  }
}

TEST_P(FlowOnSeveral, FollowsTheTaylorGreenVortex) {
  dns::Options o = options({32, 32, 32}, dns::Scheme::rk4, DType::f64);
  o.viscosity = 1.0 / 1600;
  o.time_step = 0.1;
  o.device_memory = least_on_all(o);
  dns::Dns d(comm, machine(), o);
  d.taylor_green();
  EXPECT_NEAR(d.statistics().energy, 1.0 / 8, 1e-14);
  d.advance(10);
  EXPECT_NEAR(d.statistics().dissipation / 0.000518820935, 1, 1e-5);
}

/// Counts the bytes between host and devices of all ranks. Copies between devices do not count.
TEST_P(FlowOnSeveral, MovesElevenFieldsEachWayAStageOfRk2) {
  for (const std::size_t scalars : {0, 2}) {
    dns::Options o = options({24, 18, 12}, dns::Scheme::rk2, DType::f32);
    o.scalars.resize(scalars);
    o.device_memory = 1 << 24;
    dns::Dns d(comm, machine(), o);
    d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
    d.advance(1);
    const std::int64_t before = d.host_bytes_moved();
    d.advance(3);
    const double moved = comm.sum_in_rank_order(static_cast<double>(d.host_bytes_moved() - before));
    const double fields = 11 + 4 * static_cast<double>(scalars);
    EXPECT_EQ(moved, 3.0 * 2 * 2 * fields * 8 * (7 + 1) * (2 * 5 + 1) * 12);
  }
}

TEST_P(FlowOnSeveral, RefusesWhatItCannotDo) {
  dns::Options o = options({16, 16, 16}, dns::Scheme::rk2, DType::f64);
  const std::int64_t fewest = least_on_all(o);
  const auto make = [&] { dns::Dns(comm, machine(), o); };
  o.device_memory = fewest - 1;
  expect_error(make, ErrorCode::unsupported, {{"needed", fewest}});
  o.device_memory = fewest;
  make();
  o.process_grid = {machine().devices(), 1};
  expect_error(make, ErrorCode::unsupported, {{"option", "process_grid"}, {"problem", "pencils"}});
  o.process_grid = {0, 0};
  o.cells = {8192, 8192, 8192};  // fields of 8192^3 cells need terabytes of host memory
  o.device_memory = std::int64_t{1} << 40;
  expect_error(make, ErrorCode::out_of_memory, {{"option", "cells"}});
}

INSTANTIATE_TEST_SUITE_P(Backends, FlowOnSeveral,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)),
                         OnDevices::name);

}  // namespace
}  // namespace slipstream
