// A pseudo-spectral flow whose arrays lie in host memory against itself on the device.
#include <slipstream/dns.hpp>

#include <gtest/gtest.h>

#include <cmath>

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
  /// All that a flow has on request.
  static void add_all(dns::Options& o) {
    o.courant = 0.1;
    o.lengths = {6, 7, 9};
    o.dealiasing = dns::Dealiasing::phase_shift;
    o.scalars = {{0.7, {0, 0.5, 1}}, {2, {1, 0, 0}}};
    o.forcing.kind = dns::Forcing::Kind::stochastic;
    o.forcing.acceleration = 0.2;
    o.forcing.correlation_time = 0.3;
  }
  /// The velocity, after `steps` from random modes.
  static std::vector<std::byte> velocity_after(dns::Dns& d, std::int64_t steps) {
    d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
    d.step(steps);
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
        // A look between steps changes nothing.
        resident.step(2);
        batches.step(2);
        EXPECT_NEAR(resident.statistics().energy, batches.statistics().energy, exact);
      }
}

TEST_P(FlowByBatches, HasTheSameBitsWithAnyBudget) {
  for (const dns::Scheme scheme : {dns::Scheme::rk2, dns::Scheme::rk4}) {
    dns::Options o = options({24, 20, 33}, scheme, DType::f64);
    if (scheme == dns::Scheme::rk4) o.forcing.power = 0.4;
    if (scheme == dns::Scheme::rk2) add_all(o);
    const std::int64_t fewest = least(o);
    std::vector<std::vector<std::byte>> found;
    for (const std::int64_t budget : {std::int64_t{1} << 30, fewest, 2 * fewest, 5 * fewest}) {
      o.device_memory = budget;
      dns::Dns d(alone, one(), o);
      found.push_back(velocity_after(d, 2));
      EXPECT_LE(d.bytes_on(one().device(0).local), budget);
      EXPECT_TRUE(found.back() == found.front()) << "budget " << budget;
    }
    o.synchronous = true;
    o.host_copies = RowCopies::kernel;
    dns::Dns d(alone, one(), o);
    EXPECT_TRUE(velocity_after(d, 2) == found.front()) << "synchronous";
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
      resident.step(1);
      batches.step(1);
      EXPECT_NEAR(resident.statistics().energy, batches.statistics().energy, exact);
    }
}

// As PseudoSpectralFlow.FollowsTheTaylorGreenVortex.
TEST_P(FlowByBatches, FollowsTheTaylorGreenVortex) {
  dns::Options o = options({32, 32, 32}, dns::Scheme::rk4, DType::f64);
  o.viscosity = 1.0 / 1600;
  o.time_step = 0.1;
  o.device_memory = least(o);
  dns::Dns d(alone, one(), o);
  d.taylor_green();
  EXPECT_NEAR(d.statistics().energy, 1.0 / 8, 1e-14);
  EXPECT_NEAR(d.statistics().enstrophy, 3.0 / 8, 1e-13);
  d.step(10);
  EXPECT_NEAR(d.statistics().dissipation / 0.000518820935, 1, 1e-5);
  d.step(10);
  EXPECT_NEAR(d.statistics().dissipation / 0.00070756353, 1, 2e-3);
}

/// In halves: each sweep's bytes are those of the fields that it names.
TEST_P(FlowByBatches, MovesElevenFieldsEachWayAStageOfRk2) {
  dns::Options o = options({24, 18, 12}, dns::Scheme::rk2, DType::f32);
  o.device_memory = 1 << 22;
  dns::Dns d(alone, one(), o);
  d.random(dns::peaked_spectrum(4, 2, 0.5), 11);
  d.step(1);  // with what opens it
  const std::int64_t before = d.host_bytes_moved();
  d.step(3);
  const std::int64_t field = std::int64_t{8} * (7 + 1) * (2 * 5 + 1) * 12;  // modes along x and y that are kept
  EXPECT_EQ(d.host_bytes_moved() - before, 3 * 2 * 2 * 11 * field);
}

TEST_P(FlowByBatches, IsGuarded) {
  dns::Options o = options({16, 12, 12}, dns::Scheme::rk2, DType::f64);
  o.device_memory = 1 << 22;
  dns::Dns d(alone, one(), o);
  d.guard(2);
  d.random(dns::peaked_spectrum(4, 2, 1e300), 1);
  EXPECT_THROW(d.step(4), Diverged);
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
  o.cells = {8192, 8192, 8192};  // terabytes of the host
  o.device_memory = std::int64_t{1} << 40;
  expect_error(make, ErrorCode::out_of_memory, {{"option", "cells"}});
  o.cells = {16, 16, 16};
  const Machine all = machine();
  if (all.devices() > 1)
    expect_error([&] { dns::Dns(comm, all, o); }, ErrorCode::unsupported, {{"devices", all.devices()}});
}

INSTANTIATE_TEST_SUITE_P(Backends, FlowByBatches,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2)), OnDevices::name);

}  // namespace
}  // namespace slipstream
