// The kernels against a plain single-array solver, written as the equations stand in the literature.
#include <gtest/gtest.h>

#include <cmath>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "solver/lbm/fields.hpp"
#include "solver/lbm/lattice.hpp"

namespace slipstream::lbm {
namespace {

/// f_i (not deviations) on [z][y][x][i]; half-way bounce-back on the box's sides and on masked cells.
template <class L>
class Plain {
 public:
  Plain(const Options& o, std::vector<std::uint8_t> mask) : o_(o), mask_(std::move(mask)), f_(volume(o.cells) * L::q) {
    for (std::size_t n = 0; n < f_.size(); ++n) f_[n] = L::weight(static_cast<int>(n % L::q));
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
};

class AgainstPlainSolver : public testing::TestWithParam<Case> {};

template <class L>
void compare(const Case& c, const Options& o, const std::vector<std::uint8_t>& mask) {
  const Communicator self = Communicator::world();
  Machine::Options machine_options;
  machine_options.bind = false;
  Lbm lbm(self, Machine::discover(self, machine_options), o);
  if (!mask.empty()) lbm.set_solid(mask);
  Plain<L> plain(o, mask);
  lbm.advance(40);
  for (int s = 0; s < 40; ++s) plain.step();
  const auto bytes = gather(self, lbm.field("populations"), lbm.grid().box());
  double largest = 0, difference = 0;
  std::size_t n = 0;
  plain.for_each([&](const Extent& x) {
    for (int i = 0; i < L::q; ++i, ++n) {
      const double have = c.precision == DType::f32 ? reinterpret_cast<const float*>(bytes.data())[n]
                                                    : reinterpret_cast<const double*>(bytes.data())[n];
      // Solid cells hold what bounces back, not a state.
      if (plain.solid(x)) continue;
      largest = std::max(largest, std::abs(plain.deviation(x, i)));
      difference = std::max(difference, std::abs(plain.deviation(x, i) - have));
    }
  });
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(difference, (c.precision == DType::f32 ? 2e-6 : 1e-14));
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
  if (!c.periodic[1]) o.walls[Side::y_high] = {0.07, 0, c.lattice == Lattice::d2q9 ? 0.0 : 0.02};
  std::vector<std::uint8_t> mask;
  if (c.body) {
    mask.assign(volume(o.cells), 0);
    for (std::size_t n = 0; n < mask.size(); n += 7) mask[n] = 1;
  }
  c.lattice == Lattice::d2q9 ? compare<D2Q9>(c, o, mask) : compare<D3Q19>(c, o, mask);
}

INSTANTIATE_TEST_SUITE_P(
    Lbm, AgainstPlainSolver,
    testing::Values(Case{"d3q19_trt_f64", Lattice::d3q19, Collision::trt, DType::f64, {false, false, false}, false},
                    Case{"d3q19_srt_f64", Lattice::d3q19, Collision::srt, DType::f64, {false, false, false}, false},
                    Case{"d3q19_trt_f32", Lattice::d3q19, Collision::trt, DType::f32, {false, false, false}, false},
                    Case{"d3q19_channel_body", Lattice::d3q19, Collision::trt, DType::f64, {true, false, true}, true},
                    Case{"d2q9_trt_f64", Lattice::d2q9, Collision::trt, DType::f64, {false, false, false}, false},
                    Case{"d2q9_srt_f32", Lattice::d2q9, Collision::srt, DType::f32, {false, false, false}, false},
                    Case{"d2q9_channel_body", Lattice::d2q9, Collision::srt, DType::f64, {true, false, false}, true}),
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
}

TEST(Halo, CarriesFivePopulationsAcrossAFaceOfD3Q19AndOneAcrossAnEdge) {
  MachineDevice device;
  device.local = {Backend::host, 0};
  device.name = "test device";
  device.uuid = "test";
  device.memory = 1 << 30;
  GridOptions options;
  options.partition.blocks_per_device = {2, 2, 2};
  const Grid grid({16, 16, 16}, Machine("test", {device}, {{LinkKind::same, 100, true}}), 0, options);
  Options o;
  o.cells = {16, 16, 16};
  const Halo halo = population_halo(grid, o);
  for (const Transfer& t : halo.transfers(grid, 19, {1, 1, 1}, 0)) {
    const Extent e = t.target.box.extents();
    const int thin = (e[0] == 1) + (e[1] == 1) + (e[2] == 1);
    EXPECT_EQ(t.target.components.size(), thin == 1 ? 5u : 1u);
    EXPECT_LE(thin, 2);
  }
}

TEST(Options, ThatCannotRunAreRefused) {
  Options o;
  o.cells = {8, 8, 8};
  o.viscosity = 0.1;
  EXPECT_NO_THROW(check(o));
  o.viscosity = 0;
  EXPECT_THROW(check(o), Error);
  o.viscosity = 0.1;
  o.cells[2] = 1;
  EXPECT_THROW(check(o), Error);
  o.cells[2] = 8;
  o.periodic[1] = true;
  o.walls[Side::y_high] = {0.1, 0, 0};
  EXPECT_THROW(check(o), Error);
}

}  // namespace
}  // namespace slipstream::lbm
