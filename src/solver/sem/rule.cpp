// Gauss-Lobatto-Legendre points by Newton's method, their derivative matrix and interpolation by Lagrange polynomials.
#include <cmath>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/sem.hpp>

#include "solver/sem/kernels.hpp"
#include "solver/sem/rule.hpp"

namespace slipstream::sem {
namespace {

/// Values at x of Legendre's polynomial of degree `degree`, and of the one of the degree below.
struct Legendre {
  double value = 1, before = 0;
  Legendre(int degree, double x) {
    for (int n = 0; n < degree; ++n) {
      const double next = ((2 * n + 1) * x * value - n * before) / (n + 1);
      before = value;
      value = next;
    }
  }
};

/// Inner points are the zeros of L_N'. Newton's step on (1 - x^2) L_N' is (x L_N - L_{N-1}) / ((N + 1) L_N). Proof: (1
/// - x^2) L_N' = N (L_{N-1} - x L_N), and (1 - x^2) L_N'' = 2 x L_N' - N (N + 1) L_N.
double inner_point(int order, int i) {
  double x = -std::cos(std::numbers::pi * i / order);
  for (int step = 0; step < 50; ++step) {
    const Legendre l(order, x);
    const double change = (x * l.value - l.before) / ((order + 1) * l.value);
    x -= change;
    if (std::abs(change) < 1e-16) break;
  }
  return x;
}

}  // namespace

Rule lobatto_of_any_order(int order) {
  const std::size_t n = static_cast<std::size_t>(order) + 1;
  Rule rule{order, std::vector<double>(n), std::vector<double>(n), std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    // Points are exact mirror images, so that both halves have the same bits.
    const std::size_t mirror = n - 1 - i;
    if (i < mirror) rule.points[i] = i == 0 ? -1 : inner_point(order, static_cast<int>(i));
    if (i > mirror) rule.points[i] = -rule.points[mirror];
  }
  std::vector<double> legendre(n);
  for (std::size_t i = 0; i < n; ++i) {
    legendre[i] = Legendre(order, rule.points[i]).value;
    rule.weights[i] = 2 / (order * (order + 1) * legendre[i] * legendre[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    double row = 0;
    for (std::size_t m = 0; m < n; ++m) {
      if (m == i) continue;
      const double d = legendre[i] / (legendre[m] * (rule.points[i] - rule.points[m]));
      rule.derivative[i * n + m] = d;
      row += d;
    }
    rule.derivative[i * n + i] = -row;  // the derivative of a constant becomes exactly zero
  }
  return rule;
}

double largest_stiffness(const Rule& rule) {
  const std::size_t n = rule.points.size();
  std::vector<double> u(n);
  // Power iteration starts from an odd function that is steepest at the ends, as is the mode of the largest eigenvalue.
  for (std::size_t i = 0; i < n; ++i) u[i] = rule.points[i] * (i % 2 == 0 ? 1 : -1) + 0.5 * rule.points[i];
  double found = 0;
  for (int step = 0; step < 200; ++step) {
    std::vector<double> slope(n, 0.0), image(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t m = 0; m < n; ++m) slope[i] += rule.derivative[i * n + m] * u[m];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t m = 0; m < n; ++m) image[m] += rule.derivative[i * n + m] * rule.weights[i] * slope[i];
    double size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      image[i] /= rule.weights[i];
      size += rule.weights[i] * image[i] * image[i];
    }
    found = std::sqrt(size);
    for (std::size_t i = 0; i < n; ++i) u[i] = image[i] / found;
  }
  return found;
}

Rule gauss_lobatto(int order) {
  require(order >= least_order && order <= most_order,
          "elements of order " + std::to_string(order) + ": orders are from " + std::to_string(least_order) + " to " +
              std::to_string(most_order),
          {{"option", "order"}, {"given", order}, {"least", least_order}, {"most", most_order}});
  return lobatto_of_any_order(order);
}

FineRule fine_rule(const Rule& rule, int points) {
  const Rule fine = lobatto_of_any_order(points - 1);
  FineRule found{points, interpolation(rule, fine.points), {}, fine.weights};
  const std::size_t n = rule.points.size();
  for (std::size_t f = 0; f < fine.points.size(); ++f)
    for (std::size_t m = 0; m < n; ++m) {
      double slope = 0;
      for (std::size_t l = 0; l < n; ++l) slope += found.value[f * n + l] * rule.derivative[l * n + m];
      found.slope.push_back(slope);
    }
  return found;
}

std::vector<double> modal_filter(const Rule& rule, std::span<const double> factors) {
  const std::size_t n = rule.points.size();
  require(
      factors.size() == n, ErrorCode::mismatch,
      "a filter of order " + std::to_string(rule.order) + " has a factor for each of " + std::to_string(n) + " modes",
      {{"option", "factors"}, {"given", factors.size()}, {"needed", n}});
  // The modes are orthogonal in the quadrature, except that the square of the last one is inexact and gives 2 / order.
  // The filter is 1 minus the damped parts, so that modes with factor 1 get no rounding errors.
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    if (factors[k] == 1) continue;
    const int degree = static_cast<int>(k);
    const double size = degree == rule.order ? 2.0 / rule.order : 2.0 / (2 * degree + 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t m = 0; m < n; ++m)
        matrix[i * n + m] -= (1 - factors[k]) / size * Legendre(degree, rule.points[i]).value *
                             Legendre(degree, rule.points[m]).value * rule.weights[m];
  }
  return matrix;
}

std::vector<double> interpolation(const Rule& from, std::span<const double> to) {
  const std::vector<double>& x = from.points;
  std::vector<double> matrix;
  for (const double y : to)
    for (std::size_t m = 0; m < x.size(); ++m) {
      double value = 1;
      for (std::size_t l = 0; l < x.size(); ++l)
        if (l != m) value *= (y - x[l]) / (x[m] - x[l]);
      matrix.push_back(value);
    }
  return matrix;
}

}  // namespace slipstream::sem
