// Advection with over-integration, compared with sums written directly from the formula.
#include <gtest/gtest.h>

#include <cmath>

#include <slipstream/sem.hpp>

#include "solver/sem/rule.hpp"
#include "support/expect_error.hpp"
#include "support/machine_rig.hpp"
#include "support/sem_rig.hpp"

namespace slipstream::sem {
namespace {

/// Weak advection term of a scalar v by the velocity c from the solver: carry() interpolates c, advect() integrates.
std::vector<double> advected(Space& space, const std::array<std::vector<double>, 3>& c, const std::vector<double>& v) {
  Vector in[3] = {space.vector(), space.vector(), space.vector()}, carried = space.vector(), out = space.vector();
  Vector fine[3] = {space.fine_vector(), space.fine_vector(), space.fine_vector()};
  for (std::size_t a = 0; a < 3; ++a) set(space, in[a], c[a]);
  set(space, carried, v);
  space.carry({&in[0], &in[1], &in[2]}, {&fine[0], &fine[1], &fine[2]});
  space.advect({&fine[0], &fine[1], &fine[2]}, carried, out);
  return get(space, out);
}

/// Applies a matrix, stored by rows, along one axis of values in a cube or a box, r fastest.
std::vector<double> along(const std::vector<double>& matrix, std::size_t columns, const std::vector<double>& u,
                          std::size_t stride) {
  const std::size_t rows = matrix.size() / columns, blocks = u.size() / (stride * columns);
  std::vector<double> found(blocks * rows * stride, 0.0);
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t f = 0; f < rows; ++f)
      for (std::size_t l = 0; l < columns; ++l)
        for (std::size_t s = 0; s < stride; ++s)
          found[(b * rows + f) * stride + s] += matrix[f * columns + l] * u[(b * columns + l) * stride + s];
  return found;
}

/// Integral of phi c . grad v over an element for all phi, by a quadrature of m points per edge. The metric is that of
/// the polynomials through the element's nodes.
std::vector<double> weak_form(const Rule& rule, std::size_t m, const Point* x, const double* const* c,
                              const double* v) {
  const std::size_t n = rule.points.size(), cube = n * n * n;
  const Rule finer = lobatto_of_any_order(static_cast<int>(m) - 1);
  const std::vector<double> value = interpolation(rule, finer.points);
  std::vector<double> slope(m * n, 0.0), back(n * m);
  for (std::size_t f = 0; f < m; ++f)
    for (std::size_t p = 0; p < n; ++p) {
      back[p * m + f] = value[f * n + p];
      for (std::size_t l = 0; l < n; ++l) slope[f * n + p] += value[f * n + l] * rule.derivative[l * n + p];
    }
  // Interpolates along t, then s, then r: the strides n * n, n and 1 hold in this order.
  const auto to_finer = [&](const std::vector<double>& u, int axis) {
    return along(axis == 0 ? slope : value, n,
                 along(axis == 1 ? slope : value, n, along(axis == 2 ? slope : value, n, u, n * n), n), 1);
  };
  constexpr int none = 3;
  std::vector<double> places[3], slopes[3][3], fine_c[3], fine_v[3];
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t p = 0; p < cube; ++p) places[d].push_back(x[p][d]);
    fine_c[d] = to_finer({c[d], c[d] + cube}, none);
    fine_v[d] = to_finer({v, v + cube}, static_cast<int>(d));
    for (std::size_t a = 0; a < 3; ++a) slopes[a][d] = to_finer(places[d], static_cast<int>(a));
  }
  std::vector<double> product(m * m * m, 0.0);
  for (std::size_t f = 0; f < product.size(); ++f)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t d = 0; d < 3; ++d) {
        const std::size_t p = (a + 1) % 3, q = (a + 2) % 3, y = (d + 1) % 3, z = (d + 2) % 3;
        const double part = slopes[p][y][f] * slopes[q][z][f] - slopes[p][z][f] * slopes[q][y][f];
        product[f] += finer.weights[f % m] * finer.weights[f / m % m] * finer.weights[f / m / m] * part * fine_c[d][f] *
                      fine_v[a][f];
      }
  return along(back, m, along(back, m, along(back, m, product, m * m), m), 1);
}

/// A box of deformed elements, or one sheared by a map so that its elements are parallelepipeds.
ElementBox box_of_shape(double deform, bool sheared) {
  ElementBox box;
  box.elements = {4, 4, 4};
  box.deform = deform;
  if (sheared)
    box.map = [](std::span<const Point> places) {
      std::vector<Point> there;
      for (const auto& [x, y, z] : places) there.push_back({x + 0.3 * y, y - 0.2 * z, z + 0.1 * x});
      return there;
    };
  return box;
}

struct Smooth {
  std::array<std::vector<double>, 3> c;
  std::vector<double> v;
  explicit Smooth(const std::vector<Point>& places) {
    for (const auto& [x, y, z] : places) {
      for (std::size_t q = 0; q < 3; ++q) c[q].push_back(std::cos(3 * x + 2 * y - z + static_cast<double>(q)));
      v.push_back(std::sin(4 * x - 3 * y + 2 * z));
    }
  }
};

/// Relative error (root mean square) of an element's advection integrals, compared with a sum by the formula.
double distance(Space& space, std::size_t element, const Smooth& fields, const std::vector<double>& found,
                std::size_t points) {
  const std::size_t cube = static_cast<std::size_t>(space.points_per_element()), from = element * cube;
  const double* const c[3] = {&fields.c[0][from], &fields.c[1][from], &fields.c[2][from]};
  const std::vector<double> expected =
      weak_form(gauss_lobatto(space.order()), points, &space.places(0)[from], c, &fields.v[from]);
  double off = 0, size = 0;
  for (std::size_t p = 0; p < cube; ++p) {
    off += (found[from + p] - expected[p]) * (found[from + p] - expected[p]);
    size += expected[p] * expected[p];
  }
  return std::sqrt(off / size);
}

constexpr std::size_t second_of_each = 1 + 4 * (1 + 4 * 1);

class AdvectionOf : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(AdvectionOf, BentElementsIsTheSumOverTheFinerPoints) {
  const auto [backend, order] = GetParam();
  for (const Factors factors : {Factors::stored, Factors::affine}) {
    const bool affine = factors == Factors::affine;
    Space space(Communicator::world(), machine_here(backend, 1), box_of_shape(affine ? 0 : 0.05, affine), order,
                {factors, false, {}});
    const Smooth fields(space.places(0));
    const std::vector<double> found = advected(space, fields.c, fields.v);
    for (const std::size_t element : {std::size_t{0}, second_of_each, std::size_t{63}})
      EXPECT_LT(distance(space, element, fields, found, static_cast<std::size_t>(space.fine_points())), 1e-12)
          << to_string(factors) << ", element " << element;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, AdvectionOf,
                         testing::Combine(testing::ValuesIn(backends_here()),
                                          testing::Values(1, 2, 3, 6, 7, most_advected_order)));

TEST(SemAdvection, IsRefusedAboveItsOrders) {
  Space space(Communicator::world(), machine_here(Backend::host, 1), {}, most_advected_order + 1);
  Vector u = space.vector();
  for (const auto& call : {std::function<void()>([&] { space.fine_vector(); }), {[&] {
                             space.weak_divergence({&u, &u, &u}, u);
                           }}})
    expect_error(call, ErrorCode::unsupported,
                 {{"option", "order"}, {"given", most_advected_order + 1}, {"most", most_advected_order}});
}

/// Quadrature at the elements' own points would leave errors of 2.4e-3, 1.1e-4 and 2.8e-6 at orders 3, 5 and 7.
TEST(Advection, HasFewAliasesOnBentElementsAndNoneOnParallelepipeds) {
  struct Row {
    int order;
    double deform, most;
  };
  for (const Row& row :
       {Row{3, 0.1, 2.5e-5}, {5, 0.1, 2.6e-8}, {7, 0.1, 2e-11}, {7, 0.05, 1e-12}, {3, 0, 1e-13}, {7, 0, 1e-13}}) {
    Space space(Communicator::world(), machine_here(Backend::host, 1), box_of_shape(row.deform, row.deform == 0),
                row.order);
    const Smooth fields(space.places(0));
    const std::vector<double> found = advected(space, fields.c, fields.v);
    const auto n = static_cast<std::size_t>(row.order) + 1;
    EXPECT_LT(distance(space, second_of_each, fields, found, 4 * n), row.most)
        << "order " << row.order << ", bent by " << row.deform;
  }
}

}  // namespace
}  // namespace slipstream::sem
