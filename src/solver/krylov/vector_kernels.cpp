#include "solver/krylov/vector_kernels.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/launch.hpp>

#include "solver/common/by_points.hpp"

namespace slipstream::krylov {
inline namespace vector_kernels {

struct Add {
  SLIP_FN static double join(double a, double b) { return a + b; }
};
/// NaN stays NaN.
struct Largest {
  SLIP_FN static double join(double a, double b) { return b > a || b != b ? b : a; }
};

/// A team takes a block: each thread sums every threads-th point, then halves are joined to halves. The order is the
/// same on the host and on a GPU.
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
    const std::int64_t first = team.index() * range.block;
    const std::int64_t behind = first + range.block < range.points ? first + range.block : range.points;
    team.each([&](int t) {
      double sum[sums] = {};
      for (std::int64_t p = first + t; p < behind; p += threads) point(p, sum);
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
      if (t < sums) parts[t * blocks + team.index()] = shared[t * threads];
    });
  }
};

template <class Point>
void by_blocks(Stream& stream, const Range& range, const Point& point, double* parts) {
  using Pass = BlockPass<Point>;
  launch_teams(stream, range.blocks(), Pass::threads, Pass::shared_bytes,
               Pass{point, range, range.blocks(), parts, 4 * range.block});
}

template <class Point>
void by_points(Stream& stream, const Range& range, const Point& point) {
  slipstream::by_points(stream, range.points, point);
}

struct Dot : Add {
  static constexpr int sums = 1;
  const double *w, *u, *v;
  SLIP_FN void operator()(std::int64_t p, double* sum) const { sum[0] = fma(w[p] * u[p], v[p], sum[0]); }
};

struct TwoDots : Add {
  static constexpr int sums = 2;
  const double *w, *u, *v, *t;
  SLIP_FN void operator()(std::int64_t p, double* sum) const {
    const double weighted = w[p] * u[p];
    sum[0] = fma(weighted, v[p], sum[0]);
    sum[1] = fma(weighted, t[p], sum[1]);
  }
};

struct Square : Add {
  static constexpr int sums = 1;
  const double *w, *u;
  double scale;
  SLIP_FN void operator()(std::int64_t p, double* sum) const {
    const double value = scale * u[p];
    sum[0] = fma(w[p] * value, value, sum[0]);
  }
};

struct Products : Add {
  static constexpr int sums = 2;
  const double *w, *x, *b, *q;
  double scale;
  SLIP_FN void operator()(std::int64_t p, double* sum) const {
    const double weighted = w[p] * (scale * x[p]);
    sum[0] = fma(weighted, scale * b[p], sum[0]);
    sum[1] = fma(weighted, scale * q[p], sum[1]);
  }
};

struct LargestOfResidual : Largest {
  static constexpr int sums = 2;
  const double *w, *b, *q;
  SLIP_FN void operator()(std::int64_t p, double* most) const {
    if (w[p] == 0) return;
    most[0] = join(most[0], fabs(b[p]));
    most[1] = join(most[1], fabs(b[p] - q[p]));
  }
};

struct LargestOfBlocks : Largest {
  static constexpr int sums = 2;
  const double* parts;
  std::int64_t blocks;
  SLIP_FN void operator()(std::int64_t n, double* most) const {
    for (int s = 0; s < sums; ++s) most[s] = join(most[s], parts[s * blocks + n]);
  }
};

struct Plain : Add {
  static constexpr int sums = 1;
  const double* u;
  SLIP_FN void operator()(std::int64_t p, double* sum) const { sum[0] += u[p]; }
};

struct Mean : Add {
  static constexpr int sums = 2;
  const double *w, *u;
  double scale;
  SLIP_FN void operator()(std::int64_t p, double* sum) const {
    sum[0] = fma(w[p], scale * u[p], sum[0]);
    sum[1] += w[p];
  }
};

struct Preconditioned : Add {
  static constexpr int sums = 2;
  const double *w, *d, *r;
  SLIP_FN void add(std::int64_t p, double value, double* sum) const {
    const double square = w[p] * value * value;
    sum[0] = fma(d[p], square, sum[0]);
    sum[1] += square;
  }
  SLIP_FN void operator()(std::int64_t p, double* sum) const { add(p, r[p], sum); }
};

/// Zero over zero: the residual is zero, and nothing shall change any more.
SLIP_FN double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// Whether the residual of a pair of sums ends the solve: an iteration that is queued after it changes nothing.
SLIP_FN bool ended(const double* pair, double limit) { return pair[1] <= limit; }

struct StepPoint : Add {
  static constexpr int sums = 2;
  Step step;
  SLIP_FN void operator()(std::int64_t p, double* sum) const {
    const double length = ended(step.pair, step.limit) ? 0 : ratio(*step.rz, *step.pq);
    const double r = fma(-length, step.q[p], step.r[p]);
    step.r[p] = r;
    Preconditioned{{}, step.w, step.d, step.r}.add(p, r, sum);
  }
};

struct Residual {
  const double *b, *q;
  double scale;
  double* r;
  SLIP_FN void operator()(std::int64_t p) const { r[p] = scale * (b[p] - q[p]); }
};

struct Multiply {
  const double* sums;
  double *x, *q;
  SLIP_FN void operator()(std::int64_t p) const {
    const double factor = ratio(sums[0], sums[1]);
    x[p] *= factor;
    q[p] *= factor;
  }
};

struct SubtractMean {
  const double* sums;
  double* u;
  SLIP_FN void operator()(std::int64_t p) const { u[p] -= ratio(sums[0], sums[1]); }
};

SLIP_FN void take(const Turn& turn, std::int64_t i, double z) {
  const double p = turn.p[i];
  if (!ended(turn.pair, turn.limit)) turn.x[i] = fma(turn.scale * ratio(*turn.before, *turn.pq), p, turn.x[i]);
  turn.p[i] = fma(turn.flexible ? -ratio(turn.now[1], *turn.pq) : ratio(*turn.now, *turn.before), p, z);
}

struct Direction {
  Turn turn;
  const double *d, *r;
  SLIP_FN void operator()(std::int64_t i) const { take(turn, i, d[i] * r[i]); }
};

struct DirectionOf {
  Turn turn;
  const double* z;
  SLIP_FN void operator()(std::int64_t i) const { take(turn, i, z[i]); }
};

struct ChebyshevBegin {
  const double *diagonal, *r;
  double a;
  double *d, *z;
  SLIP_FN void operator()(std::int64_t p) const { z[p] = d[p] = a * (diagonal[p] * r[p]); }
};

struct ChebyshevNext {
  const double *diagonal, *r, *q;
  double a, b;
  double *d, *z;
  SLIP_FN void operator()(std::int64_t p) const {
    const double change = fma(a, d[p], b * (diagonal[p] * (r[p] - q[p])));
    d[p] = change;
    z[p] += change;
  }
};

struct AddSeveral {
  const double* sums;
  double factor;
  Several v;
  double* u;
  SLIP_FN void operator()(std::int64_t p) const {
    double sum = u[p];
    for (int k = 0; k < v.count; ++k) sum = fma(factor * sums[k], v.of[k][p], sum);
    u[p] = sum;
  }
};

struct Normalise {
  const double *square, *from;
  double* to;
  SLIP_FN void operator()(std::int64_t p) const { to[p] = ratio(from[p], sqrt(*square)); }
};

struct Scale {
  const double *d, *r;
  double* z;
  SLIP_FN void operator()(std::int64_t p) const { z[p] = d[p] * r[p]; }
};

struct Difference {
  const double *a, *b;
  double* to;
  SLIP_FN void operator()(std::int64_t p) const { to[p] = a[p] - b[p]; }
};

struct Noise {
  std::int64_t first;
  double* u;
  SLIP_FN void operator()(std::int64_t p) const {
    // The finaliser of splitmix64 (Steele, Lea & Flood 2014).
    auto word = static_cast<std::uint64_t>(first + p) * 0x9e3779b97f4a7c15u + 1;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    u[p] = static_cast<double>((word ^ (word >> 31)) >> 11) * 0x1p-52 - 1;
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
void square(Stream& stream, const Range& range, const double* w, const double* u, double scale, double* parts) {
  by_blocks(stream, range, Square{{}, w, u, scale}, parts);
}
void mean(Stream& stream, const Range& range, const double* w, const double* u, double scale, double* parts) {
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
              double scale, double* parts) {
  by_blocks(stream, range, Products{{}, w, x, b, q, scale}, parts);
}
void largest(Stream& stream, const Range& range, const double* w, const double* b, const double* q, double* parts,
             double* results) {
  by_blocks(stream, range, LargestOfResidual{{}, w, b, q}, parts);
  const std::int64_t blocks = range.blocks();
  by_blocks(stream, {blocks, std::max<std::int64_t>(blocks, 1)}, LargestOfBlocks{{}, parts, blocks}, results);
}
void step(Stream& stream, const Range& range, const Step& step, double* parts) {
  by_blocks(stream, range, StepPoint{{}, step}, parts);
}
void residual(Stream& stream, const Range& range, const double* b, const double* q, double scale, double* r) {
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
