// Flows of the solver on every lattice, with every collision and number format, compared with solutions of the
// Navier-Stokes equations.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/fields.hpp"
#include "support/lbm_run.hpp"

namespace slipstream::lbm {
namespace {

struct Variant {
  Lattice lattice;
  Collision collision;
  DType precision;
};

std::string variant_name(const Variant& m) {
  return to_string(m.lattice) + "_" + to_string(m.collision) + "_" + to_string(m.precision);
}

bool by_moments(const Variant& m) {
  return m.collision == Collision::regularised || m.collision == Collision::recursive;
}

/// All lattices, collisions and formats that `wanted` accepts.
template <class F>
std::vector<Variant> methods(const F& wanted) {
  std::vector<Variant> all;
  for (const auto lattice : {Lattice::d2q9, Lattice::d3q19, Lattice::d3q27})
    for (const auto collision : {Collision::srt, Collision::trt, Collision::mrt, Collision::cumulant,
                                 Collision::regularised, Collision::recursive})
      for (const auto precision : {DType::f16, DType::f32, DType::f64}) {
        const Variant m{lattice, collision, precision};
        const bool runs = by_moments(m)                      ? lattice == Lattice::d3q19
                          : collision == Collision::cumulant ? lattice == Lattice::d3q27
                                                             : true;
        if (runs && wanted(m)) all.push_back(m);
      }
  return all;
}

Options options_of(const Variant& m) {
  Options o;
  o.lattice = m.lattice;
  o.collision = m.collision;
  o.precision = m.precision;
  if (by_moments(m)) o.representation = Representation::moments;
  return o;
}

/// Selects a tolerance by number format.
double by_format(DType precision, double f16, double f32, double f64) {
  return precision == DType::f16 ? f16 : precision == DType::f32 ? f32 : f64;
}

class EveryMethod : public testing::TestWithParam<Variant> {};

/// Tests of lattice Boltzmann methods in double precision only, because rounding is too large in other formats.
class MethodInF64 : public EveryMethod {};
/// Methods whose magic number fixes the position of walls.
class MethodOfMagic : public EveryMethod {};

constexpr auto named = [](const testing::TestParamInfo<Variant>& info) { return variant_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Lbm, EveryMethod, testing::ValuesIn(methods([](const Variant&) { return true; })), named);
INSTANTIATE_TEST_SUITE_P(Lbm, MethodInF64,
                         testing::ValuesIn(methods([](const Variant& m) { return m.precision == DType::f64; })), named);
INSTANTIATE_TEST_SUITE_P(Lbm, MethodOfMagic, testing::ValuesIn(methods([](const Variant& m) {
                           return m.collision == Collision::trt || m.collision == Collision::mrt;
                         })),
                         named);

/// Viscosity from the decay of a Taylor-Green vortex with velocity `size`, relative to the given one.
double viscosity_of_decay(const Variant& method, double size) {
  constexpr int n = 32;
  constexpr double viscosity = 0.04, k = 2 * std::numbers::pi / n;
  const bool flat = method.lattice == Lattice::d2q9;
  // In three dimensions the vortex is in the plane y, z, so that z is tested.
  const int first = flat ? 0 : 1;
  Options o = options_of(method);
  o.viscosity = viscosity;
  o.periodic = {true, true, !flat};
  o.cells = flat ? Extent{n, n, 1} : Extent{2, n, n};
  const auto vortex = [&](const Vector& x) {
    const double a = k * x[first], b = k * x[first + 1];
    Vector u{};
    u[first] = -size * std::cos(a) * std::sin(b);
    u[first + 1] = size * std::sin(a) * std::cos(b);
    return u;
  };
  HostRun run(o);
  run.start_from(vortex);
  // Returns the projection of the velocity on the initial vortex.
  const auto part = [&] {
    const auto velocity = run.numbers("velocity");
    double sum = 0, whole = 0;
    for (std::int64_t cell = 0; cell < volume(o.cells); ++cell) {
      const std::int64_t row = cell / o.cells[0];
      const Vector u = vortex({1.0 * (cell % o.cells[0]), 1.0 * (row % o.cells[1]), 1.0 * (row / o.cells[1])});
      for (int a = 0; a < 3; ++a) {
        sum += velocity[3 * cell + a] * u[a];
        whole += u[a] * u[a];
      }
    }
    return sum / whole;
  };
  // Skips the initial transient.
  run.lbm.advance(60);
  const double early = part();
  constexpr int steps = 160;
  run.lbm.advance(steps);
  return -std::log(part() / early) / (2 * k * k * steps) / viscosity;
}

TEST_P(EveryMethod, LetsATaylorGreenVortexDecayWithTheViscosityAskedForWithinHalfAPercent) {
  EXPECT_NEAR(viscosity_of_decay(GetParam(), 0.01), 1, 0.005);
}

// The vortex is 1e-4 of the speed of sound and must keep all digits of its number format.
TEST_P(EveryMethod, KeepsTheDigitsOfAFlowNearlyAtRest) { EXPECT_NEAR(viscosity_of_decay(GetParam(), 3e-5), 1, 0.005); }

TEST_P(EveryMethod, AcceleratesAFreeFluidFromRestByTheForceInEveryStep) {
  const bool flat = GetParam().lattice == Lattice::d2q9;
  Options o = options_of(GetParam());
  o.viscosity = 0.02;
  o.periodic = {true, true, !flat};
  o.cells = {5, 4, flat ? 1 : 3};
  o.force = {1e-4, -5e-5, flat ? 0 : 2e-5};
  HostRun run(o);
  for (const int steps : {0, 1, 49}) {
    run.lbm.advance(steps);
    const auto velocity = run.numbers("velocity");
    const double time = run.lbm.state().time;
    for (std::size_t n = 0; n < velocity.size(); ++n)
      // In f16 all cells round alike here, so random rounding does not average out.
      EXPECT_NEAR(velocity[n], time * o.force[n % 3],
                  by_format(o.precision, 1e-6 * (1 + std::sqrt(time)), 1e-9 * (1 + time), 1e-15));
  }
}

/// Largest relative error of a steady flow between half-way walls at y = 0 and y = n; exact: F y (n - y) / (2
/// viscosity).
double poiseuille_error(Options o, int n) {
  const bool flat = o.lattice == Lattice::d2q9;
  // The velocity is scaled with the cell size, so that errors of order u^2 do not hide second-order convergence.
  const double top = 0.08 / n;
  o.viscosity = 0.25;
  o.periodic = {true, false, !flat};
  o.cells = {2, n, flat ? 1 : 2};
  o.force = {8 * o.viscosity * top / (n * n), 0, 0};
  HostRun run(o);
  // In f16 a flow never becomes steady: random rounding changes the last digits.
  const double steady = by_format(o.precision, 2e-3, 1e-6, 1e-12) * top;
  double change = 1;
  for (int s = 0; s < 400 && change > steady; ++s) {
    run.lbm.advance(200);
    change = run.lbm.update_macroscopic();
  }
  EXPECT_LE(change, steady);
  const auto velocity = run.numbers("velocity");
  double error = 0;
  for (std::int64_t cell = 0; cell < volume(o.cells); ++cell) {
    const double y = static_cast<double>(cell / 2 % n) + 0.5;
    const double expected = o.force[0] / (2 * o.viscosity) * y * (n - y);
    error = std::max(error, std::abs(velocity[3 * cell] - expected) / top);
    for (int a = 1; a < 3; ++a) error = std::max(error, std::abs(velocity[3 * cell + a]) / top);
  }
  return error;
}

TEST_P(MethodInF64, ConvergesToPoiseuilleFlowBetweenHalfWayWallsWithOrderTwo) {
  Options o = options_of(GetParam());
  o.magic = 0.25;
  const double coarse = poiseuille_error(o, 6), middle = poiseuille_error(o, 12), fine = poiseuille_error(o, 24);
  EXPECT_LT(coarse, 0.1);
  EXPECT_NEAR(std::log2(coarse / middle), 2, 0.05);
  EXPECT_NEAR(std::log2(middle / fine), 2, 0.05);
}

// TRT is exact to rounding, which is 1 % in f16, where small increments are lost below half a unit in the eleventh
// digit. MRT relaxes the trace of the stress at its own rate, which leaves terms of order u^2.
TEST_P(MethodOfMagic, OfThreeSixteenthsHasPoiseuilleFlowNearlyExactly) {
  const Options o = options_of(GetParam());
  const double in_f64 = o.collision == Collision::trt ? 1e-9 : 1e-6;
  EXPECT_LT(poiseuille_error(o, 12), by_format(o.precision, 0.01, 1e-4, in_f64));
}

TEST_P(EveryMethod, UnderSmagorinskysConstantZeroIsTheMethodItself) {
  Options o = options_of(GetParam());
  const bool flat = o.lattice == Lattice::d2q9;
  o.viscosity = 0.02;
  o.cells = {14, 11, flat ? 1 : 9};
  o.walls[Side::y_high] = {0.08, 0, flat ? 0 : 0.02};
  const auto flow = [](const Options& options) {
    HostRun run(options);
    run.lbm.advance(50);
    return run.numbers("velocity");
  };
  const auto without = flow(o);
  o.smagorinsky = 0;
  const auto with_zero = flow(o);
  o.smagorinsky = 0.3;
  const auto with_les_model = flow(o);
  double difference = 0, by_les_model = 0;
  for (std::size_t n = 0; n < without.size(); ++n) {
    difference = std::max(difference, std::abs(with_zero[n] - without[n]));
    by_les_model = std::max(by_les_model, std::abs(with_les_model[n] - without[n]));
  }
  EXPECT_LT(difference, by_format(o.precision, 1e-4, 1e-6, 1e-15));
  // The LES model must have an effect, or the comparison would be meaningless.
  EXPECT_GT(by_les_model, 1e-4);
}

TEST_P(EveryMethod, KeepsTheMirrorSymmetryOfAFlowToTheLastBit) {
  Options o = options_of(GetParam());
  const bool flat = o.lattice == Lattice::d2q9;
  o.viscosity = 0.02;
  o.cells = {14, 11, flat ? 1 : 9};
  o.smagorinsky = 0.1;
  o.force = {1e-5, 0, 0};
  o.walls[Side::y_low] = o.walls[Side::y_high] = {0.08, 0, 0};
  HostRun run(o);
  run.lbm.advance(60);
  const auto velocity = run.numbers("velocity");
  const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t z, int a) {
    return velocity[3 * ((z * o.cells[1] + y) * o.cells[0] + x) + a];
  };
  double sideways = 0;
  for (std::int64_t z = 0; z < o.cells[2]; ++z)
    for (std::int64_t y = 0; y < o.cells[1]; ++y)
      for (std::int64_t x = 0; x < o.cells[0]; ++x)
        for (int a = 0; a < 3; ++a) {
          ASSERT_EQ(at(x, y, z, a), (a == 1 ? -1 : 1) * at(x, o.cells[1] - 1 - y, z, a));
          // Moments add populations from below before those from above, so they are symmetric only to rounding.
          if (!by_moments(GetParam())) {
            ASSERT_EQ(at(x, y, z, a), (a == 2 ? -1 : 1) * at(x, y, o.cells[2] - 1 - z, a));
          }
          if (a > 0) sideways = std::max(sideways, std::abs(at(x, y, z, a)));
        }
  EXPECT_GT(sideways, 1e-3);
}

/// A force along y, and walls that move along y: tests the mirror symmetry of this axis.
TEST_P(EveryMethod, KeepsTheMirrorSymmetryAlongRowsToTheLastBit) {
  Options o = options_of(GetParam());
  const bool flat = o.lattice == Lattice::d2q9;
  o.viscosity = 0.02;
  o.cells = {13, 10, flat ? 1 : 7};
  o.smagorinsky = 0.1;
  o.force = {0, 1e-5, 0};
  o.walls[Side::x_low] = o.walls[Side::x_high] = {0, 0.08, 0};
  HostRun run(o);
  run.lbm.advance(60);
  const auto velocity = run.numbers("velocity");
  const auto at = [&](std::int64_t x, std::int64_t row, int a) { return velocity[3 * (row * o.cells[0] + x) + a]; };
  double sideways = 0;
  for (std::int64_t row = 0; row < o.cells[1] * o.cells[2]; ++row)
    for (std::int64_t x = 0; x < o.cells[0]; ++x)
      for (int a = 0; a < 3; ++a) {
        ASSERT_EQ(at(x, row, a), (a == 0 ? -1 : 1) * at(o.cells[0] - 1 - x, row, a));
        if (a != 1) sideways = std::max(sideways, std::abs(at(x, row, a)));
      }
  EXPECT_GT(sideways, 1e-3);
}

/// Stored populations after two steps by a kernel that wraps around on all axes.
std::vector<std::byte> wrapped_steps(HostRun& run, const Model& model, Streaming streaming, Layout layout) {
  const Options& o = run.lbm.options();
  const Grid& grid = run.lbm.grid();
  FieldOptions packed = population_field(grid, o, false);
  packed.ghost = {0, 0, 0};
  packed.layout = layout;
  Field populations(grid, packed), flags(grid, {.name = "flags", .type = DType::u8, .layout = layout});
  const auto start = gather(Communicator::world(), run.lbm.field(to_string(o.representation)), grid.box());
  populations.write(grid.box(), start.data());
  const auto place = [](const Field& field, int copy) {
    const BlockShape& shape = field.shape(0);
    return BlockData{field.data(0, copy) + shape.origin * size_of(field.options().type), shape, field.options().type};
  };
  Stream stream(populations.device(0));
  const Kernels& kernel = kernels(o);
  std::vector<std::byte> spare(static_cast<std::size_t>(spare_bytes(o.cells, o.precision)));
  for (const Form form : {Form::shared, Form::turned}) {
    BlockArrays arrays;
    arrays.populations = place(populations, 0);
    arrays.populations_out = place(populations, 1);
    arrays.flags = place(flags, 0);
    for (int a = 0; a < 3; ++a) arrays.wrap.extent[a] = static_cast<int>(o.cells[a]);
    arrays.recursive = o.collision == Collision::recursive;
    if (streaming == Streaming::in_place) kernel.rearrange(stream, arrays, form, spare.data());
    if (streaming == Streaming::in_place) arrays.form = form;
    kernel.stream_collide(stream, grid.box(), arrays, layout, model);
    arrays.form = form == Form::shared ? Form::turned : Form::shared;
    if (streaming == Streaming::in_place) kernel.rearrange(stream, arrays, Form::apart, spare.data());
    stream.synchronize();
    if (streaming == Streaming::two) populations.swap();
  }
  return gather(Communicator::world(), populations, grid.box());
}

// Wrapping along x, as on a GPU if a block spans the periodic axis x.
TEST_P(EveryMethod, WrapsRoundAlongRowsWithTheBitsOfGhostCells) {
  Options o = options_of(GetParam());
  const bool flat = o.lattice == Lattice::d2q9;
  o.viscosity = 0.02;
  o.cells = {7, 6, flat ? 1 : 5};
  o.periodic = {true, true, !flat};
  for (const bool driven : {false, true}) {
    if (driven) o.force = {1e-4, 2e-4, 0};
    HostRun run(o);
    run.start_from([&](const Vector& x) {
      return Vector{0.03 * std::sin(x[0] + 2 * x[1]), 0.02 * std::cos(x[0] - x[2]), flat ? 0 : 0.01 * std::sin(x[0])};
    });
    std::map<std::string, std::vector<std::byte>> found;
    for (const Layout layout : {Layout::soa, Layout::soa_z})
      for (const Streaming streaming : {Streaming::two, Streaming::in_place})
        if (by_moments(GetParam()) ? layout == Layout::soa && streaming == Streaming::two
                                   : !flat || layout == Layout::soa)
          found[to_string(layout) + " " + to_string(streaming)] = wrapped_steps(run, model_of(o), streaming, layout);
    run.lbm.advance(2);
    const auto right = gather(Communicator::world(), run.lbm.field(to_string(o.representation)), run.lbm.grid().box());
    for (const auto& [name, values] : found) EXPECT_EQ(values, right) << name;
  }
}

}  // namespace
}  // namespace slipstream::lbm
