#pragma once
// Local solves of overlapping Schwarz by fast diagonalisation, in single precision.
#include "solver/sem/kernels.hpp"
#include "solver/sem/plane.hpp"

namespace slipstream::sem {

/// Solver for h1 stiffness + h2 mass on an element and a point of each face neighbour: m = n + 2 points along an edge.
/// The element is approximated by a box. S and l_i are eigenvectors and eigenvalues of the one-dimensional stiffness,
/// and S^T B S = 1 with the mass matrix B. The inverse is then (Lynch, Rice & Thomas 1964)
///
///     (S x S x S) diag(1 / (h1 (c_x l_i + c_y l_j + c_z l_k) + h2 v)) (S x S x S)^T.
///
/// The coefficients c of the stiffness along each axis, and v of the mass, depend on the element. A thread multiplies
/// lines of points by S, along each axis in turn. Points beyond the domain or with fixed values have a row of 0 in S.
/// If both ends of a line have neighbours, S is a kernel argument, so that a GPU need not load its entries.
template <int n>
struct SchwarzKernel {
  static constexpr int m = n + 2, per_team = m * m < 256 ? 256 / (m * m) : 1, threads = per_team * m * m;
  /// An odd stride between rows puts lines along x on different banks of shared memory.
  static constexpr int stride = m | 1, plane = m * stride, cube = m * plane;
  static constexpr std::size_t shared_bytes = sizeof(float) * per_team * (cube + 3 * (m * m + m));

  SchwarzCall call;
  int cost;
  float inner[m * m];  ///< eigenvectors of the 1D stiffness matrix along an axis with neighbours at both ends

  struct Line {
    float of[m];
  };
  /// Position at which a thread works: its element, and the two coordinates of its line.
  struct Seat {
    int slot, a, b;
    std::int64_t element;
    SLIP_FN Seat(std::int64_t team, int t)
        : slot(t / (m * m)), a(t % m), b(t / m % m), element(team * per_team + t / (m * m)) {}
  };

  static SLIP_FN bool within(int at) { return at > 0 && at < m - 1; }
  /// The residual at a point of the extended element, counted from 0 to m - 1 along each axis.
  SLIP_FN float residual(std::int64_t element, int i, int j, int k) const {
    const auto own = [&](int x, int y, int z) {
      const std::int64_t p = (element * n + z) * (n * n) + y * n + x;
      return call.weights[p] * call.r[p];
    };
    const bool x = within(i), y = within(j), z = within(k);
    if (x && y && z) return own(i - 1, j - 1, k - 1);
    // call.faces sums the residuals of both elements one layer inside a face; less the own one, it is the neighbour's.
    const auto beyond = [&](int face, int at, float mine) {
      return call.faces[(element * 6 + face) * (n * n) + at] - mine;
    };
    constexpr int second = n > 1 ? n - 2 : 0;
    if (y && z) return beyond(i > 0, (k - 1) * n + j - 1, own(i == 0 ? 1 : second, j - 1, k - 1));
    if (x && z) return beyond(2 + (j > 0), (k - 1) * n + i - 1, own(i - 1, j == 0 ? 1 : second, k - 1));
    if (x && y) return beyond(4 + (k > 0), (j - 1) * n + i - 1, own(i - 1, j - 1, k == 0 ? 1 : second));
    return 0;
  }
  /// Stores a value of the local solution, at the element's own points or beyond a face.
  SLIP_FN void put(std::int64_t element, int i, int j, int k, float value) const {
    const bool x = within(i), y = within(j), z = within(k);
    const auto face = [&](int number, int at) {
      const std::int64_t place = (element * 6 + number) * (n * n) + at;
      call.ends[place] = value;
      call.faces[place] = value;
    };
    if (x && y && z) {
      call.z[(element * n + k - 1) * (n * n) + (j - 1) * n + i - 1] = value;
    } else if (y && z) {
      face(i > 0, (k - 1) * n + j - 1);
    } else if (x && z) {
      face(2 + (j > 0), (k - 1) * n + i - 1);
    } else if (x && y) {
      face(4 + (k > 0), (j - 1) * n + i - 1);
    }
  }

  /// Multiplies a line of values by the one-dimensional eigenvectors, S^T or S.
  template <bool transposed, bool unroll>
  static SLIP_FN Line contracted(const float* s, const Line& from) {
    Line to;
    for_planes<m, unroll>([&](int c) {
      float sum = 0;
      for_planes<m, unroll>([&](int k) { sum = fma(s[transposed ? k * m + c : c * m + k], from.of[k], sum); });
      to.of[c] = sum;
    });
    return to;
  }
  static SLIP_FN Line load(const float* from, int step) {
    Line line;
    for (int k = 0; k < m; ++k) line.of[k] = from[k * step];
    return line;
  }
  static SLIP_FN void store(const Line& line, float* to, int step) {
    for (int k = 0; k < m; ++k) to[k * step] = line.of[k];
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    constexpr bool unroll = !Team::sequential;
    float* const shared = team.template shared<float>();
    constexpr int each = cube + 3 * (m * m + m);
    const auto values = [&](const Seat& at) { return shared + at.slot * each; };
    const auto matrix = [&](const Seat& at, int axis) { return values(at) + cube + axis * (m * m); };
    const auto eigenvalue = [&](const Seat& at, int axis) { return values(at) + cube + 3 * m * m + axis * m; };
    const auto phase = [&](const auto& work) {
      team.each([&](int t) {
        const Seat at(team.index(), t);
        if (at.element < call.elements) work(at);
      });
    };
    const auto kind = [&](const Seat& at, int axis) { return call.kinds[at.element * 3 + axis]; };
    const auto inside = [&](const Seat& at, int axis) { return unroll && kind(at, axis) == 0; };
    phase([&](const Seat& at) {
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t of = kind(at, axis);
        const int p = at.b * m + at.a;
        if (!inside(at, axis)) matrix(at, axis)[p] = call.matrices[of * (m * m) + p];
        if (p < m) eigenvalue(at, axis)[p] = call.eigenvalues[of * m + p];
      }
    });
    const auto forward = [&](const Seat& at, int axis, const Line& line) {
      return inside(at, axis) ? contracted<true, unroll>(inner, line)
                              : contracted<true, unroll>(matrix(at, axis), line);
    };
    const auto back = [&](const Seat& at, int axis, const Line& line) {
      return inside(at, axis) ? contracted<false, unroll>(inner, line)
                              : contracted<false, unroll>(matrix(at, axis), line);
    };
    phase([&](const Seat& at) {
      Line line;
      for (int k = 0; k < m; ++k) line.of[k] = residual(at.element, at.a, at.b, k);
      store(forward(at, 2, line), values(at) + at.b * stride + at.a, plane);
    });
    phase([&](const Seat& at) {
      float* const line = values(at) + at.b * plane + at.a;
      store(forward(at, 1, load(line, stride)), line, stride);
    });
    phase([&](const Seat& at) {
      float* const place = values(at) + at.b * plane + at.a * stride;
      Line line = forward(at, 0, load(place, 1));
      const float* const c = call.coefficients + at.element * 4;
      const float rest = call.h1 * fma(c[1], eigenvalue(at, 1)[at.a], c[2] * eigenvalue(at, 2)[at.b]);
      const float mass = call.h2 * c[3], scale = call.h1 * (c[0] + c[1] + c[2]) + mass;
      for (int i = 0; i < m; ++i) {
        const float sum = fma(call.h1 * c[0], eigenvalue(at, 0)[i], rest) + mass;
        line.of[i] = sum > 1e-5F * scale ? line.of[i] / sum : 0;
      }
      store(back(at, 0, line), place, 1);
    });
    phase([&](const Seat& at) {
      float* const line = values(at) + at.b * plane + at.a;
      store(back(at, 1, load(line, stride)), line, stride);
    });
    phase([&](const Seat& at) {
      const Line line = back(at, 2, load(values(at) + at.b * stride + at.a, plane));
      for (int k = 0; k < m; ++k) put(at.element, at.a, at.b, k, line.of[k]);
    });
  }
};

}  // namespace slipstream::sem
