#pragma once
// Vector kernels of a device; some compute partial sums for each block.
#include <cstdint>

#include <slipstream/krylov.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::krylov {

/// A device's values and the blocks of their sums. Component c of a vector lies at c times the points; weights and
/// diagonals are shared by all components.
struct Range {
  std::int64_t points = 0, block = 1;
  int components = 1;
  std::int64_t blocks() const { return (points + block - 1) / block; }
};

/// A number of each component.
struct Each {
  double of[most_components];
  Each(double all) {  // NOLINT(google-explicit-constructor): mostly they are alike
    for (double& one : of) one = all;
  }
};

// Partial sums are laid out for BlockSums: sum s of block n is at parts[s * blocks + n]. If a pass makes m sums, sum s
// of component c is number c m + s.

/// (u, v).
void dot(Stream& stream, const Range& range, const double* w, const double* u, const double* v, double* parts);
/// (u, v) and (u, t).
void two_dots(Stream& stream, const Range& range, const double* w, const double* u, const double* v, const double* t,
              double* parts);
/// (s u, s u), s the scale.
void square(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts);
/// (1, s u) and (1, 1).
void mean(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts);
/// (r, D r) and (r, r), D diagonal.
void preconditioned(Stream& stream, const Range& range, const double* w, const double* d, const double* r,
                    double* parts);
/// The sum of u.
void sum(Stream& stream, const Range& range, const double* u, double* parts);
/// (s x, s b) and (s x, s q).
void products(Stream& stream, const Range& range, const double* w, const double* x, const double* b, const double* q,
              const Each& scale, double* parts);
/// The largest |b| and |b - q| of component c where w is not 0, at results[2 c] and [2 c + 1]; NaN where a value is.
/// Without points nothing is written.
void largest(Stream& stream, const Range& range, const double* w, const double* b, const double* q, double* parts,
             double* results);
/// r -= rz / pq q, then (r, D r) and (r, r). r stays if its (r, r), at pairs[2 c + 1], is at most limit[c]. rz of a
/// component has a stride of two, as in pairs.
struct Step {
  const double *w, *d, *q, *rz, *pq;
  double* r;
  const double *pairs, *limit;
};
void step(Stream& stream, const Range& range, const Step& step, double* parts);

/// r = s (b - q), s the scale.
void residual(Stream& stream, const Range& range, const double* b, const double* q, const Each& scale, double* r);
/// x and q times sums[2 c] / sums[2 c + 1].
void multiply(Stream& stream, const Range& range, const double* sums, double* x, double* q);
/// u -= sums[2 c] / sums[2 c + 1].
void subtract_mean(Stream& stream, const Range& range, const double* sums, double* u);
/// x += s before / pq p along the last direction p, with s of `scale`. Then the next direction is p = D r + (now /
/// before) p. Both share one pass over p. x stays if its (r, r), at pairs[2 c + 1], is at most limit[c]. `flexible`:
/// the next direction is z - (z, A p) / pq p, conjugate to p for any z (Notay 2000, SIAM J. Sci. Comput. 22). (z, A p)
/// lies behind each of `now`.
struct Turn {
  const double *now, *before, *pq, *pairs;
  double *x, *p;
  const double *scale, *limit;
  bool flexible;
};
void direction(Stream& stream, const Range& range, const Turn& turn, const double* d, const double* r);
/// The same with z for D r.
void direction(Stream& stream, const Range& range, const Turn& turn, const double* z);

/// Takes down an iteration, and finds whether another one follows.
struct TakeDown {
  double* sums;  ///< so many, of which history keeps all
  int count, components;
  int pairs;  ///< the place of (r, z) and (r, r) of each component, then each (p, A p)
  int limit;
  /// Before that, sums[to + n] = sums[from + n] for n below `count`, all at once.
  struct Shift {
    int to, from, count;
  } shifts[3];
  double* history;  ///< [iteration][count]
  /// Whether to continue, recorded iterations, whether the solve has ended, capacity.
  std::int32_t* state;
};
void take_down(Stream& stream, const TakeDown& call);

/// First step of the Chebyshev iteration from zero: d = z = a D r.
void chebyshev_begin(Stream& stream, const Range& range, const double* diagonal, const double* r, double a, double* d,
                     double* z);
/// Further steps, with q = A z: d = a d + b D (r - q), z += d.
void chebyshev_next(Stream& stream, const Range& range, const double* diagonal, const double* r, const double* q,
                    double a, double b, double* d, double* z);

/// Inner products (u, v_k) with `count` vectors v_k, summed over each block of points. Unused entries are zero.
inline constexpr int most_vectors = 64;
struct Several {
  const double* of[most_vectors];
  int count;
};
void dots(Stream& stream, const Range& range, const double* w, const double* u, const Several& v, int sums,
          double* parts);
/// u += factor times the sum of sums[k] v_k.
void add_several(Stream& stream, const Range& range, const double* sums, double factor, const Several& v, double* u);
struct Rotations {
  double cosines[most_vectors], sines[most_vectors];
  int count;
};
/// Rotates u = t / size into v_0 .. v_count-1, which lie one after the other. For k from count - 1 to 0, v_k+1 becomes
/// s_k v_k - c_k u and u becomes c_k v_k + s_k u; then v_0 becomes u. Writes `room` vectors and drops later ones.
void rotate_in(Stream& stream, const Range& range, const Rotations& rotations, const double* t, double size, double* v,
               int room);
/// to = from / sqrt(*square), 0 where that is 0.
void normalise(Stream& stream, const Range& range, const double* square, const double* from, double* to);
/// z = D r.
void scale(Stream& stream, const Range& range, const double* d, const double* r, double* z);
/// to = a - b.
void difference(Stream& stream, const Range& range, const double* a, const double* b, double* to);

/// Pseudo-random numbers in [-1, 1); that of point p depends on first + p only.
void noise(Stream& stream, const Range& range, std::int64_t first, double* u);

}  // namespace slipstream::krylov
