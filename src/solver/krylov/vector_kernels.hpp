#pragma once
// Kernels on the vectors of Krylov methods; some write a partial sum for each block of points.
#include <cstdint>

#include <slipstream/krylov.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::krylov {

/// Sizes of a device's vectors and of their blocks. Component c of a vector begins at c times the points; weights and
/// diagonals are shared by all components.
struct Range {
  std::int64_t points = 0, block = 1;
  int components = 1;
  std::int64_t blocks() const { return (points + block - 1) / block; }
};

/// One number for each component of a vector.
struct Each {
  double of[most_components];
  Each(double all) {  // NOLINT(google-explicit-constructor): mostly they are alike
    for (double& one : of) one = all;
  }
};

// Partial sums have the layout of BlockSums: sum s of block n is at parts[s * blocks + n]. If a pass makes m sums, sum
// s of component c is number c m + s.

/// Computes partial sums of (u, v), weighted by w.
void dot(Stream& stream, const Range& range, const double* w, const double* u, const double* v, double* parts);
/// Computes partial sums of (u, v) and (u, t), weighted by w.
void two_dots(Stream& stream, const Range& range, const double* w, const double* u, const double* v, const double* t,
              double* parts);
/// Computes partial sums of (s u, s u), where s is the scale.
void square(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts);
/// Computes partial sums for the mean of u: inner products (1, s u) and (1, 1), weighted by w, with a scale factor s.
void mean(Stream& stream, const Range& range, const double* w, const double* u, const Each& scale, double* parts);
/// Computes partial sums of (r, D r) and (r, r), where D is diagonal.
void preconditioned(Stream& stream, const Range& range, const double* w, const double* d, const double* r,
                    double* parts);
/// Computes partial sums of u, without weights.
void sum(Stream& stream, const Range& range, const double* u, double* parts);
/// Computes partial sums of inner products of vectors: (s x, s b) and (s x, s q), where s is a scale factor.
void products(Stream& stream, const Range& range, const double* w, const double* x, const double* b, const double* q,
              const Each& scale, double* parts);
/// Finds the largest magnitudes of the right side b and of b - q, q = A x, in component c, at points of nonzero weight
/// w. They go to results[2 c] and [2 c + 1]; NaN if a value is NaN. Without points nothing is written.
void largest(Stream& stream, const Range& range, const double* w, const double* b, const double* q, double* parts,
             double* results);
/// Residual update of conjugate gradients: r -= (rz / pq) q, with rz = (r, D r), pq = (p, q), diagonal D. Component c
/// stays if its (r, r), at pairs[2 c + 1], is at most limit[c]. Then makes partial sums of (r, D r) and (r, r).
struct Step {
  const double *w, *d, *q, *rz, *pq;
  double* r;
  const double *pairs, *limit;
};
void step(Stream& stream, const Range& range, const Step& step, double* parts);

/// Computes the scaled residual r = scale (b - q) of a linear system A x = b, where q = A x.
void residual(Stream& stream, const Range& range, const double* b, const double* q, const Each& scale, double* r);
/// Scales component c of the guess x, and of q = A x, by (x, b) / (x, q) = sums[2 c] / sums[2 c + 1], for least error.
void multiply(Stream& stream, const Range& range, const double* sums, double* x, double* q);
/// Subtracts sums[2 c] / sums[2 c + 1], the mean, from component c of u.
void subtract_mean(Stream& stream, const Range& range, const double* sums, double* u);
/// Updates in an iteration of conjugate gradients with residual r, preconditioner D and direction p. First x += s a p,
/// then p = D r + c p. Factor a is the last (r, D r) / (p, A p). Factor c is the new (r, D r) over the last one. Factor
/// s undoes the scaling of r. A component of x stays if its (r, r) is at most its `limit`. With `flexible` p is
/// conjugate to the last one for any preconditioner (Notay 2000, SIAM J. Sci. Comput. 22).
struct Turn {
  const double *now, *before, *pq, *pairs;
  double *x, *p;
  const double *scale, *limit;
  bool flexible;
};
void direction(Stream& stream, const Range& range, const Turn& turn, const double* d, const double* r);
/// Updates the solution x and the search direction p of conjugate gradients from the preconditioned residual z.
void direction(Stream& stream, const Range& range, const Turn& turn, const double* z);

/// Arguments of a kernel that stores an iteration's sums in the history and tests whether another iteration follows.
struct TakeDown {
  double* sums;  ///< scalar products of an iteration; the first `count` are copied to its row of `history`
  int count, components;
  int pairs;  ///< index in `sums` of the residual's scalar products in conjugate gradients, two per component
  int limit;
  /// Moves sums before they are stored: sums[to + n] = sums[from + n] for n below `count`, all at once.
  struct Shift {
    int to, from, count;
  } shifts[3];
  double* history;  ///< sums (scalar products) of all iterations, [iteration][number of sums]
  /// Four integers: whether to continue, recorded iterations, whether the solve has ended, most iterations.
  std::int32_t* state;
};
void take_down(Stream& stream, const TakeDown& call);

/// First step of the Chebyshev iteration from z = 0: solution z = correction d = a * inverse diagonal * residual r.
void chebyshev_begin(Stream& stream, const Range& range, const double* diagonal, const double* r, double a, double* d,
                     double* z);
/// Chebyshev step for A z = r, with q = A z: computes d = a d + b D (r - q), then z += d. `diagonal` is D.
void chebyshev_next(Stream& stream, const Range& range, const double* diagonal, const double* r, const double* q,
                    double a, double b, double* d, double* z);

/// Largest number of vectors v_k whose inner products (u, v_k) are summed by one dots(), for each block of points.
inline constexpr int most_vectors = 64;
struct Several {
  const double* of[most_vectors];
  int count;
};
void dots(Stream& stream, const Range& range, const double* w, const double* u, const Several& v, int sums,
          double* parts);
/// Adds factor times the sum over k of sums[k] v_k to u.
void add_several(Stream& stream, const Range& range, const double* sums, double factor, const Several& v, double* u);
struct Rotations {
  double cosines[most_vectors], sines[most_vectors];
  int count;
};
/// Applies Givens rotations with cosines c_k and sines s_k to vectors v_k and u = t / size. For k from count - 1 to 0,
/// v_k+1 becomes s_k v_k - c_k u, and u becomes c_k v_k + s_k u. Then v_0 becomes u. Stores the first `room` vectors.
void rotate_in(Stream& stream, const Range& range, const Rotations& rotations, const double* t, double size, double* v,
               int room);
/// Computes to = from / sqrt(*square), or 0 if *square is 0.
void normalise(Stream& stream, const Range& range, const double* square, const double* from, double* to);
/// Computes z = D r for the diagonal D.
void scale(Stream& stream, const Range& range, const double* d, const double* r, double* z);
/// Computes to = a - b.
void difference(Stream& stream, const Range& range, const double* a, const double* b, double* to);

/// Fills u with pseudo-random numbers in [-1, 1); that of point p depends on first + p only.
void noise(Stream& stream, const Range& range, std::int64_t first, double* u);

}  // namespace slipstream::krylov
