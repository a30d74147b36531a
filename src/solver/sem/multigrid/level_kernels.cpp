#include "solver/sem/multigrid/level_kernels.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/common/by_points.hpp"
#include "solver/sem/element_kernels.hpp"
#include "solver/sem/trilinear.hpp"

namespace slipstream::sem {
inline namespace level_kernels {

constexpr int most_points = most_order + 1;

template <class T>
struct PointsOfRule {
  T w[most_points], x[most_points];
  explicit PointsOfRule(const Rule& rule) : w{}, x{} {
    std::copy(rule.weights.begin(), rule.weights.end(), w);
    std::copy(rule.points.begin(), rule.points.end(), x);
  }
};

struct Densities {
  PointsOfRule<double> rule;
  int n;
  Factors form;
  const double *factors, *mass;
  float *to_factors, *to_mass;
  SLIP_FN void operator()(std::int64_t point) const {
    const std::int64_t cube = n * n * n, element = point / cube, p = point % cube;
    const auto i = static_cast<int>(p % n), j = static_cast<int>(p / n % n), k = static_cast<int>(p / (n * n));
    const double w = rule.w[i] * rule.w[j] * rule.w[k];
    double g[6];
    if (form == Factors::trilinear) {
      trilinear_products(factors + element * 24, rule.x[i], rule.x[j], rule.x[k], 1, g);
    } else {
      for (int c = 0; c < 6; ++c)
        g[c] = form == Factors::affine ? factors[element * 6 + c] : factors[(element * 6 + c) * cube + p] / w;
    }
    for (int c = 0; c < 6; ++c) to_factors[(element * 6 + c) * cube + p] = static_cast<float>(g[c]);
    to_mass[point] = static_cast<float>(mass[point] / w);
  }
};

struct Weigh {
  PointsOfRule<float> rule;
  int n;
  float* values;
  SLIP_FN void operator()(std::int64_t at) const {
    const std::int64_t p = at % (n * n * n);
    values[at] *= rule.w[p % n] * rule.w[p / n % n] * rule.w[p / (n * n)];
  }
};

struct BoxCoefficients {
  int n;
  const float *factors, *mass;
  float* four;
  SLIP_FN void operator()(std::int64_t at) const {
    const std::int64_t element = at / 4, cube = n * n * n;
    const int which = static_cast<int>(at % 4);
    const int place = which == 1 ? 3 : which == 2 ? 5 : 0;
    const float* from = which == 3 ? mass + element * cube : factors + (element * 6 + place) * cube;
    double sum = 0;
    for (int p = 0; p < cube; ++p) sum += static_cast<double>(from[p]);
    four[at] = static_cast<float>(sum / 8);
  }
};

/// Computes an element's Helmholtz matrix for the trilinear basis functions of its corners, one thread per entry.
struct CornerMatrices {
  PointsOfRule<float> rule;
  int n;
  const float *factors, *mass;
  float h1, h2;
  float* out;

  struct Function {
    float value, gradient[3];
  };
  SLIP_FN Function function(int corner, const float* at) const {
    float along[3], slope[3];
    for (int d = 0; d < 3; ++d) {
      const float sign = corner >> d & 1 ? 1.0F : -1.0F;
      along[d] = 0.5F * (1 + sign * at[d]);
      slope[d] = 0.5F * sign;
    }
    return {along[0] * along[1] * along[2],
            {slope[0] * along[1] * along[2], along[0] * slope[1] * along[2], along[0] * along[1] * slope[2]}};
  }
  SLIP_FN void operator()(std::int64_t entry) const {
    const std::int64_t element = entry / 64, cube = n * n * n;
    const int row = static_cast<int>(entry / 8 % 8), column = static_cast<int>(entry % 8);
    double stiffness = 0, weight = 0;
    for (int p = 0; p < cube; ++p) {
      const float at[3] = {rule.x[p % n], rule.x[p / n % n], rule.x[p / (n * n)]};
      const Function a = function(row, at), b = function(column, at);
      float g[6];
      for (int c = 0; c < 6; ++c) g[c] = factors[(element * 6 + c) * cube + p];
      const float x = fma(g[0], b.gradient[0], fma(g[1], b.gradient[1], g[2] * b.gradient[2]));
      const float y = fma(g[1], b.gradient[0], fma(g[3], b.gradient[1], g[4] * b.gradient[2]));
      const float z = fma(g[2], b.gradient[0], fma(g[4], b.gradient[1], g[5] * b.gradient[2]));
      stiffness += static_cast<double>(fma(a.gradient[0], x, fma(a.gradient[1], y, a.gradient[2] * z)));
      weight += static_cast<double>(mass[element * cube + p] * a.value * b.value);
    }
    out[entry] = static_cast<float>(static_cast<double>(h1) * stiffness + static_cast<double>(h2) * weight);
  }
};

/// Index of a point in the layer next to face f of an element; p counts points within the face.
SLIP_FN std::int64_t second_layer(int n, int f, int p) {
  const int a = p % n, b = p / n, layer = f % 2 == 0 ? 1 : n - 2;
  return f < 2 ? layer + n * (a + n * b) : f < 4 ? a + n * (layer + n * b) : a + n * (b + n * layer);
}

struct SecondLayers {
  int n;
  const float *r, *weights;
  float* faces;
  SLIP_FN void operator()(std::int64_t at) const {
    const int square = n * n, f = static_cast<int>(at / square % 6);
    const std::int64_t point = at / (6 * square) * (n * square) + second_layer(n, f, static_cast<int>(at % square));
    faces[at] = weights[point] * r[point];
  }
};

struct AddSecondLayers {
  int n;
  const float *sums, *ends;
  float* z;
  SLIP_FN void operator()(std::int64_t point) const {
    const int square = n * n, cube = n * square, p = static_cast<int>(point % cube);
    const int at[3] = {p % n, p / n % n, p / square};
    const std::int64_t first = point / cube * 6;
    float sum = z[point];
    for (int axis = 0; axis < 3; ++axis) {
      const int a = axis == 0 ? at[1] : at[0], b = axis == 2 ? at[1] : at[2];
      for (int end = 0; end < 2; ++end) {
        if (at[axis] != (end == 0 ? 1 : n - 2)) continue;
        const std::int64_t face = (first + 2 * axis + end) * square + a + n * b;
        sum += sums[face] - ends[face];
      }
    }
    z[point] = sum;
  }
};

struct Beyond {
  int n;
  const float *u, *sums;
  float* ends;
  SLIP_FN void operator()(std::int64_t at) const {
    const int square = n * n, f = static_cast<int>(at / square % 6);
    ends[at] = sums[at] - u[at / (6 * square) * (n * square) + second_layer(n, f, static_cast<int>(at % square))];
  }
};

struct OverRoot {
  float* u;
  const float* flags;
  SLIP_FN void operator()(std::int64_t p) const { u[p] = flags[p] == 0 ? 0 : 1 / sqrtf(u[p]); }
};

struct Ones {
  const float* flags;
  float* to;
  SLIP_FN void operator()(std::int64_t p) const { to[p] = flags[p] == 0 ? 0 : 1; }
};

template <class From, class To>
struct Convert {
  const From* from;
  To* to;
  SLIP_FN void operator()(std::int64_t p) const { to[p] = static_cast<To>(from[p]); }
};

struct MultiplySingle {
  const float *a, *b;
  float* out;
  SLIP_FN void operator()(std::int64_t p) const { out[p] = a[p] * b[p]; }
};

struct InvertSingle {
  float* u;
  const float* flags;
  SLIP_FN void operator()(std::int64_t p) const { u[p] = flags[p] == 0 ? 0 : 1 / u[p]; }
};

struct Add {
  const float* d;
  float* z;
  SLIP_FN void operator()(std::int64_t p) const { z[p] += d[p]; }
};

struct Subtract {
  const float* q;
  float* r;
  SLIP_FN void operator()(std::int64_t p) const { r[p] -= q[p]; }
};

struct MakeChange {
  Change of;
  SLIP_FN void operator()(std::int64_t p) const {
    float s = of.s[p];
    if (of.q != nullptr) {
      s -= of.q[p];
      of.s[p] = s;
    }
    const float change = of.b * (of.w != nullptr ? of.w[p] * s : s);
    const float d = of.first ? change : fma(of.a, of.d[p], change);
    of.d[p] = d;
    of.z[p] = of.first ? d : of.z[p] + d;
  }
};

struct Entries {
  const float* matrices;
  int offset;
  float* to;
  SLIP_FN void operator()(std::int64_t at) const {
    const int corner = static_cast<int>(at % 8);
    int other = 0;
    bool inside = true;
    for (int d = 0, rest = offset; d < 3; ++d, rest /= 3) {
      const int there = (corner >> d & 1) + rest % 3 - 1;
      inside = inside && (there == 0 || there == 1);
      other |= there << d;
    }
    to[at] = inside ? matrices[at * 8 + other] : 0;
  }
};

struct FromVertices {
  Vertices vertices;
  std::int64_t first;
  const float* values;
  float* to;
  SLIP_FN void operator()(std::int64_t at) const {
    to[at] = values[vertices.of(first + at / 8, static_cast<int>(at % 8))];
  }
};

struct ApplyStencil {
  Vertices vertices;
  std::int64_t all;
  const float *stencil, *free, *in;
  float* out;
  SLIP_FN void operator()(std::int64_t v) const {
    if (free[v] == 0) {
      out[v] = 0;
      return;
    }
    const std::int64_t* n = vertices.count;
    const std::int64_t at[3] = {v % n[0], v / n[0] % n[1], v / (n[0] * n[1])};
    float sum = 0;
    for (int offset = 0; offset < 27; ++offset) {
      const float entry = stencil[offset * all + v];
      if (entry == 0) continue;
      const std::int64_t x = (at[0] + offset % 3 - 1 + n[0]) % n[0], y = (at[1] + offset / 3 % 3 - 1 + n[1]) % n[1];
      const std::int64_t z = (at[2] + offset / 9 - 1 + n[2]) % n[2], there = x + n[0] * (y + n[1] * z);
      sum = fma(entry * free[there], in[there], sum);
    }
    out[v] = sum;
  }
};

struct AlongAxis {
  Along of;
  std::int64_t count[3];
  SLIP_FN void operator()(std::int64_t v) const {
    const std::int64_t step = of.axis == 0 ? 1 : of.axis == 1 ? count[0] : count[0] * count[1];
    const std::int64_t n = count[of.axis], here = v / step % n, first = v - here * step;
    float sum = 0;
    for (std::int64_t k = 0; k < n; ++k)
      sum = fma(of.matrix[of.transposed ? k * n + here : here * n + k], of.in[first + k * step], sum);
    of.out[v] = of.inverse ? of.inverse[v] * sum : sum;
  }
};

std::int64_t cube_of(int n) { return std::int64_t{n} * n * n; }
int points_of(const Rule& rule) { return rule.order + 1; }

}  // namespace level_kernels

void densities(Stream& stream, const HelmholtzCall& from, float* factors, float* mass) {
  const int n = points_of(*from.rule);
  by_points(stream, from.elements * cube_of(n),
            Densities{PointsOfRule<double>(*from.rule), n, from.form, from.factors, from.mass, factors, mass});
}

void interpolate(Stream& stream, const InterpolateCallOf<float>& call) { run_interpolate(stream, call); }

void weigh(Stream& stream, const Rule& rule, int values_of_a_point, float* values, std::int64_t elements) {
  const int n = points_of(rule);
  by_points(stream, elements * values_of_a_point * cube_of(n), Weigh{PointsOfRule<float>(rule), n, values});
}

void coefficients(Stream& stream, const HelmholtzCallOf<float>& of, float* four) {
  by_points(stream, 4 * of.elements, BoxCoefficients{points_of(*of.rule), of.factors, of.mass, four});
}

void diagonal(Stream& stream, const HelmholtzCallOf<float>& of) { run_diagonal(stream, of); }

void corner_matrices(Stream& stream, const HelmholtzCallOf<float>& of, float* matrices) {
  by_points(
      stream, 64 * of.elements,
      CornerMatrices{PointsOfRule<float>(*of.rule), points_of(*of.rule), of.factors, of.mass, of.h1, of.h2, matrices});
}

void second_layers(Stream& stream, int n, const float* r, const float* weights, float* faces, std::int64_t elements) {
  by_points(stream, elements * 6 * n * n, SecondLayers{n, r, weights, faces});
}
void add_second_layers(Stream& stream, int n, const float* sums, const float* ends, float* z, std::int64_t elements) {
  by_points(stream, elements * cube_of(n), AddSecondLayers{n, sums, ends, z});
}
void beyond(Stream& stream, int n, const float* u, const float* sums, float* ends, std::int64_t elements) {
  by_points(stream, elements * 6 * n * n, Beyond{n, u, sums, ends});
}
void over_root(Stream& stream, float* u, const float* flags, std::int64_t points) {
  by_points(stream, points, OverRoot{u, flags});
}
void ones(Stream& stream, const float* flags, float* to, std::int64_t points) {
  by_points(stream, points, Ones{flags, to});
}

void to_single(Stream& stream, const double* from, float* to, std::int64_t points) {
  by_points(stream, points, Convert<double, float>{from, to});
}
void to_double(Stream& stream, const float* from, double* to, std::int64_t points) {
  by_points(stream, points, Convert<float, double>{from, to});
}
void multiply(Stream& stream, const float* a, const float* b, float* out, std::int64_t points) {
  by_points(stream, points, MultiplySingle{a, b, out});
}
void invert(Stream& stream, float* u, const float* flags, std::int64_t points) {
  by_points(stream, points, InvertSingle{u, flags});
}
void add(Stream& stream, const float* d, float* z, std::int64_t points) { by_points(stream, points, Add{d, z}); }
void subtract(Stream& stream, const float* q, float* r, std::int64_t points) {
  by_points(stream, points, Subtract{q, r});
}
void change(Stream& stream, const Change& change, std::int64_t points) {
  by_points(stream, points, MakeChange{change});
}

void entries(Stream& stream, const float* matrices, int offset, float* to, std::int64_t elements) {
  by_points(stream, 8 * elements, Entries{matrices, offset, to});
}
void from_vertices(Stream& stream, const Vertices& vertices, std::int64_t first, const float* values, float* to,
                   std::int64_t elements) {
  by_points(stream, 8 * elements, FromVertices{vertices, first, values, to});
}
void apply_stencil(Stream& stream, const Vertices& vertices, const float* stencil, const float* free, const float* in,
                   float* out) {
  by_points(stream, vertices.all(), ApplyStencil{vertices, vertices.all(), stencil, free, in, out});
}
void along(Stream& stream, const Vertices& vertices, const Along& call) {
  by_points(stream, vertices.all(), AlongAxis{call, {vertices.count[0], vertices.count[1], vertices.count[2]}});
}

}  // namespace slipstream::sem
