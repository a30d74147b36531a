// Element operators on host devices, compared with sums written directly from the formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/kernels.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

ElementBox small(double deform) {
  ElementBox box;
  box.elements = {2, 3, 1};
  box.upper = {1, 2, 0.5};
  box.stretch = {2, 1, 1};
  box.deform = deform;
  return box;
}

std::vector<double> random_values(std::int64_t count) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(value(engine));
  return made;
}

/// An element's matrix H by rows: (D phi_p)^T G (D phi_q), summed over the quadrature points, for all p and q.
std::vector<double> row_of_matrix(std::size_t p, const Rule& rule, const double* g, const double* mass, double h1,
                                  double h2) {
  const std::size_t n = rule.points.size(), cube = n * n * n;
  const auto derivative = [&](std::size_t of, std::size_t at, int axis) {
    double d = 1;
    for (int a = 0; a < 3; ++a, of /= n, at /= n)
      d *= a == axis ? rule.derivative[(at % n) * n + of % n] : (at % n == of % n ? 1.0 : 0.0);
    return d;
  };
  constexpr int place[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  std::vector<double> row(cube, 0);
  for (std::size_t at = 0; at < cube; ++at)
    for (int a = 0; a < 3; ++a) {
      const double dp = derivative(p, at, a);
      for (std::size_t q = 0; q < cube && dp != 0; ++q)
        for (int b = 0; b < 3; ++b)
          row[q] += h1 * dp * g[static_cast<std::size_t>(place[a][b]) * cube + at] * derivative(q, at, b);
    }
  row[p] += h2 * mass[p];
  return row;
}

TEST(SemBlocks, GrowWithTheElementsAndNotWithTheDevices) {
  struct Row {
    std::int64_t elements, block;
  };
  for (const Row& row : {Row{1, 1}, {1023, 1}, {1024, 2}, {4096, 8}, {32767, 32}, {32768, 64}, {1 << 22, 64}}) {
    EXPECT_EQ(Space::elements_of_a_block(row.elements), row.block) << row.elements << " elements";
    for (const int devices : {1, 3, 8}) {
      EXPECT_EQ(Space::first_of(row.elements, devices, 0), 0);
      EXPECT_EQ(Space::first_of(row.elements, devices, devices), row.elements);
      for (int d = 1; d < devices; ++d) EXPECT_EQ(Space::first_of(row.elements, devices, d) % row.block, 0);
    }
  }
}

class OperatorsOf : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(OperatorsOf, HelmholtzIsThatOfTheFormulaOnDeformedElements) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  Space space(comm, machine, small(0.05), order);
  const std::vector<double> u = random_values(space.points(0));
  Vector in = space.vector(), out = space.vector();
  set(space, in, u);
  const Rule rule = gauss_lobatto(order);
  const Geometry g = geometry(space.box(), rule, 0, space.box().count(), Factors::stored);
  const std::size_t cube = static_cast<std::size_t>(space.points_per_element()), e = 4;
  for (const auto& [h1, h2] : {std::pair{1.0, 0.0}, {0.7, 2.5}}) {
    space.helmholtz(in, out, h1, h2);
    const std::vector<double> found = get(space, out);
    for (std::size_t p = 0; p < cube; p += 1 + cube / 9) {
      const std::vector<double> h = row_of_matrix(p, rule, &g.stiffness[e * 6 * cube], &g.mass[e * cube], h1, h2);
      double sum = 0, scale = 0;
      for (std::size_t q = 0; q < cube; ++q) {
        sum += h[q] * u[e * cube + q];
        scale = std::max(scale, std::abs(h[q]));
      }
      ASSERT_NEAR(found[e * cube + p], sum, 1e-11 * scale) << "point " << p;
    }
  }
}

TEST_P(OperatorsOf, AffineFactorsGiveWhatStoredOnesGive) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  Space stored(comm, machine, small(0), order), affine(comm, machine, small(0), order, {Factors::affine, false, {}});
  const std::vector<double> u = random_values(stored.points(0));
  Vector in = stored.vector(), one = stored.vector(), other = stored.vector();
  set(stored, in, u);
  for (const double h2 : {0.0, 3.0}) {
    stored.helmholtz(in, one, 1.5, h2);
    affine.helmholtz(in, other, 1.5, h2);
    const std::vector<double> expected = get(stored, one), found = get(affine, other);
    double scale = 0;
    for (const double value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t p = 0; p < found.size(); ++p) ASSERT_NEAR(found[p], expected[p], 1e-12 * scale) << p;
  }
}

TEST_P(OperatorsOf, TrilinearFactorsGiveWhatStoredOnesGive) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  ElementBox box = small(0.06);
  box.straight = true;
  Space stored(comm, machine, box, order), trilinear(comm, machine, box, order, {Factors::trilinear, false, {}});
  Vector in = stored.vector(), one = stored.vector(), other = stored.vector();
  set(stored, in, random_values(stored.points(0)));
  const auto compare = [&](const std::vector<double>& found, const std::vector<double>& expected) {
    double scale = 0;
    for (const double value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t p = 0; p < found.size(); ++p) ASSERT_NEAR(found[p], expected[p], 1e-12 * scale) << p;
  };
  for (const double h2 : {0.0, 3.0}) {
    stored.helmholtz(in, one, 1.5, h2);
    trilinear.helmholtz(in, other, 1.5, h2);
    compare(get(trilinear, other), get(stored, one));
    const Constraint fixed(stored);
    const Vector a = stored.inverse_diagonal(fixed.mask(), 1.5, h2);
    const Vector b = trilinear.inverse_diagonal(fixed.mask(), 1.5, h2);
    compare(get(trilinear, b), get(stored, a));
  }
}

TEST_P(OperatorsOf, GradientsOfPolynomialsAreExactAndMassIsTheirWeight) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  Space space(comm, machine, small(0), order, {Factors::stored, true, {}});
  std::vector<double> u;
  for (const Point& x : space.places(0)) u.push_back(std::pow(x[0], order) * x[1] - 2 * x[2] * x[1]);
  Vector in = space.vector(), dx = space.vector(), dy = space.vector(), dz = space.vector();
  set(space, in, u);
  space.gradient(in, {&dx, &dy, &dz});
  const std::vector<double> gx = get(space, dx), gy = get(space, dy), gz = get(space, dz);
  for (std::size_t p = 0; p < u.size(); ++p) {
    const Point& x = space.places(0)[p];
    ASSERT_NEAR(gx[p], order * std::pow(x[0], order - 1) * x[1], 1e-10);
    ASSERT_NEAR(gy[p], std::pow(x[0], order) - 2 * x[2], 1e-10);
    ASSERT_NEAR(gz[p], -2 * x[1], 1e-10);
  }
  space.mass(in, dx);
  const std::vector<double> weighted = get(space, dx), mass = get(space, space.mass_matrix());
  for (std::size_t p = 0; p < u.size(); ++p) ASSERT_EQ(weighted[p], mass[p] * u[p]);
}

/// Elements sheared and twisted by the map: their Jacobians are neither diagonal nor symmetric.
TEST_P(OperatorsOf, GradientsOfThePlacesAreUnitVectorsOnTwistedElements) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  ElementBox box = small(0);
  box.map = [](std::span<const Point> places) {
    std::vector<Point> there;
    for (const auto& [x, y, z] : places) there.push_back({x + 0.3 * y * z, y + 0.2 * x, z + 0.1 * x * y - 0.4 * y});
    return there;
  };
  Space space(comm, machine_here(backend, 1), box, order, {Factors::stored, true, {}});
  Vector in = space.vector(), slopes[3] = {space.vector(), space.vector(), space.vector()};
  for (std::size_t d = 0; d < 3; ++d) {
    std::vector<double> u;
    for (const Point& x : space.places(0)) u.push_back(x[d]);
    set(space, in, u);
    space.gradient(in, {&slopes[0], &slopes[1], &slopes[2]});
    for (std::size_t a = 0; a < 3; ++a)
      for (const double slope : get(space, slopes[a])) ASSERT_NEAR(slope, a == d ? 1 : 0, 1e-11) << d << ", " << a;
  }
}

/// Polynomial orders for which advection is compiled.
class AdvectedBy : public OperatorsOf {};

/// Advects polynomials of the elements' order: only the finer quadrature rule integrates their product exactly.
TEST_P(AdvectedBy, AdvectionIsTheIntegralOfTheProduct) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  Space space(comm, machine_here(backend, 1), small(0), order, {Factors::stored, true, {}});
  EXPECT_EQ(space.fine_points(), (3 * (order + 1) + 1) / 2);
  Vector c[3] = {space.vector(), space.vector(), space.vector()}, v = space.vector(), out = space.vector();
  Vector fine[3] = {space.fine_vector(), space.fine_vector(), space.fine_vector()};
  std::vector<double> values[3], carried, test;
  const double n = order;
  for (const Point& x : space.places(0)) {
    values[0].push_back(std::pow(x[1], n));
    values[1].push_back(2 * std::pow(x[0], n));
    values[2].push_back(x[0] - 1);
    carried.push_back(std::pow(x[0], n) + x[1] * x[2]);
    test.push_back(std::pow(x[1], n) * x[0]);
  }
  for (int a = 0; a < 3; ++a) set(space, c[a], values[a]);
  set(space, v, carried);
  space.carry({&c[0], &c[1], &c[2]}, {&fine[0], &fine[1], &fine[2]});
  space.advect({&fine[0], &fine[1], &fine[2]}, v, out);
  const std::vector<double> found = get(space, out);
  double sum = 0;
  for (std::size_t p = 0; p < found.size(); ++p) sum += test[p] * found[p];
  // Integral of y^n x (n y^n x^(n-1) + 2 x^n z + (x - 1) y) over [0, 1] x [0, 2] x [0, 1/2].
  const double one = n / (n + 1) * std::pow(2, 2 * n + 1) / (2 * n + 1) / 2;
  const double two = 2 / (n + 2) * std::pow(2, n + 1) / (n + 1) / 8;
  const double three = -1.0 / 6 * std::pow(2, n + 2) / (n + 2) / 2;
  EXPECT_NEAR(sum, one + two + three, 1e-12 * std::pow(4, n));
}

TEST_P(AdvectedBy, WeakDivergenceOfAGradientIsTheStiffness) {
  const auto [backend, order] = GetParam();
  Space space(Communicator::world(), machine_here(backend, 1), small(0.05), order, {Factors::stored, true, {}});
  Vector u = space.vector(), out = space.vector(), g[3] = {space.vector(), space.vector(), space.vector()};
  set(space, u, random_values(space.points(0)));
  space.helmholtz(u, out, 1, 0);
  const std::vector<double> expected = get(space, out);
  space.gradient(u, {&g[0], &g[1], &g[2]});
  space.weak_divergence({&g[0], &g[1], &g[2]}, out);
  const std::vector<double> found = get(space, out);
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t p = 0; p < found.size(); ++p) ASSERT_NEAR(found[p], expected[p], 1e-11 * scale) << p;
}

/// Interpolates values of an element to m^3 points, directly from the formula. `e` holds the polynomials at the points
/// of an edge.
std::vector<double> at_finer(const std::vector<double>& e, std::size_t n, std::size_t m, const std::vector<double>& u) {
  std::vector<double> found(m * m * m, 0);
  for (std::size_t f = 0; f < found.size(); ++f)
    for (std::size_t p = 0; p < u.size(); ++p)
      found[f] += e[f % m * n + p % n] * e[f / m % m * n + p / n % n] * e[f / m / m * n + p / n / n] * u[p];
  return found;
}

TEST_P(OperatorsOf, InterpolationToOtherOrdersTakesThePolynomialToTheirPoints) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  Space from(comm, machine, small(0.05), order);
  const std::vector<double> u = random_values(from.points(0));
  Vector in = from.vector();
  set(from, in, u);
  const Rule rule = gauss_lobatto(order);
  const std::size_t n = rule.points.size(), cube = n * n * n, e = 4;
  for (const int other : {1, 4, 11}) {
    Space to(comm, machine, small(0.05), other);
    Vector out = to.vector();
    to.interpolate(in, from, out);
    const std::vector<double> found = get(to, out);
    const Rule finer = gauss_lobatto(other);
    const std::size_t m = finer.points.size(), there = m * m * m;
    const std::vector<double> expected =
        at_finer(interpolation(rule, finer.points), n, m, {&u[e * cube], &u[e * cube] + cube});
    for (std::size_t p = 0; p < there; ++p) ASSERT_NEAR(found[e * there + p], expected[p], 1e-12) << other << ": " << p;
    // Interpolation to a higher order and back is exact.
    if (other < order) continue;
    Vector back = from.vector();
    from.interpolate(out, to, back);
    const std::vector<double> again = get(from, back);
    for (std::size_t p = 0; p < u.size(); ++p) ASSERT_NEAR(again[p], u[p], 1e-12) << other << ": " << p;
  }
  Space fewer(comm, machine, ElementBox{}, 2);
  Vector none = fewer.vector();
  expect_error([&] { fewer.interpolate(in, from, none); }, ErrorCode::mismatch, {{"problem", "elements"}});
}

TEST_P(OperatorsOf, DivergenceAndCurlAreSumsOfGradients) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  Space space(comm, machine_here(backend, 1), small(0.04), order, {Factors::stored, true, {}});
  Vector u[3] = {space.vector(), space.vector(), space.vector()}, out = space.vector();
  Vector curl[3] = {space.vector(), space.vector(), space.vector()};
  std::vector<double> g[3][3];  // gradient of the vector field u, by [component][axis]
  for (int c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (const Point& x : space.places(0)) values.push_back(std::sin(x[0] + (c + 1) * x[1] - c * x[2]));
    set(space, u[c], values);
    space.gradient(u[c], {&curl[0], &curl[1], &curl[2]});
    for (int a = 0; a < 3; ++a) g[c][a] = get(space, curl[a]);
  }
  space.divergence({&u[0], &u[1], &u[2]}, out);
  space.curl({&u[0], &u[1], &u[2]}, {&curl[0], &curl[1], &curl[2]});
  const std::vector<double> divergence = get(space, out);
  for (std::size_t p = 0; p < divergence.size(); ++p)
    ASSERT_NEAR(divergence[p], g[0][0][p] + g[1][1][p] + g[2][2][p], 1e-12) << p;
  for (int a = 0; a < 3; ++a) {
    const std::vector<double> found = get(space, curl[a]);
    const int b = (a + 1) % 3, c = (a + 2) % 3;
    for (std::size_t p = 0; p < found.size(); ++p) ASSERT_NEAR(found[p], g[c][b][p] - g[b][c][p], 1e-12) << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, OperatorsOf,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(1, 2, 3, 4)));
INSTANTIATE_TEST_SUITE_P(HighOrders, OperatorsOf,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Values(5, 6, 7, 9, 11, 12, 15)));
INSTANTIATE_TEST_SUITE_P(Orders, AdvectedBy,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Range(1, most_advected_order + 1)));

class HighOrdersOf : public testing::TestWithParam<std::tuple<Backend, int>> {};

/// The stiffness operator gives the exact integral of grad u . grad v for polynomials u and v, and 0 for a constant.
TEST_P(HighOrdersOf, StiffnessHasTheEnergyOfAPolynomialAndNoneOfAConstant) {
  const auto [backend, order] = GetParam();
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  for (const Factors factors : {Factors::stored, Factors::affine, Factors::trilinear}) {
    Space space(comm, machine, small(0), order, {factors, true, {}});
    std::vector<double> u, v, slope;
    for (const Point& x : space.places(0)) {
      u.push_back(x[0] * x[0] + 3 * x[1] * x[2]);
      v.push_back(x[0] * x[1]);
      slope.push_back(2 * x[0] + 3 * x[2] + 3 * x[1]);
    }
    Vector in = space.vector(), out = space.vector();
    set(space, in, u);
    space.divergence({&in, &in, &in}, out);
    const std::vector<double> slopes = get(space, out);
    for (std::size_t p = 0; p < slope.size(); ++p) ASSERT_NEAR(slopes[p], slope[p], 1e-10);
    space.helmholtz(in, out, 1, 0);
    const std::vector<double> image = get(space, out);
    double energy = 0;
    for (std::size_t p = 0; p < v.size(); ++p) energy += v[p] * image[p];
    // Integral of grad v . grad u = 2 x y + 3 x z over [0, 1] x [0, 2] x [0, 1/2].
    EXPECT_NEAR(energy, 1.0 + 0.375, 1e-11) << to_string(factors);
    set(space, in, std::vector<double>(u.size(), 1));
    space.helmholtz(in, out, 1, 0);
    for (const double value : get(space, out)) ASSERT_NEAR(value, 0, 1e-11);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, HighOrdersOf,
                         testing::Combine(testing::ValuesIn(backends_here()), testing::Range(2, most_order + 1)));

class OnHostAndGpu : public testing::TestWithParam<std::tuple<Factors, int>> {};

/// Results of a backend for fixed values: operators, terms of a dot product, and dot products.
std::vector<std::vector<double>> made_by(Backend backend, Factors factors, int order) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(backend, 1);
  ElementBox box = small(factors == Factors::affine ? 0 : 0.05);
  box.straight = factors == Factors::trilinear;
  Space space(comm, machine, box, order, {factors, true, {}});
  const Constraint free(space, box.dirichlet(SideFlags{}));
  Vector u = space.vector(), out = space.vector();
  Vector three[3] = {space.vector(), space.vector(), space.vector()};
  set(space, u, random_values(space.points(0)));
  space.assemble(u);
  std::vector<std::vector<double>> all{get(space, u)};
  space.helmholtz(u, out, 0.7, 2.5);
  all.push_back(get(space, out));
  space.mass(u, out);
  all.push_back(get(space, out));
  space.gradient(u, {&three[0], &three[1], &three[2]});
  for (const Vector& one : three) all.push_back(get(space, one));
  Vector curl[3] = {space.vector(), space.vector(), space.vector()};
  // Takes the divergence of (u, du/dx, du/dy), because that of the gradient vanishes if u is linear in an element.
  space.divergence({&u, &three[0], &three[1]}, out);
  all.push_back(get(space, out));
  space.curl({&u, &three[0], &three[1]}, {&curl[0], &curl[1], &curl[2]});
  for (const Vector& one : curl) all.push_back(get(space, one));
  all.push_back(get(space, space.inverse_diagonal(free.mask(), 0.7, 2.5)));
  if (order <= most_advected_order) {
    Vector fine[3] = {space.fine_vector(), space.fine_vector(), space.fine_vector()};
    space.carry({&three[0], &three[1], &three[2]}, {&fine[0], &fine[1], &fine[2]});
    space.advect({&fine[0], &fine[1], &fine[2]}, u, out);
    all.push_back(get(space, out));
  }
  set(space, out, get(space, u));
  space.filter(out, 0.5, 1);
  all.push_back(get(space, out));
  Space other(comm, machine, box, 3);
  Vector there = other.vector();
  other.interpolate(u, space, there);
  all.push_back(get(other, there));
  Vector parts;
  parts.emplace_back(space.streams()[0].device(), static_cast<std::size_t>(space.elements(0)));
  space.apply(pointers(u), pointers(out), 0.7, 2.5, pointers(parts));
  space.gather_scatter().check();
  all.push_back(get(space, out));
  all.push_back(get(space, parts));
  // Two iterations of conjugate gradients suffice: their residuals contain all dot products.
  krylov::Options two;
  two.most_iterations = 2;
  two.must_converge = false;
  Vector x = space.vector();
  all.push_back(solve(space, free, u, x, 0.7, 2.5, two).history);
  return all;
}

TEST_P(OnHostAndGpu, OperatorsAndDotProductsAgree) {
  if (!available(Backend::cuda)) GTEST_SKIP() << "needs a GPU";
  const auto [factors, order] = GetParam();
  const auto host = made_by(Backend::host, factors, order), gpu = made_by(Backend::cuda, factors, order);
  ASSERT_EQ(host.size(), gpu.size());
  for (std::size_t n = 0; n < host.size(); ++n) {
    ASSERT_EQ(host[n].size(), gpu[n].size());
    double largest = 0, off = 0;
    for (std::size_t p = 0; p < host[n].size(); ++p) {
      largest = std::max(largest, std::abs(host[n][p]));
      off = std::max(off, std::abs(gpu[n][p] - host[n][p]));
    }
    EXPECT_GT(largest, 0) << n;
    EXPECT_LE(off, 1e-12 * largest) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, OnHostAndGpu,
                         testing::Combine(testing::Values(Factors::stored, Factors::affine, Factors::trilinear),
                                          testing::Values(1, 2, 4, 7, 9, 11, 12, 15)));

TEST(SemSums, AddUpAsManyTermsAsTheyHoldAndRefuseMore) {
  const Machine machine = machine_here(Backend::host, 1);
  Stream stream(machine.device(0).local);
  const Buffer<double> ones(stream.device(), 3), out(stream.device(), 3);
  for (std::size_t p = 0; p < 3; ++p) ones.data()[p] = static_cast<double>(p);
  Sum sum;
  sum.constant = 100;
  for (int n = 0; n < Sum::most; ++n) sum.add({std::pow(2, n), ones.data(), 1});
  combine(stream, sum, out.data(), 3);
  stream.synchronize();
  for (std::size_t p = 0; p < 3; ++p)
    EXPECT_EQ(out.data()[p], 100 + (std::pow(2, Sum::most) - 1) * (static_cast<double>(p) - 1));
  expect_error([&] { sum.add({1, ones.data(), 0}); }, ErrorCode::unsupported, {{"limit", 8}});
}

TEST(SemRefuses, GradientsWithoutAMetricAndOrdersThatThereAreNot) {
  const Communicator comm = Communicator::world();
  const Machine machine = machine_here(Backend::host, 1);
  Space space(comm, machine, small(0), 2);
  Vector u = space.vector();
  expect_error([&] { space.gradient(u, {&u, &u, &u}); }, ErrorCode::wrong_state, {{"option", "gradient"}});
  const auto bent = [&] { Space none(comm, machine, small(0.05), 3, {Factors::trilinear, false, {}}); };
  expect_error(bent, ErrorCode::unsupported, {{"problem", "trilinear"}});
  for (const int order : {0, most_order + 1})
    expect_error([&] { Space none(comm, machine, small(0), order); }, ErrorCode::invalid_argument,
                 {{"option", "order"}, {"least", least_order}, {"most", most_order}});
}

}  // namespace
}  // namespace slipstream::sem
