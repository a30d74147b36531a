// Incompressible flow: convergence orders in space and time, symmetry, bits, invalid options.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numbers>
#include <utility>

#include <slipstream/checkpoint.hpp>
#include <slipstream/gather.hpp>
#include <slipstream/sem_flow.hpp>
#include <slipstream/trace.hpp>

#include "mpi/solver/sem/each_place.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"

namespace slipstream::sem {
namespace {

constexpr double pi = std::numbers::pi;
using OfPlace = std::function<double(const Point&, double)>;

void all_sides(FlowOptions& o, std::size_t axis, const FlowSide& side) {
  for (FlowSide& one : o.sides[axis]) one = side;
}
const FlowSide joined_side{FlowCondition::periodic}, at_rest{}, mirror{FlowCondition::symmetry};

/// Exact flow between walls across x and y, with its body force (Guermond, Minev & Shen 2006, Comput. Methods Appl.
/// Mech. Eng. 195).
struct Swirl {
  double viscosity = 0.05;
  static double s(double x) { return std::sin(pi * x) * std::sin(pi * x); }
  static double s1(double x) { return pi * std::sin(2 * pi * x); }
  static double s2(double x) { return 2 * pi * pi * std::cos(2 * pi * x); }
  static double c(double x) { return std::sin(2 * pi * x); }
  static double c1(double x) { return 2 * pi * std::cos(2 * pi * x); }
  static double c2(double x) { return -4 * pi * pi * std::sin(2 * pi * x); }
  static double a(double t) { return 0.4 * std::sin(8 * t); }
  static double u(const Point& x, double t) { return a(t) * s(x[0]) * c(x[1]); }
  static double v(const Point& x, double t) { return -a(t) * c(x[0]) * s(x[1]); }
  static double p(const Point& x, double t) { return std::cos(pi * x[0]) * std::sin(pi * x[1]) * std::sin(8 * t); }
  double fx(const Point& x, double t) const {
    const double along = u(x, t) * a(t) * s1(x[0]) * c(x[1]) + v(x, t) * a(t) * s(x[0]) * c1(x[1]);
    const double laplacian = a(t) * (s2(x[0]) * c(x[1]) + s(x[0]) * c2(x[1]));
    return 3.2 * std::cos(8 * t) * s(x[0]) * c(x[1]) + along - viscosity * laplacian -
           pi * std::sin(pi * x[0]) * std::sin(pi * x[1]) * std::sin(8 * t);
  }
  double fy(const Point& x, double t) const {
    const double along = -u(x, t) * a(t) * c1(x[0]) * s(x[1]) - v(x, t) * a(t) * c(x[0]) * s1(x[1]);
    const double laplacian = -a(t) * (c2(x[0]) * s(x[1]) + c(x[0]) * s2(x[1]));
    return -3.2 * std::cos(8 * t) * c(x[0]) * s(x[1]) + along - viscosity * laplacian +
           pi * std::cos(pi * x[0]) * std::cos(pi * x[1]) * std::sin(8 * t);
  }
};

FlowOptions swirl_between_walls(int time_order, double time_step) {
  const Swirl swirl;
  FlowOptions o;
  o.elements = {3, 3, 1};
  o.lengths = {1, 1, 0.5};
  o.order = 8;
  o.factors = Factors::affine;
  o.viscosity = swirl.viscosity;
  all_sides(o, 2, joined_side);
  o.force = {Given{each([swirl](const Point& x, double t) { return swirl.fx(x, t); }), false},
             Given{each([swirl](const Point& x, double t) { return swirl.fy(x, t); }), false}, Given{}};
  o.initial = {each(Swirl::u), each(Swirl::v), {}};
  o.time_order = time_order;
  o.time_step = time_step;
  o.exact_start = true;
  o.pressure_tolerance = 1e-10;
  o.velocity_tolerance = 1e-11;
  return o;
}

TEST(SemErrors, OfAFlowBetweenWallsFallByTheOrderInTime) {
  const Communicator comm = Communicator::world();
  struct Row {
    int order;
    double velocity, pressure, least_of_velocity, least_of_pressure;
  };
  for (const Row& row : {Row{1, 5e-2, 5e-2, 0.9, 0.9}, {2, 7e-4, 4e-4, 1.9, 1.9}, {3, 3e-5, 7e-6, 2.8, 2.8}}) {
    SCOPED_TRACE("order " + std::to_string(row.order));
    const auto error = [&](double step) {
      Flow flow(comm, machine_here(Backend::host, 1), swirl_between_walls(row.order, step));
      flow.advance(std::lround(0.2 / step));
      return flow.statistics({{each(Swirl::u), each(Swirl::v), {}}, each(Swirl::p)});
    };
    const FlowStatistics coarse = error(0.0125), fine = error(0.00625);
    EXPECT_LT(fine.distance, row.velocity);
    EXPECT_LT(fine.pressure_off, row.pressure);
    EXPECT_GT(std::log2(coarse.distance / fine.distance), row.least_of_velocity) << coarse.distance;
    EXPECT_GT(std::log2(coarse.pressure_off / fine.pressure_off), row.least_of_pressure) << coarse.pressure_off;
    EXPECT_LT(fine.divergence, 0.1 * std::max(fine.distance, 1e-6));
  }
}

TEST(SemErrors, OfPoiseuillesFlowAreOfRoundingFromRestOn) {
  // A force along a channel has an exact profile of order 2.
  const Communicator comm = Communicator::world();
  FlowOptions o;
  o.elements = {2, 2, 2};
  o.order = 5;
  o.viscosity = 0.5;
  all_sides(o, 0, joined_side);
  all_sides(o, 2, mirror);
  o.force[0] = {each([](const Point&, double) { return 1.0; }), true};
  o.time_step = 0.02;
  o.time_order = 2;
  o.pressure_tolerance = o.velocity_tolerance = 1e-13;
  o.mean_from = 5.5;
  Flow flow(comm, machine_here(Backend::host, 1), o);
  flow.advance(300);
  const auto profile = each([](const Point& x, double) { return x[1] * (1 - x[1]); });
  const FlowStatistics found = flow.statistics({{profile, {}, {}}, {}});
  EXPECT_LT(found.largest_off, 1e-11);
  EXPECT_NEAR(found.mean[0], 1.0 / 6, 1e-12);
  // The dissipation is 2 nu S : S = nu (1 - 2 y)^2 with mean nu / 3. The enstrophy is (1 - 2 y)^2 / 2.
  EXPECT_NEAR(found.dissipation, 0.5 / 3, 1e-11);
  EXPECT_NEAR(found.enstrophy, 1.0 / 6, 1e-11);
  EXPECT_NEAR(found.energy, 1.0 / 60, 1e-12);
  EXPECT_LT(std::abs(found.decay), 1e-10);
  EXPECT_LT(found.divergence, 1e-11);
  // The walls balance the driving force, one half each.
  const std::vector<SideForce> forces = flow.forces();
  ASSERT_EQ(forces.size(), 4);
  for (const SideForce& side : forces) {
    EXPECT_NEAR(side.viscous[0], side.axis == 1 ? 0.5 : 0, 1e-10);
    EXPECT_NEAR(side.pressure[side.axis], 0, 1e-10);
  }
  EXPECT_NEAR(flow.past().averaged, 0.5, 1e-12);
  const std::vector<PlaneMeans> planes = flow.planes(1);
  ASSERT_EQ(planes.size(), 11);
  for (const PlaneMeans& plane : planes) {
    const double u = plane.place * (1 - plane.place);
    EXPECT_NEAR(plane.velocity[0], u, 1e-10);
    EXPECT_NEAR(plane.squares[0], u * u, 1e-10);
    EXPECT_NEAR(plane.products[0], 0, 1e-10);
  }
}

FlowOptions vortex(double edge, std::int64_t elements) {
  FlowOptions o;
  o.elements = {elements, elements, elements};
  o.lengths = {edge, edge, edge};
  o.order = 6;
  o.factors = Factors::affine;
  o.viscosity = 0.02;
  for (std::size_t axis = 0; axis < 3; ++axis) all_sides(o, axis, joined_side);
  o.initial = {each([](const Point& x, double) { return std::sin(x[0]) * std::cos(x[1]) * std::cos(x[2]); }),
               each([](const Point& x, double) { return -std::cos(x[0]) * std::sin(x[1]) * std::cos(x[2]); }),
               {}};
  o.time_step = 0.05;
  o.pressure_tolerance = o.velocity_tolerance = 1e-11;
  return o;
}

TEST(SemErrors, OfTaylorAndGreensVortexBetweenMirrorsAreThoseOfTheWholeBox) {
  const Communicator comm = Communicator::world();
  Flow whole(comm, machine_here(Backend::host, 1), vortex(2 * pi, 4));
  FlowOptions o = vortex(pi, 2);
  for (std::size_t axis = 0; axis < 3; ++axis) all_sides(o, axis, mirror);
  Flow part(comm, machine_here(Backend::host, 1), o);
  whole.advance(6);
  part.advance(6);
  const FlowStatistics a = whole.statistics(), b = part.statistics();
  // Energies of the whole and the mirrored box differ by discretisation error: the curl is one-sided at mirrors.
  EXPECT_NEAR(a.energy, b.energy, 1e-8);
  EXPECT_NEAR(a.enstrophy, b.enstrophy, 1e-7);
  EXPECT_NEAR(a.decay, b.decay, 1e-7);
  EXPECT_LT(a.energy, 0.125);
  // Short run at Reynolds number 50: compares the decay of energy with the dissipation from gradients.
  EXPECT_NEAR(a.decay, a.dissipation, 3e-4 * a.dissipation);
}

/// Flow with inflow at x-, outflow at x+, a moving wall, a symmetry side, and deformed elements.
FlowOptions bent_channel() {
  FlowOptions o;
  o.elements = {3, 3, 3};
  o.order = 4;
  o.deform = 0.03;
  o.viscosity = 0.05;
  FlowSide inlet;
  inlet.velocity[0] = {each([](const Point& x, double t) { return (1 + 0.2 * std::sin(t)) * (1 + x[1]); }), false};
  all_sides(o, 0, inlet);
  o.sides[1][1].velocity[0] = {each([](const Point&, double) { return 2.0; }), true};
  o.sides[1][0].condition = FlowCondition::symmetry;
  o.sides[2] = {joined_side, joined_side};
  o.initial[0] = each([](const Point& x, double) { return 1 + x[1]; });
  o.force[2] = {each([](const Point& x, double) { return std::sin(2 * pi * x[0]); }), true};
  o.filter = 0.1;
  o.mean_from = 0.04;
  o.time_step = 0.04;
  o.target_courant = 0.3;
  o.pressure_tolerance = o.velocity_tolerance = 1e-8;
  return o;
}

TEST(SemSolverFlow, MakesStepsInPartsByTheCourantNumber) {
  const Communicator comm = Communicator::world();
  Flow flow(comm, machine_here(Backend::host, 1), bent_channel());
  flow.advance(2);
  EXPECT_GT(flow.past().count, 2);
  EXPECT_LT(flow.courant(), 0.33);
  EXPECT_GT(flow.courant(), 0.15);
  EXPECT_DOUBLE_EQ(flow.state().time, 0.08);
}

/// The Taylor-Green vortex on few elements.
FlowOptions coarse_vortex(double damping) {
  FlowOptions o;
  o.elements = {2, 2, 2};
  o.lengths = {2 * pi, 2 * pi, 2 * pi};
  o.order = 6;
  o.viscosity = 0.01;
  for (std::size_t axis = 0; axis < 3; ++axis) all_sides(o, axis, joined_side);
  o.initial = {each([](const Point& x, double) { return std::sin(x[0]) * std::cos(x[1]) * std::cos(x[2]); }),
               each([](const Point& x, double) { return -std::cos(x[0]) * std::sin(x[1]) * std::cos(x[2]); }),
               {}};
  o.time_step = 0.025;
  o.divergence_damping = damping;
  return o;
}

TEST(SemSolverFlow, DampsTheDivergenceThatTheProjectionLeaves) {
  const Communicator comm = Communicator::world();
  const auto after = [&](double damping) {
    Flow flow(comm, machine_here(Backend::host, 1), coarse_vortex(damping));
    flow.advance(80);
    return flow.statistics();
  };
  const FlowStatistics none = after(0), one = after(1), four = after(4);
  EXPECT_GT(none.divergence, 0.01);
  EXPECT_LT(one.divergence, 0.8 * none.divergence);
  EXPECT_LT(four.divergence, 0.5 * none.divergence);
  EXPECT_NEAR(one.energy, none.energy, 1e-3 * none.energy);
}

/// The mean of the pressure by the elements' quadrature, and its largest value.
std::pair<double, double> mean_and_largest_pressure(const Communicator& comm, Flow& flow) {
  const Box box = flow.grid().box();
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  flow.state()["pressure"].read(box, values.data());
  double sum = 0, volume = 0, largest = 0;
  const Space& space = flow.space();
  for (std::size_t d = 0; d < space.mass_matrix().size(); ++d) {
    const std::int64_t first = space.first_element(d) * space.points_per_element();
    std::vector<double> mass(static_cast<std::size_t>(space.points(d)));
    Stream stream(space.mass_matrix()[d].device());
    if (!mass.empty()) copy(stream, mass.data(), space.mass_matrix()[d].data(), space.mass_matrix()[d].bytes());
    stream.synchronize();
    for (std::size_t p = 0; p < mass.size(); ++p) {
      const double value = values[static_cast<std::size_t>(first) + p];
      sum += mass[p] * value;
      volume += mass[p];
      largest = std::max(largest, std::abs(value));
    }
  }
  return {comm.sum_in_rank_order(sum) / comm.sum_in_rank_order(volume), comm.max(largest)};
}

void add_to(Flow& flow, const char* field, double constant) {
  const Box box = flow.grid().box();
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  flow.state()[field].read(box, values.data());
  for (double& value : values) value += constant;
  flow.state()[field].write(box, values.data());
}

TEST(SemSolverFlow, TakesTheMeanOutOfTheWholePressureInEachStep) {
  // If the mean pressure stayed, extrapolation from two time levels would add the difference of their means each step.
  const Communicator comm = Communicator::world();
  FlowOptions cavity = coarse_vortex(1), between_mirrors = cavity;
  for (std::size_t axis = 0; axis < 2; ++axis) all_sides(cavity, axis, at_rest);
  cavity.sides[1][1].velocity[0] = {each([](const Point&, double) { return 1.0; }), true};
  cavity.initial = {};
  for (std::size_t axis = 0; axis < 3; ++axis) all_sides(between_mirrors, axis, mirror);
  for (const FlowOptions& o : {cavity, between_mirrors, coarse_vortex(1)})
    for (const int kept : {0, 3}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(o.sides[0][0].condition)) + " keeps " + std::to_string(kept));
      FlowOptions own = o;
      own.pressure.projection = kept;
      Flow flow(comm, machine_here(Backend::host, 1), own);
      flow.advance(3);
      add_to(flow, "pressure", 5);
      add_to(flow, "pressure1", 3);
      for (int step = 0; step < 4; ++step) {
        flow.advance(1);
        const auto [mean, largest] = mean_and_largest_pressure(comm, flow);
        EXPECT_GT(largest, 0.01);
        EXPECT_LE(std::abs(mean), 1e-14 * std::max(largest, 1.0)) << "after step " << step;
      }
    }
}

TEST(SemSolverFlow, StepsByGradDivAreStable) {
  // Power iteration finds the largest eigenvalue of an explicit grad-div step: at most 1 on rectangular elements.
  const Communicator comm(MPI_COMM_SELF);
  for (const double bend : {0.0, 0.1}) {
    ElementBox box;
    box.elements = {2, 2, 2};
    box.upper = {1, 2, 0.5};
    box.periodic = {true, true, true};
    box.deform = bend;
    Space space(comm, machine_here(Backend::host, 1, 0, comm), box, 5, {Factors::stored, true, {}});
    const Vector steps = space.grad_div_step();
    Vector mass = space.vector();
    for (std::size_t d = 0; d < mass.size(); ++d)
      for (std::int64_t p = 0; p < space.points(d); ++p) mass[d].data()[p] = space.mass_matrix()[d].data()[p];
    space.assemble(mass);
    std::array<Vector, 3> u;
    for (std::size_t c = 0; c < 3; ++c) {
      u[c] = space.vector();
      for (std::size_t d = 0; d < u[c].size(); ++d)
        for (std::int64_t p = 0; p < space.points(d); ++p)
          u[c][d].data()[p] = std::sin(static_cast<double>(7 * p * p + 3 * p + static_cast<std::int64_t>(c)));
      space.assemble(u[c]);
    }
    Vector divergence = space.vector();
    double largest = 0;
    for (int n = 0; n < 300; ++n) {
      space.divergence({&u[0], &u[1], &u[2]}, divergence);
      for (Stream& stream : space.streams()) stream.synchronize();
      for (std::size_t d = 0; d < divergence.size(); ++d)
        for (std::int64_t p = 0; p < space.points(d); ++p) divergence[d].data()[p] *= steps[d].data()[p];
      double size = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        std::array<const Vector*, 3> along{};
        along[c] = &divergence;
        space.weak_divergence(along, u[c]);
        space.assemble(u[c]);
        for (Stream& stream : space.streams()) stream.synchronize();
        for (std::size_t d = 0; d < mass.size(); ++d)
          for (std::int64_t p = 0; p < space.points(d); ++p) {
            double& value = u[c][d].data()[p];
            value /= mass[d].data()[p];
            size += space.mass_matrix()[d].data()[p] * value * value;
          }
      }
      largest = std::sqrt(size);
      for (Vector& part : u)
        for (std::size_t d = 0; d < part.size(); ++d)
          for (std::int64_t p = 0; p < space.points(d); ++p) part[d].data()[p] /= largest;
    }
    SCOPED_TRACE(bend);
    EXPECT_LT(largest, bend == 0 ? 1 + 1e-9 : 1.5);
    EXPECT_GT(largest, bend == 0 ? 0.7 : 0.4);
  }
}

/// Counts this rank's sums over shared element points, in the first time step, that are no part of an operator.
std::size_t sums_in_a_step(const Communicator& comm, FlowOptions o) {
  Trace trace;
  o.exchange.trace = &trace;
  Flow flow(comm, machine_here(Backend::host, 1), o);
  const std::string name = "\"sums of order " + std::to_string(o.order) + "\"";
  const auto counted = [&] {
    for (Stream& stream : flow.space().streams()) stream.synchronize();
    const std::string json = trace.json(comm.rank());
    std::size_t count = 0;
    for (std::size_t at = json.find(name); at != std::string::npos; at = json.find(name, at + 1)) ++count;
    return count;
  };
  const std::size_t before = counted();
  flow.advance(1);
  return counted() - before;
}

TEST(SemSolverFlow, DampingSendsOneMessageForComponentsThatAreFixedAtTheSamePoints) {
  const Communicator comm = Communicator::world();
  FlowOptions between_walls = coarse_vortex(0), between_mirrors = between_walls;
  all_sides(between_walls, 1, at_rest);
  between_walls.initial = {};
  all_sides(between_mirrors, 1, mirror);
  for (auto [o, groups] : {std::pair{coarse_vortex(0), 1u}, {between_walls, 1u}, {between_mirrors, 2u}}) {
    const std::size_t undamped = sums_in_a_step(comm, o);
    for (const unsigned steps : {1u, 3u}) {
      o.divergence_damping = steps;
      EXPECT_EQ(sums_in_a_step(comm, o), undamped + groups * steps);
    }
  }
}

TEST(SemSolverFlow, PushesTheSidesOfABentBoxByTheChangeOfItsMomentum) {
  // In a steady uniform flow pressure and friction vanish. A force across the stream is balanced by pressure alone.
  const Communicator comm = Communicator::world();
  FlowOptions o;
  o.elements = {2, 2, 2};
  o.order = 6;
  o.deform = 0.03;
  o.viscosity = 0.1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (FlowSide& side : o.sides[axis]) side.velocity[0] = {each([](const Point&, double) { return 1.0; }), true};
  o.initial[0] = each([](const Point&, double) { return 1.0; });
  o.force[1] = {each([](const Point&, double) { return -2.0; }), true};
  o.time_step = 0.01;
  o.pressure_tolerance = o.velocity_tolerance = 1e-10;
  Flow flow(comm, machine_here(Backend::host, 1), o);
  flow.advance(5);
  const FlowStatistics found = flow.statistics({{each([](const Point&, double) { return 1.0; }), {}, {}},
                                                each([](const Point& x, double) { return -2 * x[1]; })});
  EXPECT_LT(found.distance, 1e-6);
  EXPECT_LT(found.pressure_off, 1e-5);
  Point pressure{0, 0, 0};
  for (const SideForce& side : flow.forces())
    for (std::size_t c = 0; c < 3; ++c) {
      pressure[c] += side.pressure[c];
      EXPECT_NEAR(side.viscous[c], 0, 1e-5);
    }
  EXPECT_NEAR(pressure[0], 0, 1e-5);
  EXPECT_NEAR(pressure[1], -2, 1e-5);
}

TEST(SemSolverFlow, GoesOnWithTheSameBitsFromACheckpointEarlierPressuresAndMeansAmongIt) {
  const Communicator comm = Communicator::world();
  FlowOptions o = bent_channel();
  o.target_courant = 0;
  o.time_step = 0.005;
  o.mean_from = 0.01;
  o.pressure.projection = 3;
  const auto bits = [&](Flow& flow) {
    std::vector<std::byte> all;
    for (const char* name :
         {"velocity", "pressure", "mean_velocity", "mean_pressure", "mean_squares", "mean_products"}) {
      const std::vector<std::byte> one = gather(comm, flow.state()[name], flow.grid().box());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  std::string folder = (std::filesystem::temp_directory_path() / "slipstream-flow-XXXXXX").string();
  if (comm.rank() == 0) {
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
  }
  folder = comm.broadcast(folder, 0);
  const auto written = [&](const State& state, const std::string& name) {
    Checkpoints::Options to;
    to.folder = folder + "/" + name;
    Checkpoints checkpoints(comm, to);
    checkpoints.begin(state);
    checkpoints.finish();
    return comm.broadcast(checkpoints.last(), 0);
  };
  Flow whole(comm, machine_here(Backend::host, 1), o);
  whole.advance(5);
  const std::string path = written(whole.state(), "whole");
  Flow::Past past = whole.past();
  EXPECT_GE(past.earlier, 1);
  EXPECT_NEAR(past.averaged, 0.015, 1e-12);
  State without = whole.state();
  without.fields.erase("earlier_pressures");
  const std::string of_before = written(without, "before");
  whole.advance(3);
  Flow part(comm, machine_here(Backend::host, 2), o);
  restore(comm, path, part.state());
  part.set_past(past);
  part.advance(3);
  EXPECT_TRUE(bits(part) == bits(whole));
  EXPECT_EQ(part.past().averaged, whole.past().averaged);
  EXPECT_NEAR(part.past().averaged, 0.03, 1e-12);
  // A checkpoint of an earlier version has no pressure solutions.
  Flow later(comm, machine_here(Backend::host, 1), o);
  restore(comm, of_before, later.state());
  past.earlier = 0;
  later.set_past(past);
  later.advance(3);
  EXPECT_NEAR(later.statistics().energy, whole.statistics().energy, 1e-7);
  const std::vector<std::byte> of_later = bits(later), of_whole = bits(whole);
  EXPECT_EQ(of_later == of_whole, comm.rank() != 0);  // only rank 0 has the whole field
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::remove_all(folder);
}

class SemBitsOfFlow : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(SemBitsOfFlow, AreThoseOfOneDeviceOnAnyNumberOfDevicesAndRanks) {
  const auto [backend, devices] = GetParam();
  if (const auto why = unavailable(backend, devices); !why.empty()) GTEST_SKIP() << why;
  expect_bits_of_one_device(backend, devices, [](const Communicator& who, const Machine& machine) {
    Flow flow(who, machine, bent_channel());
    flow.advance(3);
    std::vector<std::byte> all;
    for (const char* name : {"velocity", "velocity1", "velocity2", "pressure", "pressure1", "mean_velocity",
                             "mean_products", "earlier_pressures"}) {
      const std::vector<std::byte> one = gather(who, flow.state()[name], flow.grid().box());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SemBitsOfFlow,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 4)));

TEST(SemSolverFlow, RefusesWhatMakesNoFlow) {
  const Communicator comm = Communicator::world();
  const auto made = [&](const FlowOptions& o) {
    return [&comm, o] { Flow flow(comm, machine_here(Backend::host, 1), o); };
  };
  FlowOptions o = bent_channel();
  o.sides[0][1].velocity[0] = {};
  const auto balance = error_of(made(o));
  expect_error(balance, ErrorCode::invalid_argument, {{"option", "sides"}, {"problem", "balance"}});
  EXPECT_NEAR(std::stod(balance->fact("in")), 1.5, 1e-5);
  EXPECT_LT(std::stod(balance->fact("out")), 1e-12);
  o = bent_channel();
  o.target_courant = 0;
  o.time_step = 0.5;
  Flow fast(comm, machine_here(Backend::host, 1), o);
  expect_error([&] { fast.advance(1); }, ErrorCode::not_converged, {{"field", "velocity"}, {"problem", "courant"}});
  o.time_step = 0.0125;
  Flow at_limit(comm, machine_here(Backend::host, 1), o);
  expect_error([&] { at_limit.advance(1); }, ErrorCode::not_converged, {{"problem", "courant"}});
  o.courant_limit = 2;
  Flow told(comm, machine_here(Backend::host, 1), o);
  told.advance(1);
  EXPECT_GT(told.courant(), 0.5);
  o = bent_channel();
  o.most_iterations = 1;
  Flow hard(comm, machine_here(Backend::host, 1), o);
  expect_error([&] { hard.advance(1); }, ErrorCode::not_converged, {{"iterations", 1}});
  o.must_converge = false;
  o.time_step = 0.005;
  o.target_courant = 0;
  Flow goes_on(comm, machine_here(Backend::host, 1), o);
  goes_on.advance(1);
  EXPECT_EQ(goes_on.pressure_effort().unconverged, 1);
  o = bent_channel();
  o.map = [](std::span<const Point> places) {
    std::vector<Point> there;
    for (const Point& x : places) there.push_back({x[0], x[1] + 0.1 * x[0], x[2]});
    return there;
  };
  expect_error(made(o), ErrorCode::unsupported, {{"side", "y-"}, {"problem", "symmetry"}});
  o = bent_channel();
  o.deform = 0.2;
  const auto folded = error_of(made(o));
  ASSERT_TRUE(folded.has_value());
  EXPECT_FALSE(folded->fact("element").empty());
  EXPECT_FALSE(folded->fact("place").empty());
  for (const auto& [option, change] : std::initializer_list<std::pair<const char*, std::function<void(FlowOptions&)>>>{
           {"viscosity", [](FlowOptions& f) { f.viscosity = 0; }},
           {"target_courant", [](FlowOptions& f) { f.target_courant = 0.7; }},
           {"divergence_damping", [](FlowOptions& f) { f.divergence_damping = -1; }},
           {"divergence_damping", [](FlowOptions& f) { f.divergence_damping = 17; }},
           {"courant_limit", [](FlowOptions& f) { f.courant_limit = 0; }},
           {"filter", [](FlowOptions& f) { f.filter = -1; }},
           {"filter_modes", [](FlowOptions& f) { f.filter_modes = 5; }},
           {"pressure_tolerance", [](FlowOptions& f) { f.pressure_tolerance = 0; }},
           {"time_step", [](FlowOptions& f) { f.time_step = std::numeric_limits<double>::infinity(); }}}) {
    FlowOptions changed = bent_channel();
    change(changed);
    expect_error([&] { check(changed); }, ErrorCode::invalid_argument, {{"option", option}});
  }
}

}  // namespace
}  // namespace slipstream::sem
