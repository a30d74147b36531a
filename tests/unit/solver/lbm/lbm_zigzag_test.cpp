// The measure of velocities that alternate from cell to cell.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "solver/lbm/links/links.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

struct ZigzagWay {
  const char* name;
  Lattice lattice;
  DType precision;
  Streaming streaming;
  Collision collision;
  Solids solids;
};

class ZigzagOf : public testing::TestWithParam<ZigzagWay> {
 protected:
  Options options(const Extent& cells, bool periodic) const {
    const ZigzagWay& way = GetParam();
    Options o;
    o.lattice = way.lattice;
    o.precision = way.precision;
    o.streaming = way.streaming;
    o.collision = way.collision;
    o.solids = way.solids;
    if (way.collision == Collision::recursive) o.representation = Representation::moments;
    o.cells = cells;
    if (flat()) o.cells[2] = 1;
    o.periodic = {periodic, periodic, periodic && !flat()};
    o.viscosity = 0.01;
    return o;
  }
  bool flat() const { return GetParam().lattice == Lattice::d2q9; }
  int axes() const { return flat() ? 2 : 3; }
  double digits() const {
    return GetParam().precision == DType::f64 ? 1e-15 : GetParam().precision == DType::f32 ? 1e-8 : 2e-5;
  }
};
INSTANTIATE_TEST_SUITE_P(
    Lbm, ZigzagOf,
    testing::Values(
        ZigzagWay{"d2q9_f64", Lattice::d2q9, DType::f64, Streaming::two, Collision::trt, Solids::flags},
        ZigzagWay{"d3q19_f32_sparse", Lattice::d3q19, DType::f32, Streaming::two, Collision::mrt, Solids::sparse},
        ZigzagWay{"d3q19_f16_in_place", Lattice::d3q19, DType::f16, Streaming::in_place, Collision::trt, Solids::dense},
        ZigzagWay{"d3q27_f64_in_place", Lattice::d3q27, DType::f64, Streaming::in_place, Collision::cumulant,
                  Solids::sparse},
        ZigzagWay{"recursive_f32", Lattice::d3q19, DType::f32, Streaming::two, Collision::recursive, Solids::flags}),
    [](const auto& info) { return info.param.name; });

constexpr double size = 0.03;

TEST_P(ZigzagOf, AZigzagIsItsAmplitude) {
  for (int axis = 0; axis < axes(); ++axis)
    for (int component = 0; component < axes(); ++component) {
      HostRun run(options({10, 8, 12}, true));
      run.start_from([&](const Vector& x) {
        Vector u{};
        u[component] = static_cast<int>(x[axis]) % 2 == 0 ? size : -size;
        return u;
      });
      const Zigzag found = run.lbm.zigzag();
      EXPECT_NEAR(found.mean_speed, size, digits());
      for (int a = 0; a < axes(); ++a) {
        EXPECT_EQ(found.cells[a], volume(run.lbm.grid().extent()));
        for (int c = 0; c < 3; ++c)
          EXPECT_NEAR(found.amplitude[a][c], a == axis && c == component ? size : 0, digits()) << a << c;
      }
    }
}

TEST_P(ZigzagOf, AWaveOfManyCellsIsTheFourthPowerOfASine) {
  HostRun run(options({16, 16, 16}, true));
  const double k = 2 * std::numbers::pi / 16;
  run.start_from([&](const Vector& x) { return Vector{0, size * std::sin(k * (x[0] + 0.5)), 0}; });
  const double amplitude = std::pow(std::sin(k / 2), 4) * size / std::sqrt(2);
  EXPECT_NEAR(run.lbm.zigzag().amplitude[0][1], amplitude, digits());
  EXPECT_NEAR(run.lbm.zigzag().amplitude[1][1], 0, digits());
}

/// Expected alternation of velocities from cell to cell: five cells in line, at least three from solids and walls.
Zigzag by_definition(const Options& o, const std::vector<double>& velocity, const std::vector<std::uint8_t>& solid) {
  const Box domain{{0, 0, 0}, o.cells};
  const auto near = [&](const Extent& cell) {
    const std::int64_t up = o.cells[2] > 1 ? 2 : 0;
    bool found = false;
    for_each_cell({{cell[0] - 2, cell[1] - 2, cell[2] - up}, {cell[0] + 3, cell[1] + 3, cell[2] + up + 1}},
                  [&](const Extent& other) {
                    if (!domain.contains(other) || solid[index_in(domain, other)] != 0) found = true;
                  });
    return found;
  };
  Zigzag found;
  for_each_cell(domain, [&](const Extent& cell) {
    for (int axis = 0; axis < 3; ++axis) {
      Vector sum{};
      bool counts = o.cells[2] > 1 || axis < 2;
      constexpr double weights[] = {1, -4, 6, -4, 1};
      for (int n = 0; n < 5 && counts; ++n) {
        Extent other = cell;
        other[axis] += n - 2;
        if (near(other)) counts = false;
        for (int c = 0; c < 3 && counts; ++c) sum[c] += weights[n] / 16 * velocity[3 * index_in(domain, other) + c];
      }
      if (!counts) continue;
      ++found.cells[axis];
      for (int c = 0; c < 3; ++c) found.amplitude[axis][c] += sum[c] * sum[c];
    }
  });
  for (int axis = 0; axis < 3; ++axis)
    for (double& part : found.amplitude[axis]) part = found.cells[axis] > 0 ? std::sqrt(part / found.cells[axis]) : 0;
  return found;
}

TEST_P(ZigzagOf, CellsNearSolidOnesAndSidesDoNotCount) {
  HostRun run(options({18, 15, 16}, false));
  std::vector<std::uint8_t> solid(volume(run.lbm.options().cells), 0);
  solid[index_in(run.lbm.grid().box(), {3, 4, flat() ? 0 : 5})] = 1;
  solid[index_in(run.lbm.grid().box(), {14, 11, flat() ? 0 : 10})] = 1;
  run.lbm.set_solid(solid);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(-size, size);
  run.lbm.start_from([&](const Box& box) {
    std::vector<std::array<double, 4>> flow;
    for_each_cell(box, [&](const Extent&) { flow.push_back({0, any(random), any(random), flat() ? 0 : any(random)}); });
    return flow;
  });
  const Zigzag found = run.lbm.zigzag(), wanted = by_definition(run.lbm.options(), run.numbers("velocity"), solid);
  EXPECT_EQ(found.cells, wanted.cells);
  EXPECT_GT(found.cells[0], 0);
  for (int a = 0; a < 3; ++a)
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(found.amplitude[a][c], wanted.amplitude[a][c], digits()) << a << c;
}

TEST_P(ZigzagOf, VelocityAndDensityAreThoseOfBefore) {
  HostRun run(options({12, 10, 11}, true));
  run.start_from([](const Vector& x) { return Vector{size * std::sin(x[1]), size * std::cos(x[0]), 0}; });
  const auto velocity = run.numbers("velocity"), density = run.numbers("density");
  run.lbm.zigzag();
  EXPECT_EQ(run.numbers("velocity"), velocity);
  EXPECT_EQ(run.numbers("density"), density);
  EXPECT_EQ(run.lbm.update_macroscopic(), 0);
}

TEST_P(ZigzagOf, NothingCountsInABoxThatIsTooSmall) {
  HostRun run(options({8, 8, 8}, false));
  const Zigzag found = run.lbm.zigzag();
  for (int a = 0; a < 3; ++a) {
    EXPECT_EQ(found.cells[a], 0);
    for (const double part : found.amplitude[a]) EXPECT_EQ(part, 0);
  }
  EXPECT_EQ(found.mean_speed, 0);
}

}  // namespace
}  // namespace slipstream::lbm
