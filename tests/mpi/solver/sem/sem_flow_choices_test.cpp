// Incompressible flow with each of its options: pressure solvers, modal filter, time averages and memory; and the facts
// that error messages state.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include <slipstream/gather.hpp>
#include <slipstream/sem_flow.hpp>

#include "device/host/memory.hpp"
#include "mpi/solver/sem/each_place.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

Given in_time(std::function<double(const Point&, double)> f) { return {each(std::move(f)), false}; }

/// A shear flow along x, over a symmetry plane and under a moving wall; periodic along z.
FlowOptions stream_over_a_mirror() {
  FlowOptions o;
  o.elements = {3, 2, 2};
  o.order = 4;
  o.deform = 0.02;
  o.viscosity = 0.05;
  for (FlowSide& side : o.sides[0]) side.velocity[0] = in_time([](const Point& x, double) { return 1 + x[1]; });
  o.sides[1][0].condition = FlowCondition::symmetry;
  o.sides[1][1].velocity[0] = in_time([](const Point&, double) { return 2.0; });
  for (FlowSide& side : o.sides[2]) side.condition = FlowCondition::periodic;
  o.initial[0] = each([](const Point& x, double) { return 1 + x[1]; });
  o.force[2] = in_time([](const Point& x, double t) { return std::sin(6 * x[0] + t); });
  o.time_step = 0.01;
  return o;
}

std::vector<double> gathered_field(const Communicator& comm, Flow& flow, const char* field) {
  const std::vector<std::byte> bytes = gather(comm, flow.state()[field], flow.grid().box());
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(SemSolverFlow, IsTheSameByEachMethodAndPreconditionerOfThePressure) {
  const Communicator comm = Communicator::world();
  FlowOptions o = stream_over_a_mirror();
  o.pressure_tolerance = o.velocity_tolerance = 1e-10;
  o.pressure.projection = 0;
  std::map<const char*, std::vector<double>> first;
  for (const krylov::Method method : {krylov::Method::conjugate_gradients, krylov::Method::flexible_gmres})
    for (const Preconditioner by : {Preconditioner::jacobi, Preconditioner::multigrid, Preconditioner::schwarz}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(method)) + " with " + std::to_string(static_cast<int>(by)));
      o.pressure.method = method;
      o.pressure.preconditioner = by;
      // A large restart of GMRES: the diagonal preconditioner needs many iterations and stagnates at short restarts.
      o.pressure.restart = 60;
      Flow flow(comm, machine_here(Backend::host, 1), o);
      flow.advance(3);
      EXPECT_EQ(flow.pressure_effort().unconverged, 0);
      EXPECT_GT(flow.pressure_effort().iterations, 3);
      for (const char* field : {"velocity", "pressure"}) {
        const std::vector<double> here = gathered_field(comm, flow, field);
        std::vector<double>& expected = first.try_emplace(field, here).first->second;
        ASSERT_EQ(here.size(), expected.size());
        double off = 0, size = 0;
        for (std::size_t p = 0; p < here.size(); ++p) {
          off = std::max(off, std::abs(here[p] - expected[p]));
          size = std::max(size, std::abs(expected[p]));
        }
        EXPECT_LE(off, 1e-6 * size) << field;
      }
    }
}

/// Legendre polynomial of a degree at r, by its recurrence.
double legendre_mode(int degree, double r) {
  double value = 1, before = 0;
  for (int n = 0; n < degree; ++n) {
    const double next = ((2 * n + 1) * r * value - n * before) / (n + 1);
    before = value;
    value = next;
  }
  return value;
}

TEST(SemErrors, OfTheFilterInAFlowAreThoseOfTheScheme) {
  // u = L_N(y) in each element, N even, and a w of lower modes, both periodic and almost inviscid: advection vanishes.
  // The filter damps the Legendre mode L_N fully, and w not at all: du/dt = - filter u.
  const Communicator comm = Communicator::world();
  constexpr int elements = 3;
  constexpr double rate = 2, end = 0.4;
  FlowOptions o;
  o.elements = {1, elements, 1};
  o.order = 6;
  o.factors = Factors::affine;
  o.viscosity = 1e-12;
  for (auto& axis : o.sides)
    for (FlowSide& side : axis) side.condition = FlowCondition::periodic;
  const auto local = [](const Point& x) {
    const double at = x[1] * elements;
    return 2 * (at - std::min(std::floor(at), elements - 1.0)) - 1;
  };
  const auto u = [=, order = o.order](const Point& x, double t) {
    return std::exp(-rate * t) * legendre_mode(order, local(x));
  };
  const auto w = [=](const Point& x, double) { return legendre_mode(2, local(x)) + 0.5 * legendre_mode(4, local(x)); };
  o.initial = {each(u), {}, each(w)};
  o.exact_start = true;
  o.filter = rate;
  o.courant_limit = 100;
  o.velocity_tolerance = 1e-12;
  double before = 0;
  for (const int steps : {10, 20, 40}) {
    o.time_step = end / steps;
    Flow flow(comm, machine_here(Backend::host, 1), o);
    flow.advance(steps);
    const double off = flow.statistics({{each(u), {}, each(w)}, {}}).largest_off;
    EXPECT_LT(off, 1e-2);
    if (before > 0) {
      EXPECT_GT(before / off, 6.5) << off;
    }
    before = off;
  }
  EXPECT_LT(before, 2e-5);
}

TEST(SemSolverFlow, HoldsWhatItsPlanSays) {
  // The flow's vectors are below 2 MiB. The host rounds such arrays up to pages only, so the planned memory is exact.
  const Communicator comm(MPI_COMM_SELF);
  const Machine machine = machine_here(Backend::host, 1, 0, comm);
  struct Row {
    const char* name;
    void (*change)(FlowOptions&);
  };
  for (const Row& row : {Row{"as it comes", [](FlowOptions&) {}},
                         {"by the diagonal",
                          [](FlowOptions& o) {
                            o.pressure.preconditioner = Preconditioner::jacobi;
                            o.pressure.projection = 0;
                          }},
                         {"multigrid", [](FlowOptions& o) { o.pressure.preconditioner = Preconditioner::multigrid; }},
                         {"flexible GMRES",
                          [](FlowOptions& o) {
                            o.pressure.method = krylov::Method::flexible_gmres;
                            o.pressure.restart = 12;
                          }},
                         {"means", [](FlowOptions& o) { o.mean_from = 0; }},
                         {"undamped", [](FlowOptions& o) { o.divergence_damping = 0; }}}) {
    SCOPED_TRACE(row.name);
    FlowOptions o = stream_over_a_mirror();
    o.elements = {5, 4, 4};
    o.order = 5;
    o.time_step = 0.002;
    row.change(o);
    const std::int64_t before = host::bytes_of_devices();
    Flow flow(comm, machine, o);
    flow.advance(1);
    const std::int64_t held = host::bytes_of_devices() - before;
    std::int64_t planned = 0;
    for (const ArrayBytes& array : memory_needed(machine, o)) planned += array.bytes;
    EXPECT_NEAR(static_cast<double>(planned) / static_cast<double>(held), 1, 0.03);
  }
}

TEST(SemSolverFlow, TellsWhereTheCourantNumberIsLargestAndWhatKeepsASolutionFromConverging) {
  const Communicator comm = Communicator::world();
  FlowOptions o = stream_over_a_mirror();
  o.deform = 0;
  for (auto& axis : o.sides)
    for (FlowSide& side : axis) side.condition = FlowCondition::periodic;
  const Point peak{0.8, 0.3, 0.6};
  o.initial = {each([=](const Point& x, double) {
                 double r = 0;
                 for (std::size_t d = 0; d < 3; ++d) r += (x[d] - peak[d]) * (x[d] - peak[d]);
                 return 1 + std::exp(-20 * r);
               }),
               each([](const Point& x, double) { return 0.3 * x[2]; }),
               {}};
  o.time_step = 0.2;
  Flow fast(comm, machine_here(Backend::host, 1), o);
  const auto told = error_of([&] { fast.advance(1); });
  expect_error(told, ErrorCode::not_converged, {{"field", "velocity"}, {"problem", "courant"}});
  ASSERT_TRUE(told);
  // Courant number by definition: at each point, velocity over the distance to the nearest point, summed over the axes.
  const Rule rule = gauss_lobatto(o.order);
  const auto n = static_cast<std::size_t>(o.order) + 1;
  double most = 0;
  std::int64_t element = 0;
  Point place{};
  for (std::int64_t e = 0; e < 12; ++e) {
    const std::array<std::int64_t, 3> at{e % 3, e / 3 % 2, e / 6};
    for (std::size_t p = 0; p < n * n * n; ++p) {
      const std::array<std::size_t, 3> i{p % n, p / n % n, p / (n * n)};
      Point x{};
      std::array<double, 3> near{};
      for (std::size_t d = 0; d < 3; ++d) {
        const auto wide = 1.0 / static_cast<double>(o.elements[d]);
        x[d] = wide * (static_cast<double>(at[d]) + (1 + rule.points[i[d]]) / 2);
        const double low = i[d] > 0 ? rule.points[i[d]] - rule.points[i[d] - 1] : 2;
        const double high = i[d] + 1 < n ? rule.points[i[d] + 1] - rule.points[i[d]] : 2;
        near[d] = wide / 2 * std::min(low, high);
      }
      const double rate = o.initial[0](std::span(&x, 1), 0)[0] / near[0] + 0.3 * x[2] / near[1];
      if (rate > most) {
        most = rate;
        element = e;
        place = x;
      }
    }
  }
  EXPECT_EQ(std::stoll(told->fact("element")), element);
  Point found{};
  ASSERT_EQ(std::sscanf(told->fact("place").c_str(), "(%lf, %lf, %lf)", &found[0], &found[1], &found[2]), 3);
  for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(found[d], place[d], 1e-3);
  EXPECT_NEAR(std::stod(told->fact("given")), most * o.time_step, 1e-4 * most * o.time_step);
  EXPECT_NEAR(std::stod(told->fact("limit")), largest_courant(o.order), 1e-4);

  // Two pressure systems: three iterations reduce the residual of one, but not of the other.
  o = stream_over_a_mirror();
  o.force[1] = in_time([](const Point& x, double) { return std::cos(3 * x[0] + 2 * x[1]) * std::sin(6.3 * x[2]); });
  o.pressure_tolerance = 1e-12;
  o.most_iterations = 3;
  const auto cause = [&](double stretch, Preconditioner by, const char* expected) {
    o.stretch = {1, 1, stretch};
    o.deform = stretch > 1 ? 0 : 0.02;
    o.pressure.preconditioner = by;
    Flow flow(comm, machine_here(Backend::host, 1), o);
    const auto error = error_of([&] { flow.advance(1); });
    expect_error(error, ErrorCode::not_converged,
                 {{"field", "pressure at step 1"}, {"problem", expected}, {"iterations", 3}});
    EXPECT_GT(std::stod(error->fact("residual")), std::stod(error->fact("tolerance")));
  };
  cause(1, Preconditioner::schwarz, "falls");
  cause(1e4, Preconditioner::jacobi, "hard");
}

}  // namespace
}  // namespace slipstream::sem
