// What goes point by point and needs no order at compile time, and the table of orders.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "solver/sem/kernels.hpp"
#include "solver/sem/trilinear.hpp"

namespace slipstream::sem {
inline namespace point_kernels {

/// Rows of points that a launch takes, whatever there are: cells are int, boxes of 2^31 points are not.
constexpr std::int64_t row = 256;
Box rows_of(std::int64_t points) { return {{0, 0, 0}, {row, (points + row - 1) / row, 1}}; }

struct Multiply {
  const double *a, *b;
  double* out;
  std::int64_t points;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p < points) out[p] = a[p] * b[p];
  }
};

struct Combine {
  Sum sum;
  double* out;
  std::int64_t points;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p >= points) return;
    double value = sum.constant;
    for (int n = 0; n < sum.count; ++n)
      value = fma(sum.terms[n].factor, sum.terms[n].vector[p] - sum.terms[n].less, value);
    out[p] = value;
  }
};

struct Extend {
  Extension of;
  double* out;
  std::int64_t points;

  SLIP_FN double at(int axis, int end, const std::int64_t* place) const {
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    return of.values[of.begin[axis][end] + place[a] + of.wide[a] * place[b]];
  }
  /// The weight of a side at a place along its axis.
  SLIP_FN double weight(int axis, int end, std::int64_t place) const {
    if (of.begin[axis][end] < 0) return 0;
    if (of.begin[axis][1 - end] < 0) return 1;
    return end == 1 ? of.shares[axis][place] : 1 - of.shares[axis][place];
  }
  /// The product of the blends along some axes, bits of `axes`: a sum over the sides, edges or corners that they have.
  SLIP_FN double blend(int axes, const std::int64_t* place) const {
    double sum = 0;
    for (int ends = 0; ends < 8; ++ends) {
      if ((ends & ~axes) != 0) continue;
      std::int64_t there[3] = {place[0], place[1], place[2]};
      double factor = 1;
      int side = -1;
      for (int d = 0; d < 3; ++d) {
        if ((axes >> d & 1) == 0) continue;
        const int end = ends >> d & 1;
        factor *= weight(d, end, place[d]);
        there[d] = end == 0 ? 0 : of.wide[d] - 1;
        if (side < 0) side = d;
      }
      if (factor != 0) sum = fma(factor, at(side, ends >> side & 1, there) - of.middle, sum);
    }
    return sum;
  }
  SLIP_FN double extended(const std::int64_t* place) const {
    int dirichlet = 0;
    for (int d = 0; d < 3; ++d)
      for (int end = 0; end < 2; ++end) {
        if (of.begin[d][end] < 0) continue;
        dirichlet |= 1 << d;
        if (place[d] == (end == 0 ? 0 : of.wide[d] - 1)) return at(d, end, place);
      }
    double sum = 0;
    for (int axes = 1; axes < 8; ++axes) {
      if ((axes & ~dirichlet) != 0) continue;
      const int count = (axes & 1) + (axes >> 1 & 1) + (axes >> 2);
      sum = count == 2 ? sum - blend(axes, place) : sum + blend(axes, place);
    }
    return of.middle + sum;
  }
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p >= points) return;
    const std::int64_t n = of.order + 1, element = of.first + p / (n * n * n);
    const std::int64_t place[3] = {element % of.elements[0] * of.order + p % n,
                                   element / of.elements[0] % of.elements[1] * of.order + p / n % n,
                                   element / (of.elements[0] * of.elements[1]) * of.order + p / (n * n) % n};
    out[p] = extended(place);
  }
};

struct Invert {
  double* u;
  const double* mask;
  double otherwise;
  std::int64_t points;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p < points) u[p] = mask[p] == 0 ? otherwise : mask[p] / u[p];
  }
};

/// The greater, or what is no number.
SLIP_FN double worse(double a, double b) { return b <= a || a != a ? a : b; }

struct LargestDifference {
  static constexpr int threads = 256;
  const double *a, *b;
  double* out;
  std::int64_t points, cost;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* const shared = team.template shared<double>();
    team.each([&](int t) {
      double largest = 0;
      for (std::int64_t p = team.index() * threads + t; p < points; p += largest_parts * threads)
        largest = worse(largest, fabs(a[p] - b[p]));
      shared[t] = largest;
    });
    for (int half = threads / 2; half > 0; half /= 2)
      team.each([&](int t) {
        if (t < half) shared[t] = worse(shared[t], shared[t + half]);
      });
    team.each([&](int t) {
      if (t == 0) out[team.index()] = shared[0];
    });
  }
};

/// Along r, then s, then t; between them an element's values lie in shared memory.
struct Interpolate {
  static constexpr int most = most_order + 1, threads = 256;
  double e[most * most];
  int n, m;
  const double* in;
  double* out;
  std::int64_t cost;

  std::size_t shared_bytes() const { return sizeof(double) * static_cast<std::size_t>(m * n * (n + m)); }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double *along_r = team.template shared<double>(), *along_s = along_r + m * n * n;
    const double* const here = in + team.index() * n * n * n;
    double* const there = out + team.index() * m * m * m;
    team.each([&](int t) {
      for (int p = t; p < m * n * n; p += threads) along_r[p] = summed(p % m, here + p / m * n, 1);
    });
    team.each([&](int t) {
      for (int p = t; p < m * m * n; p += threads)
        along_s[p] = summed(p / m % m, along_r + p / (m * m) * (n * m) + p % m, m);
    });
    team.each([&](int t) {
      for (int p = t; p < m * m * m; p += threads) there[p] = summed(p / (m * m), along_s + p % (m * m), m * m);
    });
  }
  SLIP_FN double summed(int f, const double* values, int stride) const {
    double sum = 0;
    for (int l = 0; l < n; ++l) sum = fma(e[f * n + l], values[l * stride], sum);
    return sum;
  }
};

/// The basis function of point (i, j, k) has derivatives along r on its row, along s and t on its files: with g at the
/// points of these, sum_m D_mi^2 G_rr + ..., and at the point itself the mixed products.
struct Diagonal {
  static constexpr int most = most_order + 1;
  double d[most * most], w[most], x[most];
  int n;
  Factors form;
  const double *factors, *mass;
  double* out;
  double h1, h2;

  SLIP_FN double g(int c, int i, int j, int k, std::int64_t e) const {
    if (form == Factors::affine) return w[i] * w[j] * w[k] * factors[e * 6 + c];
    if (form == Factors::trilinear) {
      double all[6];
      trilinear_products(factors + e * 24, x[i], x[j], x[k], w[i] * w[j] * w[k], all);
      return all[c];
    }
    return factors[((e * 6 + c) * n + k) * n * n + j * n + i];
  }
  SLIP_FN void operator()(int i, int jk, int e) const {
    const int j = jk % n, k = jk / n;
    double sum = 0;
    for (int m = 0; m < n; ++m) {
      const double r = d[m * n + i], s = d[m * n + j], t = d[m * n + k];
      sum = fma(r * r, g(0, m, j, k, e), sum);
      sum = fma(s * s, g(3, i, m, k, e), sum);
      sum = fma(t * t, g(5, i, j, m, e), sum);
    }
    const double r = d[i * n + i], s = d[j * n + j], t = d[k * n + k];
    sum += 2 * (r * s * g(1, i, j, k, e) + r * t * g(2, i, j, k, e) + s * t * g(4, i, j, k, e));
    const std::int64_t p = (static_cast<std::int64_t>(e) * n + k) * n * n + j * n + i;
    out[p] = h1 * sum + h2 * mass[p];
  }
};

}  // namespace point_kernels

void multiply(Stream& stream, const double* a, const double* b, double* out, std::int64_t points) {
  launch(stream, rows_of(points), Multiply{a, b, out, points});
}

void combine(Stream& stream, const Sum& sum, double* out, std::int64_t points) {
  launch(stream, rows_of(points), Combine{sum, out, points});
}

void Sum::add(const Term& term) {
  if (!(count < most))
    throw Error(ErrorCode::unsupported,
                "a sum of vectors has more than " + std::to_string(most) + " terms: add them up in two sums",
                {{"limit", most}});
  terms[count++] = term;
}

void extend(Stream& stream, const Extension& extension, double* out, std::int64_t points) {
  launch(stream, rows_of(points), Extend{extension, out, points});
}

void invert(Stream& stream, double* u, const double* mask, double otherwise, std::int64_t points) {
  launch(stream, rows_of(points), Invert{u, mask, otherwise, points});
}

void largest_difference(Stream& stream, const double* a, const double* b, double* out, std::int64_t points) {
  using Kernel = LargestDifference;
  launch_teams(stream, largest_parts, Kernel::threads, sizeof(double) * Kernel::threads,
               Kernel{a, b, out, points, 2 * points / largest_parts});
}

void interpolate(Stream& stream, const InterpolateCall& call) {
  Interpolate kernel{{}, call.n, call.m, call.in, call.out, 2 * call.m * call.m * call.m};
  std::copy(call.matrix.begin(), call.matrix.end(), kernel.e);
  launch_teams(stream, call.elements, Interpolate::threads, kernel.shared_bytes(), kernel);
}

void diagonal(Stream& stream, const HelmholtzCall& call) {
  const std::int64_t n = call.rule->order + 1;
  Diagonal kernel{{}, {}, {}, static_cast<int>(n), call.form, call.factors, call.mass, call.out, call.h1, call.h2};
  std::copy(call.rule->points.begin(), call.rule->points.end(), kernel.x);
  std::copy(call.rule->derivative.begin(), call.rule->derivative.end(), kernel.d);
  std::copy(call.rule->weights.begin(), call.rule->weights.end(), kernel.w);
  launch(stream, {{0, 0, 0}, {n, n * n, call.elements}}, kernel);
}

const OrderKernels& order_kernels(int order) {
  static const OrderKernels table[] = {kernels_of<1>(), kernels_of<2>(),  kernels_of<3>(), kernels_of<4>(),
                                       kernels_of<5>(), kernels_of<6>(),  kernels_of<7>(), kernels_of<8>(),
                                       kernels_of<9>(), kernels_of<10>(), kernels_of<11>()};
  if (!(order >= least_order && order <= most_order))
    throw Error(ErrorCode::unsupported, "there are no kernels of order " + std::to_string(order),
                {{"option", "order"}, {"given", order}});
  return table[order - 1];
}

}  // namespace slipstream::sem
