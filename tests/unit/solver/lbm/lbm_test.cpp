// The kernels, compared with a plain solver on one array that follows the equations in the literature.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/fields.hpp"
#include "solver/lbm/lattice/lattice.hpp"
#include "support/collisions.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/stored_numbers.hpp"

namespace slipstream::lbm {
namespace {

/// Applies a collision to populations less their weights. Tests of collisions compare them with the literature.
template <class L>
void collide_by_functor(const Options& o, double (&g)[L::q]) {
  const auto run = [&]<class C>(const C& collision) {
    const Force<double> force{o.force[0], o.force[1], o.force[2]};
    if (o.smagorinsky) return Smagorinsky<L, double, C>(collision, o.viscosity, *o.smagorinsky)(g, force);
    collision(g, force);
  };
  const double shear = rate_of(o.viscosity);
  if (o.collision == Collision::srt) run(Srt<L, double>(shear));
  if (o.collision == Collision::trt) run(Trt<L, double>(shear, odd_rate(shear)));
  if (o.collision == Collision::mrt) run(Mrt<L, double>(shear, odd_rate(shear)));
  if constexpr (L::q == 27)
    if (o.collision == Collision::cumulant) run(Cumulant<L, double>(shear));
}

/// Populations f_i (not deviations) as [z][y][x][i]; half-way bounce-back at the sides of the box and at masked cells.
template <class L>
class Plain {
 public:
  Plain(const Options& o, std::vector<std::uint8_t> mask) : o_(o), mask_(std::move(mask)), f_(volume(o.cells) * L::q) {
    for (std::size_t n = 0; n < f_.size(); ++n) {
      const int i = static_cast<int>(n % L::q);
      double cf = 0;
      for (int a = 0; a < 3; ++a) cf += L::velocity[i][a] * o.force[a];
      // A fluid at rest after a step contains half of the force's source term.
      f_[n] = L::weight(i) * (1 + 1.5 * cf);
    }
  }

  void step() {
    std::vector<double> next = f_;
    for_each([&](const Extent& x) {
      if (solid(x)) return;
      double f[L::q];
      for (int i = 0; i < L::q; ++i) f[i] = pulled(x, i);
      collide(f);
      for (int i = 0; i < L::q; ++i) next[at(x, i)] = f[i];
    });
    f_ = next;
  }

  double deviation(const Extent& x, int i) const { return f_[at(x, i)] - L::weight(i); }
  bool solid(const Extent& x) const { return !mask_.empty() && mask_[at(x, 0) / L::q]; }
  template <class F>
  void for_each(F f) const {
    for (std::int64_t z = 0; z < o_.cells[2]; ++z)
      for (std::int64_t y = 0; y < o_.cells[1]; ++y)
        for (std::int64_t x = 0; x < o_.cells[0]; ++x) f(Extent{x, y, z});
  }

 private:
  std::size_t at(const Extent& x, int i) const { return ((x[2] * o_.cells[1] + x[1]) * o_.cells[0] + x[0]) * L::q + i; }

  double pulled(const Extent& x, int i) const {
    Extent from;
    const std::array<double, 3>* wall = nullptr;
    static const std::array<double, 3> rest{0, 0, 0};
    bool edge_at_rest = false;
    for (int a = 0; a < 3; ++a) {
      from[a] = x[a] - L::velocity[i][a];
      if (from[a] >= 0 && from[a] < o_.cells[a]) continue;
      if (o_.periodic[a]) {
        from[a] = (from[a] + o_.cells[a]) % o_.cells[a];
        continue;
      }
      const auto moving = o_.walls.find(static_cast<Side>(2 * a + (from[a] < 0 ? 0 : 1)));
      if (moving == o_.walls.end()) edge_at_rest = true;
      wall = moving == o_.walls.end() ? &rest : &moving->second;
    }
    if (wall && edge_at_rest) wall = &rest;
    if (!wall && solid(from)) wall = &rest;
    if (!wall) return f_[at(from, i)];
    double cu = 0;
    for (int a = 0; a < 3; ++a) cu += L::velocity[i][a] * (*wall)[a];
    return f_[at(x, opposite_of(i))] + 6 * L::weight(i) * cu;
  }

  void collide(double (&f)[L::q]) const {
    const Model model = model_of(o_);
    if (model.plain()) return collide_by_two_rates(f);
    double g[L::q];
    for (int i = 0; i < L::q; ++i) g[i] = f[i] - L::weight(i);
    collide_by_functor<L>(o_, g);
    for (int i = 0; i < L::q; ++i) f[i] = g[i] + L::weight(i);
  }

  void collide_by_two_rates(double (&f)[L::q]) const {
    double rho = 0, u[3] = {0, 0, 0};
    for (int i = 0; i < L::q; ++i) {
      rho += f[i];
      for (int a = 0; a < 3; ++a) u[a] += f[i] * L::velocity[i][a];
    }
    double uu = 0;
    for (double& component : u) {
      component /= rho;
      uu += component * component;
    }
    double equilibrium[L::q];
    for (int i = 0; i < L::q; ++i) {
      const double cu = L::velocity[i][0] * u[0] + L::velocity[i][1] * u[1] + L::velocity[i][2] * u[2];
      equilibrium[i] = L::weight(i) * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu);
    }
    const double tau_plus = 3 * o_.viscosity + 0.5;
    const double tau_minus = o_.collision == Collision::srt ? tau_plus : o_.magic / (tau_plus - 0.5) + 0.5;
    double after[L::q];
    for (int i = 0; i < L::q; ++i) {
      const int j = opposite_of(i);
      const double even = (f[i] + f[j] - equilibrium[i] - equilibrium[j]) / 2;
      const double odd = (f[i] - f[j] - equilibrium[i] + equilibrium[j]) / 2;
      after[i] = f[i] - even / tau_plus - odd / tau_minus;
    }
    std::copy(after, after + L::q, f);
  }

  Options o_;
  std::vector<std::uint8_t> mask_;
  std::vector<double> f_;
};

struct Case {
  const char* name;
  Lattice lattice;
  Collision collision;
  DType precision;
  std::array<bool, 3> periodic;
  bool body;
  std::optional<double> smagorinsky = {};
  std::array<double, 3> force{0, 0, 0};
};

class AgainstPlainSolver : public testing::TestWithParam<Case> {};

template <class L>
void compare(const Case& c, const Options& o, const std::vector<std::uint8_t>& mask) {
  const Communicator self = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  Lbm lbm(self, machine, o);
  if (!mask.empty()) lbm.set_solid(mask);
  Plain<L> plain(o, mask);
  lbm.advance(40);
  for (int s = 0; s < 40; ++s) plain.step();
  const auto bytes = gather(self, lbm.field("populations"), lbm.grid().box());
  double largest = 0, difference = 0;
  std::size_t n = 0;
  plain.for_each([&](const Extent& x) {
    for (int i = 0; i < L::q; ++i, ++n) {
      const double have = stored_number(c.precision, bytes.data(), n);
      // Solid cells hold populations to be bounced back, not a state.
      if (plain.solid(x)) continue;
      largest = std::max(largest, std::abs(plain.deviation(x, i)));
      difference = std::max(difference, std::abs(plain.deviation(x, i) - have));
    }
  });
  EXPECT_GT(largest, 1e-3);
  // Tolerance in f16: half a unit in the eleventh digit of the largest value, accumulated a few times.
  EXPECT_LT(difference, c.precision == DType::f16 ? largest * 4 / 2048 : c.precision == DType::f32 ? 2e-6 : 1e-14);
}

TEST_P(AgainstPlainSolver, Agrees) {
  const Case& c = GetParam();
  Options o;
  o.lattice = c.lattice;
  o.collision = c.collision;
  o.precision = c.precision;
  o.periodic = c.periodic;
  o.cells = c.lattice == Lattice::d2q9 ? Extent{17, 12, 1} : Extent{13, 11, 9};
  o.viscosity = 0.03;
  o.smagorinsky = c.smagorinsky;
  o.force = c.force;
  if (!c.periodic[1]) o.walls[Side::y_high] = {0.07, 0, c.lattice == Lattice::d2q9 ? 0.0 : 0.02};
  std::vector<std::uint8_t> mask;
  if (c.body) {
    mask.assign(volume(o.cells), 0);
    for (std::size_t n = 0; n < mask.size(); n += 7) mask[n] = 1;
  }
  with_lattice(c.lattice, [&]<class L>(L) { compare<L>(c, o, mask); });
}

constexpr std::array<bool, 3> closed{false, false, false}, walls_y{true, false, true}, walls_y_2d{true, false, false};
constexpr std::array<double, 3> force{3e-4, 1e-4, 2e-4}, force_2d{3e-4, 1e-4, 0};

using C = Collision;
const Case cases[] = {
    {"d3q19_trt_f64", Lattice::d3q19, C::trt, DType::f64, closed, false},
    {"d3q19_srt_f64", Lattice::d3q19, C::srt, DType::f64, closed, false},
    {"d3q19_trt_f32", Lattice::d3q19, C::trt, DType::f32, closed, false},
    {"d3q19_trt_f16", Lattice::d3q19, C::trt, DType::f16, closed, false},
    {"d3q19_trt_force_body_f16", Lattice::d3q19, C::trt, DType::f16, walls_y, true, {}, force},
    {"d3q27_cumulant_f16", Lattice::d3q27, C::cumulant, DType::f16, closed, false},
    {"d2q9_mrt_f16", Lattice::d2q9, C::mrt, DType::f16, closed, false},
    {"d3q19_channel_body", Lattice::d3q19, C::trt, DType::f64, walls_y, true},
    {"d3q19_mrt_f64", Lattice::d3q19, C::mrt, DType::f64, closed, false},
    {"d3q19_trt_force_body", Lattice::d3q19, C::trt, DType::f64, walls_y, true, {}, force},
    {"d3q19_srt_force", Lattice::d3q19, C::srt, DType::f64, closed, false, {}, force},
    {"d3q19_srt_eddies", Lattice::d3q19, C::srt, DType::f64, closed, false, 0.17},
    {"d3q19_trt_eddies_body", Lattice::d3q19, C::trt, DType::f64, walls_y, true, 0.17},
    {"d3q19_mrt_eddies_force_f32", Lattice::d3q19, C::mrt, DType::f32, walls_y, false, 0.17, force},
    {"d3q27_trt_f64", Lattice::d3q27, C::trt, DType::f64, closed, false},
    {"d3q27_channel_body_f32", Lattice::d3q27, C::srt, DType::f32, walls_y, true},
    {"d3q27_mrt_force", Lattice::d3q27, C::mrt, DType::f64, closed, false, {}, force},
    {"d3q27_cumulant_f64", Lattice::d3q27, C::cumulant, DType::f64, closed, false},
    {"d3q27_cumulant_f32", Lattice::d3q27, C::cumulant, DType::f32, closed, false},
    {"d3q27_cumulant_eddies_force_body", Lattice::d3q27, C::cumulant, DType::f64, walls_y, true, 0.17, force},
    {"d2q9_trt_f64", Lattice::d2q9, C::trt, DType::f64, closed, false},
    {"d2q9_srt_f32", Lattice::d2q9, C::srt, DType::f32, closed, false},
    {"d2q9_channel_body", Lattice::d2q9, C::srt, DType::f64, walls_y_2d, true},
    {"d2q9_mrt_force_f32", Lattice::d2q9, C::mrt, DType::f32, walls_y_2d, false, {}, force_2d},
    {"d2q9_srt_eddies_force_body", Lattice::d2q9, C::srt, DType::f64, walls_y_2d, true, 0.17, force_2d},
};

INSTANTIATE_TEST_SUITE_P(Lbm, AgainstPlainSolver, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Lattice, MomentsOfTheWeightsAreIsotropic) {
  const auto check = [](auto lattice) {
    using L = decltype(lattice);
    for (int a = 0; a < L::dimensions; ++a)
      for (int b = 0; b < L::dimensions; ++b) {
        double second = 0;
        for (int i = 0; i < L::q; ++i) second += L::weight(i) * L::velocity[i][a] * L::velocity[i][b];
        EXPECT_NEAR(second, a == b ? 1.0 / 3 : 0, 1e-15);
      }
    for (int i = 0; i < L::q; ++i)
      for (int a = 0; a < 3; ++a) EXPECT_EQ(L::velocity[i][a], -L::velocity[opposite_of(i)][a]);
  };
  check(D2Q9{});
  check(D3Q19{});
  check(D3Q27{});
}

Options stored(Lattice lattice, DType precision) {
  Options o;
  o.lattice = lattice;
  o.precision = precision;
  return o;
}

/// Checks the number of values per ghost cell that cross a face, an edge and a corner of a block.
void expect_crossing(const Options& method, const std::array<std::size_t, 3>& counts) {
  SCOPED_TRACE(to_string(method.lattice) + ' ' + to_string(method.representation));
  MachineDevice device;
  device.local = {Backend::host, 0};
  device.name = "test device";
  device.uuid = "test";
  device.memory = 1 << 30;
  const bool flat = method.lattice == Lattice::d2q9;
  Options o = method;
  o.cells = {16, 16, flat ? 1 : 16};
  GridOptions options = grid_options(o);
  options.partition.blocks_per_device = {2, 2, flat ? 1 : 2};
  const Grid grid(o.cells, Machine("test", {device}, {{LinkKind::same, 100, true}}), 0, options);
  const Halo halo = population_halo(grid, o);
  std::array<int, 3> seen{};
  for (const Transfer& t : halo.transfers(grid, state_count(o), ghost_layers(grid, o), 0)) {
    const Extent e = t.target.box.extents();
    const int thin = (e[0] == 1) + (e[1] == 1) + (!flat && e[2] == 1);
    EXPECT_EQ(t.target.components.size(), counts[thin - 1]) << "thin in " << thin << " axes";
    ++seen[thin - 1];
  }
  const std::array<int, 3> regions = flat ? std::array{8, 4, 0} : std::array{24, 24, 8};
  for (int n = 0; n < 3; ++n) EXPECT_EQ(seen[n], counts[n] == 0 ? 0 : regions[n]);
}

TEST(Halo, CarriesThePopulationsThatCrossAFaceAnEdgeAndACorner) {
  expect_crossing(stored(Lattice::d2q9, DType::f32), {3, 1, 0});
  expect_crossing(stored(Lattice::d3q19, DType::f32), {5, 1, 0});
  expect_crossing(stored(Lattice::d3q27, DType::f32), {9, 3, 1});
}

TEST(Halo, CarriesTenMomentsOfOneLayerAcrossFacesAndEdges) {
  Options o;
  o.representation = Representation::moments;
  o.collision = Collision::recursive;
  expect_crossing(o, {10, 10, 0});
}

TEST(BytesPerCell, AreThoseOfEachPopulationReadAndWrittenOnce) {
  EXPECT_EQ(bytes_per_cell(stored(Lattice::d2q9, DType::f32)), 72);
  EXPECT_EQ(bytes_per_cell(stored(Lattice::d3q19, DType::f16)), 76);
  EXPECT_EQ(bytes_per_cell(stored(Lattice::d3q19, DType::f32)), 152);
  EXPECT_EQ(bytes_per_cell(stored(Lattice::d3q27, DType::f32)), 216);
  EXPECT_EQ(bytes_per_cell(stored(Lattice::d3q27, DType::f64)), 432);
}

TEST(Steps, KnowWallsByTwoArraysInF32AndF64WithRowsAlongAnAxis) {
  for (const auto lattice : {Lattice::d2q9, Lattice::d3q19, Lattice::d3q27})
    for (const auto precision : {DType::f16, DType::f32, DType::f64})
      for (const bool in_place : {false, true})
        for (const auto layout : {Layout::soa, Layout::soa_z, Layout::aos})
          EXPECT_EQ(kernels(stored(lattice, precision)).knows_walls(in_place, layout),
                    !in_place && precision != DType::f16 && layout != Layout::aos);
}

TEST(Options, ThatCannotRunAreRefusedWithTheReason) {
  Options good;
  good.cells = {8, 8, 8};
  good.viscosity = 0.1;
  EXPECT_NO_THROW(check(good));
  struct Mistake {
    std::function<void(Options&)> make;
    ErrorCode code;
    Facts facts;
  };
  using enum ErrorCode;
  const Mistake mistakes[] = {
      {[](Options& o) { o.viscosity = 0; }, invalid_argument, {{"option", "viscosity"}, {"given", 0}}},
      {[](Options& o) { o.viscosity = 1e-7; },
       invalid_argument,
       {{"option", "viscosity"}, {"relaxation_time", 0.5 + 3 * 1e-7}, {"least", 0.5 + 1e-5}}},
      {[](Options& o) { o.viscosity = 40; },
       invalid_argument,
       {{"option", "viscosity"}, {"relaxation_time", 120.5}, {"most", 100.5}}},
      {[](Options& o) { o.magic = 0; }, invalid_argument, {{"option", "magic"}, {"given", 0}}},
      {[](Options& o) { o.magic = 1e-9; }, invalid_argument, {{"option", "magic"}, {"least", 0.5 + 1e-5}}},
      {[](Options& o) { o.cells[2] = 1; }, unsupported, {{"option", "lattice"}, {"given", "D3Q19"}, {"cells", 1}}},
      {[](Options& o) { o.lattice = Lattice::d2q9; },
       unsupported,
       {{"option", "lattice"}, {"given", "D2Q9"}, {"cells", 8}}},
      {[](Options& o) { o.collision = Collision::cumulant; },
       unsupported,
       {{"option", "collision"}, {"given", "cumulant"}, {"lattice", "D3Q19"}}},
      {[](Options& o) { o.smagorinsky = -0.1; }, invalid_argument, {{"option", "smagorinsky"}, {"given", -0.1}}},
      {[](Options& o) { o.smagorinsky = NAN; }, invalid_argument, {{"option", "smagorinsky"}, {"given", NAN}}},
      {[](Options& o) { o.force[1] = INFINITY; }, invalid_argument, {{"option", "force"}}},
      {[](Options& o) { o.lattice = Lattice::d2q9, o.cells[2] = 1, o.force[2] = 1e-5; },
       unsupported,
       {{"option", "force"}, {"axis", "z"}}},
      {[](Options& o) {
         o.periodic[1] = true, o.walls[Side::y_high] = {0.1, 0, 0};
       },
       unsupported,
       {{"option", "walls"}, {"side", "y+"}}},
      {[](Options& o) { o.rim_processors = -1; }, invalid_argument, {{"option", "rim_processors"}, {"given", -1}}},
  };
  for (const Mistake& mistake : mistakes) {
    Options o = good;
    mistake.make(o);
    SCOPED_TRACE(&mistake - mistakes);
    expect_error([&] { check(o); }, mistake.code, mistake.facts);
  }
}

TEST(Options, ThatOnlyF64CanSayAreRefusedInF32Alone) {
  Options o;
  o.cells = {8, 8, 8};
  o.viscosity = 1e-7;
  o.precision = DType::f64;
  EXPECT_NO_THROW(check(o));
}

}  // namespace
}  // namespace slipstream::lbm
