#include "solver/krylov/vector_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <slipstream/launch.hpp>

namespace slipstream::krylov {
inline namespace vector_kernels {

struct Add {
  SLIP_FN static double join(double a, double b) { return a + b; }
};
/// Larger of two numbers; NaN if either is NaN.
struct Largest {
  SLIP_FN static double join(double a, double b) { return b > a || b != b ? b : a; }
};

/// Position of point p of component c: index i in vectors, p in arrays that all components share.
struct At {
  std::int64_t p, i;
  int c;
};

/// Sums over a block of points by a thread block: each thread sums every threads-th point, then a tree adds the partial
/// sums. The order is the same on the host and on a GPU.
template <class Point>
struct BlockPass {
  static constexpr int threads = 512, sums = Point::sums;
  static constexpr std::size_t shared_bytes = sizeof(double) * threads * sums;
  Point point;
  Range range;
  std::int64_t blocks;
  double* parts;
  std::int64_t cost;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    double* shared = team.template shared<double>();
    const int c = range.components == 1 ? 0 : static_cast<int>(team.index() / blocks);
    const std::int64_t first = (team.index() - c * blocks) * range.block;
    const std::int64_t behind = first + range.block < range.points ? first + range.block : range.points;
    team.each([&](int t) {
      double sum[sums] = {};
      for (std::int64_t p = first + t; p < behind; p += threads) point(At{p, c * range.points + p, c}, sum);
      for (int s = 0; s < sums; ++s) shared[s * threads + t] = sum[s];
    });
    for (int half = threads / 2; half > 0; half /= 2)
      team.each([&](int t) {
        for (int s = 0; s < sums && t < half; ++s) {
          double* values = shared + s * threads + t;
          *values = Point::join(values[0], values[half]);
        }
      });
    team.each([&](int t) {
      if (t < sums) parts[(c * (sums - 1) + t) * blocks + team.index()] = shared[t * threads];
    });
  }
};

template <class Point>
void by_blocks(Stream& stream, const Range& range, const Point& point, double* parts) {
  using Pass = BlockPass<Point>;
  launch_teams(stream, range.components * range.blocks(), Pass::threads, Pass::shared_bytes,
               Pass{point, range, range.blocks(), parts, 4 * range.block});
}

template <class Point>
struct EachValue {
  static constexpr std::int64_t row = 256;
  Point point;
  std::int64_t points;
  SLIP_FN void operator()(int i, int j, int c) const {
    const std::int64_t p = j * row + i;
    if (p < points) point(At{p, c * points + p, c});
  }
};

/// Launches a kernel over any number of points, although cell indices of a launch are int.
template <class Point>
void by_points(Stream& stream, const Range& range, const Point& point) {
  constexpr std::int64_t row = EachValue<Point>::row;
  launch(stream, Box{{0, 0, 0}, {row, (range.points + row - 1) / row, range.components}},
         EachValue<Point>{point, range.points});
}

struct Dot : Add {
  static constexpr int sums = 1;
  const double *w, *u, *v;
  SLIP_FN void operator()(At at, double* sum) const { sum[0] = fma(w[at.p] * u[at.i], v[at.i], sum[0]); }
};

struct TwoDots : Add {
  static constexpr int sums = 2;
  const double *w, *u, *v, *t;
  SLIP_FN void operator()(At at, double* sum) const {
    const double weighted = w[at.p] * u[at.i];
    sum[0] = fma(weighted, v[at.i], sum[0]);
    sum[1] = fma(weighted, t[at.i], sum[1]);
  }
};

struct Square : Add {
  static constexpr int sums = 1;
  const double *w, *u;
  Each scale;
  SLIP_FN void operator()(At at, double* sum) const {
    const double value = scale.of[at.c] * u[at.i];
    sum[0] = fma(w[at.p] * value, value, sum[0]);
  }
};

struct Products : Add {
  static constexpr int sums = 2;
  const double *w, *x, *b, *q;
  Each scale;
  SLIP_FN void operator()(At at, double* sum) const {
    const double s = scale.of[at.c], weighted = w[at.p] * (s * x[at.i]);
    sum[0] = fma(weighted, s * b[at.i], sum[0]);
    sum[1] = fma(weighted, s * q[at.i], sum[1]);
  }
};

struct LargestOfResidual : Largest {
  static constexpr int sums = 2;
  const double *w, *b, *q;
  SLIP_FN void operator()(At at, double* most) const {
    if (w[at.p] == 0) return;
    most[0] = join(most[0], fabs(b[at.i]));
    most[1] = join(most[1], fabs(b[at.i] - q[at.i]));
  }
};

struct LargestOfBlocks : Largest {
  static constexpr int sums = 2;
  const double* parts;
  std::int64_t blocks;
  SLIP_FN void operator()(At at, double* most) const {
    for (int s = 0; s < sums; ++s) most[s] = join(most[s], parts[(at.c * sums + s) * blocks + at.p]);
  }
};

struct Plain : Add {
  static constexpr int sums = 1;
  const double* u;
  SLIP_FN void operator()(At at, double* sum) const { sum[0] += u[at.i]; }
};

struct Mean : Add {
  static constexpr int sums = 2;
  const double *w, *u;
  Each scale;
  SLIP_FN void operator()(At at, double* sum) const {
    sum[0] = fma(w[at.p], scale.of[at.c] * u[at.i], sum[0]);
    sum[1] += w[at.p];
  }
};

struct Preconditioned : Add {
  static constexpr int sums = 2;
  const double *w, *d, *r;
  SLIP_FN void add(At at, double value, double* sum) const {
    const double square = w[at.p] * value * value;
    sum[0] = fma(d[at.p], square, sum[0]);
    sum[1] += square;
  }
  SLIP_FN void operator()(At at, double* sum) const { add(at, r[at.i], sum); }
};

/// 0 / 0 occurs for a zero residual, which must not change x any more.
SLIP_FN double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// Whether a component has converged, so that later iterations must not change it.
SLIP_FN bool ended(const double* pairs, const double* limit, int c) { return pairs[2 * c + 1] <= limit[c]; }

struct StepPoint : Add {
  static constexpr int sums = 2;
  Step step;
  SLIP_FN void operator()(At at, double* sum) const {
    const double length = ended(step.pairs, step.limit, at.c) ? 0 : ratio(step.rz[2 * at.c], step.pq[at.c]);
    const double r = fma(-length, step.q[at.i], step.r[at.i]);
    step.r[at.i] = r;
    Preconditioned{{}, step.w, step.d, step.r}.add(at, r, sum);
  }
};

struct Residual {
  const double *b, *q;
  Each scale;
  double* r;
  SLIP_FN void operator()(At at) const { r[at.i] = scale.of[at.c] * (b[at.i] - q[at.i]); }
};

struct Multiply {
  const double* sums;
  double *x, *q;
  SLIP_FN void operator()(At at) const {
    const double factor = ratio(sums[2 * at.c], sums[2 * at.c + 1]);
    x[at.i] *= factor;
    q[at.i] *= factor;
  }
};

struct SubtractMean {
  const double* sums;
  double* u;
  SLIP_FN void operator()(At at) const { u[at.i] -= ratio(sums[2 * at.c], sums[2 * at.c + 1]); }
};

SLIP_FN void take(const Turn& turn, At at, double z) {
  const double p = turn.p[at.i], pq = turn.pq[at.c];
  const double *now = turn.now + 2 * at.c, *before = turn.before + 2 * at.c;
  if (!ended(turn.pairs, turn.limit, at.c)) turn.x[at.i] = fma(turn.scale[at.c] * ratio(*before, pq), p, turn.x[at.i]);
  turn.p[at.i] = fma(turn.flexible ? -ratio(now[1], pq) : ratio(*now, *before), p, z);
}

struct Direction {
  Turn turn;
  const double *d, *r;
  SLIP_FN void operator()(At at) const { take(turn, at, d[at.p] * r[at.i]); }
};

struct DirectionOf {
  Turn turn;
  const double* z;
  SLIP_FN void operator()(At at) const { take(turn, at, z[at.i]); }
};

/// Stores an iteration's sums by a thread block: threads read them at the same time, as each read costs its latency.
struct TakeDownOne {
  static constexpr int threads = 32;
  TakeDown of;

  SLIP_FN int source(int n) const {
    for (const TakeDown::Shift& shift : of.shifts)
      if (n >= shift.to && n < shift.to + shift.count) return shift.from + n - shift.to;
    return n;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const TakeDownOne& self = *this;
    const std::int32_t n = of.state[1];
    const bool over = of.state[2] != 0;
    double *const before = team.template shared<double>(), *const now = before + of.count;
    team.each([&](int thread) {
      for (int s = thread; s < self.of.count; s += threads) before[s] = self.of.sums[s];
    });
    team.each([&](int thread) {
      for (int s = thread; s < self.of.count; s += threads) {
        const int from = self.source(s);
        now[s] = before[from];
        if (from != s) self.of.sums[s] = now[s];
        if (!over) self.of.history[static_cast<std::int64_t>(n) * self.of.count + s] = now[s];
      }
    });
    if (over) return;
    team.each([&](int thread) {
      if (thread == 0) self.conclude(now, n + 1);
    });
  }

  SLIP_FN void conclude(const double* sums, std::int32_t taken) const {
    const double *const pairs = sums + of.pairs, *const energies = pairs + 2 * of.components;
    bool over = true;
    for (int c = 0; c < of.components; ++c) {
      over = over && ended(pairs, sums + of.limit, c);
      // An indefinite system or a residual without bound ends the loop; the host finds the cause from the sums.
      if (!(pairs[2 * c + 1] < infinity) || energies[c] < 0) {
        over = true;
        break;
      }
    }
    const std::int32_t most = of.state[3];
    of.state[1] = taken;
    of.state[2] = over ? 1 : 0;
    of.state[0] = !over && taken < most ? 1 : 0;
  }
  static constexpr double infinity = std::numeric_limits<double>::infinity();
};

struct ChebyshevBegin {
  const double *diagonal, *r;
  double a;
  double *d, *z;
  SLIP_FN void operator()(At at) const { z[at.i] = d[at.i] = a * (diagonal[at.p] * r[at.i]); }
};

struct ChebyshevNext {
  const double *diagonal, *r, *q;
  double a, b;
  double *d, *z;
  SLIP_FN void operator()(At at) const {
    const double change = fma(a, d[at.i], b * (diagonal[at.p] * (r[at.i] - q[at.i])));
    d[at.i] = change;
    z[at.i] += change;
  }
};

struct AddSeveral {
  const double* sums;
  double factor;
  Several v;
  double* u;
  SLIP_FN void operator()(At at) const {
    double sum = u[at.i];
    for (int k = 0; k < v.count; ++k) sum = fma(factor * sums[k], v.of[k][at.i], sum);
    u[at.i] = sum;
  }
};

struct RotateIn {
  Rotations rotations;
  const double* t;
  double size;
  double* v;
  int room;
  std::int64_t points;
  SLIP_FN void operator()(At at) const {
    double u = t[at.i] / size;
    for (int k = rotations.count - 1; k >= 0; --k) {
      double* const from = v + k * points + at.i;
      const double here = *from, c = rotations.cosines[k], s = rotations.sines[k];
      if (k + 1 < room) from[points] = fma(s, here, -c * u);
      u = fma(c, here, s * u);
    }
    v[at.i] = u;
  }
};

struct Normalise {
  const double *square, *from;
  double* to;
  SLIP_FN void operator()(At at) const { to[at.i] = ratio(from[at.i], sqrt(*square)); }
};

struct Scale {
  const double *d, *r;
  double* z;
  SLIP_FN void operator()(At at) const { z[at.i] = d[at.p] * r[at.i]; }
};

struct Difference {
  const double *a, *b;
  double* to;
  SLIP_FN void operator()(At at) const { to[at.i] = a[at.i] - b[at.i]; }
};

struct Noise {
  std::int64_t first;
  double* u;
  SLIP_FN void operator()(At at) const {
    // The random numbers come from the finaliser of splitmix64 (Steele, Lea & Flood 2014).
    auto word = static_cast<std::uint64_t>(first + at.p) * 0x9e3779b97f4a7c15u + 1;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    u[at.i] = static_cast<double>((word ^ (word >> 31)) >> 11) * 0x1p-52 - 1;
  }
};

}  // namespace vector_kernels

void dot(Stream& stream, const Range& range, const double* w, const double* u, const double* v, double* parts) {
  by_blocks(stream, range, Dot{{}, w, u, v}, parts);
}
void two_dots(Stream& stream, const Range& range, const double* w, const double* u, const double* v, const double* t,
              double* parts) {
  by_blocks(stream, range, TwoDots{{}, w, u, v, t}, parts);
}
void square(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts) {
  by_blocks(stream, range, Square{{}, w, u, scale}, parts);
}
void mean(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts) {
  by_blocks(stream, range, Mean{{}, w, u, scale}, parts);
}
void preconditioned(Stream& stream, const Range& range, const double* w, const double* d, const double* r,
                    double* parts) {
  by_blocks(stream, range, Preconditioned{{}, w, d, r}, parts);
}
void sum(Stream& stream, const Range& range, const double* u, double* parts) {
  by_blocks(stream, range, Plain{{}, u}, parts);
}
void products(Stream& stream, const Range& range, const double* w, const double* x, const double* b, const double* q,
              const Each& scale, double* parts) {
  by_blocks(stream, range, Products{{}, w, x, b, q, scale}, parts);
}
void largest(Stream& stream, const Range& range, const double* w, const double* b, const double* q, double* parts,
             double* results) {
  by_blocks(stream, range, LargestOfResidual{{}, w, b, q}, parts);
  const std::int64_t blocks = range.blocks();
  by_blocks(stream, {blocks, std::max<std::int64_t>(blocks, 1), range.components}, LargestOfBlocks{{}, parts, blocks},
            results);
}
void step(Stream& stream, const Range& range, const Step& step, double* parts) {
  by_blocks(stream, range, StepPoint{{}, step}, parts);
}
void residual(Stream& stream, const Range& range, const double* b, const double* q, const Each& scale, double* r) {
  by_points(stream, range, Residual{b, q, scale, r});
}
void multiply(Stream& stream, const Range& range, const double* sums, double* x, double* q) {
  by_points(stream, range, Multiply{sums, x, q});
}
void subtract_mean(Stream& stream, const Range& range, const double* sums, double* u) {
  by_points(stream, range, SubtractMean{sums, u});
}
void direction(Stream& stream, const Range& range, const Turn& turn, const double* d, const double* r) {
  by_points(stream, range, Direction{turn, d, r});
}
void direction(Stream& stream, const Range& range, const Turn& turn, const double* z) {
  by_points(stream, range, DirectionOf{turn, z});
}
void take_down(Stream& stream, const TakeDown& call) {
  launch_teams(stream, 1, TakeDownOne::threads, 2 * sizeof(double) * static_cast<std::size_t>(call.count),
               TakeDownOne{call});
}
void chebyshev_begin(Stream& stream, const Range& range, const double* diagonal, const double* r, double a, double* d,
                     double* z) {
  by_points(stream, range, ChebyshevBegin{diagonal, r, a, d, z});
}
void chebyshev_next(Stream& stream, const Range& range, const double* diagonal, const double* r, const double* q,
                    double a, double b, double* d, double* z) {
  by_points(stream, range, ChebyshevNext{diagonal, r, q, a, b, d, z});
}
void dots(Stream& stream, const Range& range, const double* w, const double* u, const Several& v, int sums,
          double* parts) {
  const std::int64_t blocks = range.blocks();
  if (blocks == 0) return;
  for (int k = 0; k < v.count; ++k) dot(stream, range, w, u, v.of[k], parts + k * blocks);
  if (v.count < sums)
    fill(stream, parts + v.count * blocks, 0, static_cast<std::size_t>((sums - v.count) * blocks) * sizeof(double));
}
void add_several(Stream& stream, const Range& range, const double* sums, double factor, const Several& v, double* u) {
  if (v.count > 0) by_points(stream, range, AddSeveral{sums, factor, v, u});
}
void rotate_in(Stream& stream, const Range& range, const Rotations& rotations, const double* t, double size, double* v,
               int room) {
  by_points(stream, range, RotateIn{rotations, t, size, v, room, range.points});
}
void normalise(Stream& stream, const Range& range, const double* square, const double* from, double* to) {
  by_points(stream, range, Normalise{square, from, to});
}
void scale(Stream& stream, const Range& range, const double* d, const double* r, double* z) {
  by_points(stream, range, Scale{d, r, z});
}
void difference(Stream& stream, const Range& range, const double* a, const double* b, double* to) {
  by_points(stream, range, Difference{a, b, to});
}
void noise(Stream& stream, const Range& range, std::int64_t first, double* u) {
  by_points(stream, range, Noise{first, u});
}

}  // namespace slipstream::krylov
