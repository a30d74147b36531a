// Pointwise kernels, which need no order at compile time, and the table of orders.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "solver/sem/element_kernels.hpp"
#include "solver/sem/kernels.hpp"

namespace slipstream::sem {
inline namespace point_kernels {

/// Number of points in a row of a launch, because cell coordinates are int and points may exceed 2^31.
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

struct InverseSpacing {
  const double* metric;
  double *out, rate;
  std::int64_t cube, elements;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t e = j * row + i;
    if (e >= elements) return;
    double most = 0;
    for (std::int64_t p = 0; p < cube; ++p) {
      double sum = 0;
      for (int m = 0; m < 9; ++m) {
        const double slope = metric[(9 * e + m) * cube + p];
        sum = fma(slope, slope, sum);
      }
      if (sum > most) most = sum;
    }
    for (std::int64_t p = 0; p < cube; ++p) out[e * cube + p] = 1 / (rate * most);
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
  /// Blending weight of a side at a position along its axis.
  SLIP_FN double weight(int axis, int end, std::int64_t place) const {
    if (of.begin[axis][end] < 0) return 0;
    if (of.begin[axis][1 - end] < 0) return 1;
    return end == 1 ? of.shares[axis][place] : 1 - of.shares[axis][place];
  }
  /// Term of a transfinite interpolation of boundary values: blends linearly along the axes whose bits `axes` has.
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

/// The larger of two values, or NaN if one is NaN.
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

struct ScaleFactors {
  const double *factors, *kappa;
  double* out;
  std::int64_t cube, values;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t p = j * row + i;
    if (p < values) out[p] = factors[p] * kappa[p / (6 * cube) * cube + p % cube];
  }
};

struct LargestRates {
  static constexpr int most = most_order + 1, threads = 64;
  const double* c[3];
  const double* metric;
  double nearest[most];
  int n;
  double* out;
  std::int64_t cost;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double *const rates = team.template shared<double>(), *const points = rates + threads;
    const std::int64_t cube = std::int64_t{n} * n * n, first = team.index() * cube;
    const double* const grad = metric + team.index() * 9 * cube;
    team.each([&](int t) {
      double largest = -1, at = 0;
      for (std::int64_t p = t; p < cube; p += threads) {
        const std::int64_t place[3] = {p % n, p / n % n, p / (n * n)};
        double rate = 0;
        for (int a = 0; a < 3; ++a) {
          double along = 0;
          for (int d = 0; d < 3; ++d) along = fma(c[d][first + p], grad[(3 * a + d) * cube + p], along);
          rate += fabs(along) / nearest[place[a]];
        }
        if (rate <= largest) continue;
        largest = rate;
        at = static_cast<double>(p);
      }
      rates[t] = largest;
      points[t] = at;
    });
    for (int half = threads / 2; half > 0; half /= 2)
      team.each([&](int t) {
        if (t >= half || !(rates[t + half] > rates[t] || (rates[t + half] == rates[t] && points[t + half] < points[t])))
          return;
        rates[t] = rates[t + half];
        points[t] = points[t + half];
      });
    team.each([&](int t) {
      if (t > 0) return;
      out[2 * team.index()] = rates[0];
      out[2 * team.index() + 1] = points[0];
    });
  }
};

struct Evaluate {
  EvaluateCall of;
  SLIP_FN void operator()(int p, int, int) const {
    const int n = of.n;
    const double *r = of.weights + static_cast<std::int64_t>(p) * 3 * n, *s = r + n, *t = s + n;
    const double* u = of.in + of.element[p] * n * n * n;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
      double plane = 0;
      for (int j = 0; j < n; ++j) {
        double line = 0;
        for (int i = 0; i < n; ++i) line = fma(r[i], *u++, line);
        plane = fma(s[j], line, plane);
      }
      sum = fma(t[k], plane, sum);
    }
    of.out[p] = sum;
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

void interpolate(Stream& stream, const InterpolateCall& call) { run_interpolate(stream, call); }

void scale_factors(Stream& stream, const double* factors, const double* kappa, double* out, std::int64_t cube,
                   std::int64_t elements) {
  const std::int64_t values = 6 * cube * elements;
  launch(stream, rows_of(values), ScaleFactors{factors, kappa, out, cube, values});
}

void inverse_spacing(Stream& stream, const double* metric, double rate, std::int64_t cube, double* out,
                     std::int64_t elements) {
  if (elements > 0) launch(stream, rows_of(elements), InverseSpacing{metric, out, rate, cube, elements});
}

void largest_rates(Stream& stream, const double* const* c, const double* metric, const std::vector<double>& nearest,
                   double* out, std::int64_t elements) {
  using Kernel = LargestRates;
  const auto n = static_cast<int>(nearest.size());
  Kernel kernel{{c[0], c[1], c[2]}, metric, {}, n, out, 12 * n * n * n};
  std::copy(nearest.begin(), nearest.end(), kernel.nearest);
  launch_teams(stream, elements, Kernel::threads, 2 * sizeof(double) * Kernel::threads, kernel);
}

void evaluate(Stream& stream, const EvaluateCall& call) {
  if (call.points > 0) launch(stream, {{0, 0, 0}, {call.points, 1, 1}}, Evaluate{call});
}

void diagonal(Stream& stream, const HelmholtzCall& call) { run_diagonal(stream, call); }

const OrderKernels& order_kernels(int order) {
  static const OrderKernels table[] = {kernels_of<1>(),  kernels_of<2>(),  kernels_of<3>(),  kernels_of<4>(),
                                       kernels_of<5>(),  kernels_of<6>(),  kernels_of<7>(),  kernels_of<8>(),
                                       kernels_of<9>(),  kernels_of<10>(), kernels_of<11>(), kernels_of<12>(),
                                       kernels_of<13>(), kernels_of<14>(), kernels_of<15>()};
  if (!(order >= least_order && order <= most_order))
    throw Error(ErrorCode::unsupported, "there are no kernels of order " + std::to_string(order),
                {{"option", "order"}, {"given", order}});
  return table[order - 1];
}

}  // namespace slipstream::sem
