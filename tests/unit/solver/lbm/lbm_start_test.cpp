// A run started from a given flow, and the energy of that flow.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "solver/lbm/links/links.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

struct StartWay {
  const char* name;
  Lattice lattice;
  DType precision;
  Streaming streaming;
  Collision collision;
};

class Start : public testing::TestWithParam<StartWay> {
 protected:
  static constexpr std::int64_t n = 32;
  static constexpr double speed = 0.02;

  static bool moments() {
    return GetParam().collision == Collision::regularised || GetParam().collision == Collision::recursive;
  }
  Options options() const {
    Options o;
    o.lattice = GetParam().lattice;
    o.precision = GetParam().precision;
    o.streaming = GetParam().streaming;
    o.collision = GetParam().collision;
    if (moments()) o.representation = Representation::moments;
    o.cells = {n, n, o.lattice == Lattice::d2q9 ? 1 : 3};
    o.periodic = {true, true, o.lattice != Lattice::d2q9};
    o.viscosity = 0.01;
    return o;
  }

  /// A Taylor-Green vortex with its incompressible pressure.
  static std::array<double, 4> vortex(const Extent& cell) {
    const double k = 2 * std::numbers::pi / n, x = k * (cell[0] + 0.5), y = k * (cell[1] + 0.5);
    const double pressure = -0.25 * speed * speed * (std::cos(2 * x) + std::cos(2 * y));
    return {3 * pressure, -speed * std::cos(x) * std::sin(y), speed * std::sin(x) * std::cos(y), 0};
  }
  static std::vector<std::array<double, 4>> flow(const Box& box) {
    std::vector<std::array<double, 4>> all;
    for_each_cell(box, [&](const Extent& cell) { all.push_back(vortex(cell)); });
    return all;
  }
  double digits() const {
    return GetParam().precision == DType::f64 ? 1e-14 : GetParam().precision == DType::f32 ? 1e-7 : 2e-5;
  }
};
INSTANTIATE_TEST_SUITE_P(
    Lbm, Start,
    testing::Values(StartWay{"d2q9_f64", Lattice::d2q9, DType::f64, Streaming::two, Collision::trt},
                    StartWay{"d2q9_f64_in_place", Lattice::d2q9, DType::f64, Streaming::in_place, Collision::srt},
                    StartWay{"d3q19_f32", Lattice::d3q19, DType::f32, Streaming::two, Collision::mrt},
                    StartWay{"d3q19_f16_in_place", Lattice::d3q19, DType::f16, Streaming::in_place, Collision::trt},
                    StartWay{"d3q27_f64", Lattice::d3q27, DType::f64, Streaming::two, Collision::cumulant},
                    StartWay{"regularised_f64", Lattice::d3q19, DType::f64, Streaming::two, Collision::regularised},
                    StartWay{"recursive_f32", Lattice::d3q19, DType::f32, Streaming::two, Collision::recursive},
                    StartWay{"recursive_f16", Lattice::d3q19, DType::f16, Streaming::two, Collision::recursive}),
    [](const auto& info) { return info.param.name; });

TEST_P(Start, HasTheVelocityAndDensityThatWereGiven) {
  HostRun run(options());
  run.lbm.start_from(flow);
  const auto velocity = run.numbers("velocity"), density = run.numbers("density");
  std::size_t at = 0;
  for_each_cell(run.lbm.grid().box(), [&](const Extent& cell) {
    const auto expected = vortex(cell);
    EXPECT_NEAR(density[at] - 1, expected[0], digits());
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(velocity[3 * at + a], expected[1 + a], digits());
    ++at;
  });
}

TEST_P(Start, HasTheVelocityThatWasGivenUnderAForceAndLeavesSolidCellsAtRest) {
  Options o = options();
  o.force = {1e-3, -2e-3, 0};
  HostRun run(o);
  std::vector<std::uint8_t> mask(volume(o.cells), 0);
  mask[7] = 1;
  run.lbm.set_solid(mask);
  run.lbm.start_from(flow);
  const auto velocity = run.numbers("velocity");
  EXPECT_NEAR(velocity[0], vortex({0, 0, 0})[1], digits());
  EXPECT_NEAR(velocity[1], vortex({0, 0, 0})[2], digits());
  EXPECT_EQ(velocity[3 * 7], 0);
}

TEST_P(Start, HasTheStressOfItsVelocityFromTheFirstStepOn) {
  HostRun run(options());
  run.lbm.start_from(flow);
  const double cells = static_cast<double>(volume(run.lbm.grid().extent()));
  const double k = 2 * std::numbers::pi / n;
  for (int step = 0; step < 5; ++step) {
    const Energy energy = run.lbm.energy();
    const double kinetic = speed * speed / 4 * std::exp(-4 * 0.01 * k * k * step), taken = 4 * 0.01 * k * k * kinetic;
    EXPECT_NEAR(energy.kinetic / cells, kinetic, 0.001 * kinetic) << step;
    EXPECT_NEAR(energy.dissipation / cells, taken, 0.03 * taken) << step;
    run.lbm.advance(1);
  }
}

TEST_P(Start, LosesTheEnergyThatItDissipates) {
  HostRun run(options());
  run.lbm.start_from(flow);
  const Energy before = run.lbm.energy();
  run.lbm.advance(100);
  const Energy after = run.lbm.energy();
  const double lost = (before.kinetic - after.kinetic) / 100, taken = (before.dissipation + after.dissipation) / 2;
  EXPECT_NEAR(lost, taken, 0.02 * taken);
}

TEST_P(Start, IsAtRestOnceCellsWereMadeSolidHoweverTheyAreKept) {
  for (const Solids solids : {Solids::dense, Solids::flags, Solids::sparse}) {
    if (moments() && solids == Solids::sparse) continue;
    Options o = options();
    o.solids = solids;
    HostRun run(o);
    run.lbm.start_from(flow);
    std::vector<std::uint8_t> mask(volume(o.cells), 0);
    mask[7] = 1;
    run.lbm.set_solid(mask);
    for (const double u : run.numbers("velocity")) EXPECT_EQ(u, 0) << to_string(solids);
    const auto density = run.numbers("density");
    for (std::size_t n = 0; n < density.size(); ++n) EXPECT_EQ(density[n], mask[n] ? 0 : 1) << to_string(solids);
  }
}

TEST(StartFrom, IsRefusedAfterTheFirstStep) {
  Options o;
  o.lattice = Lattice::d2q9;
  o.cells = {4, 4, 1};
  o.viscosity = 0.1;
  HostRun run(o);
  run.lbm.advance(1);
  EXPECT_THROW(run.lbm.start_from([](const Box& box) {
    return std::vector<std::array<double, 4>>(static_cast<std::size_t>(box.volume()));
  }),
               Error);
}

}  // namespace
}  // namespace slipstream::lbm
